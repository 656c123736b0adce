// Checks dtype and shape of numpy arrays, and copies only what is strided.
#include "arrays.hpp"

#include "framejudge/errors.hpp"

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

bool is_ready(const py::array& array) {
    constexpr unsigned kNeeded = unsigned{py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_} |
                                 unsigned{py::detail::npy_api::NPY_ARRAY_ALIGNED_};
    return (static_cast<unsigned>(array.flags()) & kNeeded) == kNeeded;
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

} // namespace framejudge::bind
