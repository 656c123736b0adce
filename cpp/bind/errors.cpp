// The one table from the core's exceptions to framejudge.errors.
#include "errors.hpp"

#include "framejudge/errors.hpp"

#include <exception>

namespace framejudge::bind {
namespace {

// framejudge.errors is imported when the first error happens, never at import.
void raise(const char* class_name, const char* text) {
    const py::object error = py::module_::import("framejudge.errors").attr(class_name);
    PyErr_SetString(error.ptr(), text);
}

template <typename Exception> struct Row {
    const char* class_name;
};

constexpr Row<InvalidInput> kInvalidInput{"InputError"};
constexpr Row<ConfigurationError> kConfiguration{"ConfigurationError"};

// Raises and returns true if `current` is of the row's type.
template <typename Exception>
bool raise_if(const std::exception_ptr& current, const Row<Exception>& row) {
    try {
        std::rethrow_exception(current);
    } catch (const Exception& error) {
        raise(row.class_name, error.what());
        return true;
    } catch (...) {
        return false;
    }
}

bool raise_ours(const std::exception_ptr& current) {
    return raise_if(current, kInvalidInput) || raise_if(current, kConfiguration);
}

} // namespace

void set_python_error(const std::exception_ptr& current) {
    try {
        if (!raise_ours(current)) {
            std::rethrow_exception(current);
        }
    } catch (py::error_already_set& error) {
        error.restore();
    } catch (const std::bad_alloc&) {
        PyErr_NoMemory();
    } catch (const std::exception& error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
}

void register_errors(py::module_& /*module*/) {
    py::register_exception_translator([](std::exception_ptr current) {
        if (current && !raise_ours(current)) {
            std::rethrow_exception(current); // pybind11's own table is next
        }
    });
}

} // namespace framejudge::bind
