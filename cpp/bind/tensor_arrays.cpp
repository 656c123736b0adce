// Checks constants and output arrays of tensors.
#include "tensor_arrays.hpp"

#include "framejudge/errors.hpp"

#include <string>

namespace framejudge::bind {
namespace {

std::string text_of(py::handle object) { return py::str(object).cast<std::string>(); }

std::array<double, 3> numbers_of(const py::object& object, const char* name, std::size_t channels) {
    if (PyNumber_Check(object.ptr()) != 0 && PySequence_Check(object.ptr()) == 0) {
        const auto value = object.cast<double>();
        return {value, value, value};
    }
    const bool is_sequence = PySequence_Check(object.ptr()) != 0;
    const std::size_t size = is_sequence ? py::len(object) : 0;
    if (size != 1 && size != channels) {
        throw InvalidInput(std::string(name) + " must be a number or one per channel (" +
                           std::to_string(channels) + "), got " + text_of(object));
    }
    std::array<double, 3> numbers{};
    for (std::size_t channel = 0; channel < 3; ++channel) {
        numbers[channel] = object[py::int_(channel < size ? channel : 0)].cast<double>();
    }
    return numbers;
}

} // namespace

MeanStd mean_std_of(const py::object& mean, const py::object& std, std::size_t channels) {
    return {numbers_of(mean, "mean", channels), numbers_of(std, "std", channels)};
}

py::array tensor_of(const std::vector<py::ssize_t>& shape, NumberType type, const py::object& out) {
    const py::dtype dtype(type == NumberType::kFloat32 ? "float32" : "float16");
    if (out.is_none()) {
        return {dtype, shape};
    }
    if (!py::isinstance<py::array>(out)) {
        throw InvalidInput("out must be a numpy array, got " +
                           text_of(py::type::handle_of(out).attr("__name__")));
    }
    auto array = py::reinterpret_borrow<py::array>(out);
    py::tuple array_shape(shape.size());
    for (std::size_t i = 0; i < shape.size(); ++i) {
        array_shape[i] = shape[i];
    }
    const std::vector<py::ssize_t> got(array.shape(), array.shape() + array.ndim());
    constexpr int kNeeded = py::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_ |
                            py::detail::npy_api::NPY_ARRAY_ALIGNED_ |
                            py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
    if (got != shape || !array.dtype().equal(dtype) || (array.flags() & kNeeded) != kNeeded) {
        throw InvalidInput("out must be a writable C-contiguous " + text_of(dtype) +
                           " array of shape " + text_of(array_shape) + ", got shape " +
                           text_of(array.attr("shape")) + " of " + text_of(array.dtype()));
    }
    return array;
}

} // namespace framejudge::bind
