// The one table from the core's exceptions to framejudge.errors.
#include "pybind.hpp"

#include "framejudge/errors.hpp"

#include <exception>
#include <new>

namespace framejudge::bind {
namespace {

// True, with the Python error set, if `current` is an Exception. framejudge.errors is imported when
// the first error happens, never at import.
template <typename Exception>
bool raise_if(const std::exception_ptr& current, const char* class_name) {
    try {
        std::rethrow_exception(current);
    } catch (const Exception& error) {
        const py::object type = py::module_::import("framejudge.errors").attr(class_name);
        py::set_error(type, error.what());
        return true;
    } catch (...) {
        return false;
    }
}

struct Row {
    bool (*raise_if)(const std::exception_ptr&, const char* class_name);
    const char* class_name;
};

constexpr Row kTable[] = {
    {raise_if<InvalidInput>, "InputError"},
    {raise_if<ConfigurationError>, "ConfigurationError"},
    {raise_if<ImageUnsupportedError>, "UnsupportedImageError"},
    {raise_if<ImageDamagedError>, "DamagedImageError"},
    {raise_if<ImageLimitError>, "ImageLimitError"},
    {raise_if<ImageError>, "ImageError"}, // the base comes last
};

// NOLINTNEXTLINE(performance-unnecessary-value-param): pybind11 fixes the signature
void translate(std::exception_ptr current) {
    if (!current) {
        return;
    }
    for (const Row& row : kTable) {
        if (row.raise_if(current, row.class_name)) {
            return;
        }
    }
    std::rethrow_exception(current); // pybind11's own table is next
}

} // namespace

py::object exception_of(const std::exception_ptr& failure) {
    try {
        translate(failure);
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        py::set_error(PyExc_RuntimeError, error.what());
    }
    const py::error_already_set error; // takes what was set
    return error.value();
}

void register_errors(py::module_& /*module*/) { py::register_exception_translator(&translate); }

} // namespace framejudge::bind
