// Checks shape and layout of pictures, and copies only what is strided inside a row.
#include "pixel_arrays.hpp"

#include "framejudge/errors.hpp"

#include <string>
#include <utility>

namespace framejudge::bind {
namespace {

std::string text_of(py::handle object) { return py::str(object).cast<std::string>(); }

[[noreturn]] void refuse(py::handle object, const char* name) {
    std::string got = text_of(py::type::handle_of(object).attr("__name__"));
    if (py::isinstance<py::array>(object)) {
        got = "shape " + text_of(object.attr("shape")) + " of " + text_of(object.attr("dtype"));
    }
    throw InvalidInput(std::string(name) +
                       " must be a uint8 array of shape (H, W), (H, W, 1), (H, W, 3) or "
                       "(H, W, 4), got " +
                       got);
}

// Whether the samples of each row lie side by side and rows follow each other.
bool is_row_contiguous(const py::array& array, py::ssize_t channels) {
    const bool samples = array.ndim() == 2 || array.strides(2) == 1 || channels == 1;
    const bool pixels = array.strides(1) == channels || array.shape(1) == 1;
    const bool rows = array.strides(0) >= array.shape(1) * channels || array.shape(0) == 1;
    return samples && pixels && rows;
}

} // namespace

OwnedPixels pixels_of(py::handle object, const char* name) {
    if (!py::isinstance<py::array>(object)) {
        refuse(object, name);
    }
    auto array = py::reinterpret_borrow<py::array>(object);
    const bool is_uint8 = array.dtype().kind() == 'u' && array.itemsize() == 1;
    if (!is_uint8 || (array.ndim() != 2 && array.ndim() != 3)) {
        refuse(object, name);
    }
    const py::ssize_t channels = array.ndim() == 2 ? 1 : array.shape(2);
    if (channels != 1 && channels != 3 && channels != 4) {
        refuse(object, name);
    }
    if (!is_row_contiguous(array, channels)) {
        array = py::array(array.attr("copy")("C")); // the one documented copy
    }
    const auto size = [](py::ssize_t value) { return static_cast<std::size_t>(value); };
    const PixelView view{static_cast<const std::uint8_t*>(array.data()), size(array.shape(1)),
                         size(array.shape(0)), size(channels),
                         array.shape(0) == 1 ? size(array.shape(1) * channels)
                                             : size(array.strides(0))};
    return {std::move(array), view};
}

py::array array_of(Pixels pixels, bool flat) {
    std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(pixels.height()),
                                      static_cast<py::ssize_t>(pixels.width())};
    if (pixels.channels() != 1 || !flat) {
        shape.push_back(static_cast<py::ssize_t>(pixels.channels()));
    }
    auto owner = std::make_unique<Pixels>(std::move(pixels));
    const std::uint8_t* data = owner->data();
    const py::capsule keeper(owner.get(),
                             [](void* object) { delete static_cast<Pixels*>(object); });
    [[maybe_unused]] const Pixels* capsules = owner.release();
    return {py::dtype::of<std::uint8_t>(), shape, data, keeper};
}

OwnedBytes bytes_of(py::handle object, const char* name) {
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
        throw InvalidInput(std::string(name) + " must be bytes, bytearray or memoryview, got " +
                           text_of(py::type::handle_of(object).attr("__name__")));
    }
    py::buffer_info info = py::reinterpret_borrow<py::buffer>(object).request();
    if (PyBuffer_IsContiguous(info.view(), 'C') == 0) {
        throw InvalidInput(std::string(name) + " must be contiguous bytes");
    }
    const ByteView view{static_cast<const std::uint8_t*>(info.ptr),
                        static_cast<std::size_t>(info.size * info.itemsize)};
    return {std::move(info), view};
}

} // namespace framejudge::bind
