// Checks dtype and shape of numpy arrays, and copies only what is strided.
#include "arrays.hpp"

#include "framejudge/errors.hpp"

#include <cstdint>
#include <string>

namespace framejudge::bind {
namespace {

constexpr const char* kAccepted = "a numpy array of float32, float16, or uint16 holding bfloat16";

std::string text_of(py::handle object) { return py::str(object).cast<std::string>(); }

Dtype dtype_of(const py::array& array, const char* name) {
    const py::dtype dtype = array.dtype();
    if (dtype.byteorder() == '=') {
        switch (dtype.num()) {
        case py::detail::npy_api::NPY_FLOAT_:
            return Dtype::kFloat32;
        case py::detail::npy_api::NPY_USHORT_:
            return Dtype::kBfloat16;
        case 23: // NPY_HALF
            return Dtype::kFloat16;
        default:
            break;
        }
    }
    throw InvalidInput(std::string(name) + " must be " + kAccepted + ", got dtype " +
                       text_of(dtype));
}

// numpy.ma's; an array of numpy's own type isn't asked, as that costs as much as a short cosine.
bool is_masked(py::handle object) {
    const auto* plain = reinterpret_cast<PyTypeObject*>(py::detail::npy_api::get().PyArray_Type_);
    return Py_TYPE(object.ptr()) != plain && py::hasattr(object, "mask");
}

bool is_ready(const py::array& array) {
    constexpr unsigned kNeeded = unsigned{py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_} |
                                 unsigned{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
    return (static_cast<unsigned>(array.flags()) & kNeeded) == kNeeded;
}

bool overlap(const void* data, std::size_t bytes, const Rows& rows) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    const auto rows_begin = reinterpret_cast<std::uintptr_t>(rows.data);
    const std::size_t rows_bytes =
        rows.count * rows.width * (rows.dtype == Dtype::kFloat32 ? 4 : 2);
    return begin < rows_begin + rows_bytes && rows_begin < begin + bytes;
}

// An array's dtype, shape and flags, or anything else's type.
std::string described(py::handle object) {
    if (!py::isinstance<py::array>(object)) {
        return text_of(py::type::handle_of(object).attr("__name__"));
    }
    const auto array = py::reinterpret_borrow<py::array>(object);
    return std::string(array.writeable() ? "" : "read-only ") +
           (is_ready(array) ? "" : "non-contiguous ") + text_of(array.dtype()) + " of shape " +
           text_of(object.attr("shape"));
}

} // namespace

bool is_vector(py::handle object) {
    return py::isinstance<py::array>(object) &&
           py::reinterpret_borrow<py::array>(object).ndim() == 1;
}

OwnedRows rows_of(py::handle object, const char* name, int ndim) {
    if (!py::isinstance<py::array>(object)) {
        throw InvalidInput(std::string(name) + " must be " + kAccepted + ", got " +
                           text_of(py::type::handle_of(object).attr("__name__")));
    }
    if (is_masked(object)) { // what it hides would be read as a number
        throw InvalidInput(std::string(name) + " must be " + kAccepted +
                           ", got a masked array; fill it first, with NaN where there is no value");
    }
    auto array = py::reinterpret_borrow<py::array>(object);
    const Dtype dtype = dtype_of(array, name);
    if (array.ndim() != ndim) {
        throw InvalidInput(std::string(name) + " must have " + std::to_string(ndim) +
                           " dimension(s), got shape " + text_of(object.attr("shape")));
    }
    if (!is_ready(array)) {
        array = py::array(array.attr("copy")("C")); // the one documented copy
    }
    const auto size = [&](int axis) { return static_cast<std::size_t>(array.shape(axis)); };
    const std::size_t count = ndim == 1 ? 1 : size(0);
    const std::size_t width = size(ndim - 1);
    const void* data = array.data();
    return {std::move(array), {data, count, width, dtype}};
}

float* output_of(py::handle out, const Rows& a, const Rows& b) {
    const auto has_shape = [&](const py::array& array) {
        return array.ndim() == 2 && static_cast<std::size_t>(array.shape(0)) == a.count &&
               static_cast<std::size_t>(array.shape(1)) == b.count;
    };
    if (py::isinstance<py::array_t<float>>(out)) {
        auto array = py::reinterpret_borrow<py::array>(out);
        if (is_ready(array) && array.writeable() && has_shape(array)) {
            const auto bytes = static_cast<std::size_t>(array.nbytes());
            if (overlap(array.data(), bytes, a) || overlap(array.data(), bytes, b)) {
                throw InvalidInput("out must not share memory with a or b");
            }
            return static_cast<float*>(array.mutable_data());
        }
    }
    throw InvalidInput("out must be a writable, C-contiguous float32 array of shape (" +
                       std::to_string(a.count) + ", " + std::to_string(b.count) + "), got " +
                       described(out));
}

} // namespace framejudge::bind
