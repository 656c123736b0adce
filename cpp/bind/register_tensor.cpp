// to_tensor.
#include "pybind.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/tensor.hpp"
#include "pixel_arrays.hpp"
#include "tensor_arrays.hpp"

#include <string>
#include <utility>
#include <vector>

namespace framejudge::bind {
namespace {

// One array of up to three dimensions is one picture; anything else is a sequence of them.
std::vector<OwnedPixels> pictures_of(py::handle arrays) {
    std::vector<OwnedPixels> pictures;
    if (py::isinstance<py::array>(arrays) &&
        py::reinterpret_borrow<py::array>(arrays).ndim() <= 3) {
        pictures.push_back(pixels_of(arrays, "arrays"));
        return pictures;
    }
    if (!py::isinstance<py::iterable>(arrays)) {
        throw InvalidInput(
            "arrays must be a picture, a sequence of pictures or (N, H, W, C), got " +
            py::str(py::type::handle_of(arrays).attr("__name__")).cast<std::string>());
    }
    for (const py::handle picture : py::iter(arrays)) {
        pictures.push_back(pixels_of(picture, "each of arrays"));
    }
    return pictures;
}

py::array to_tensor_array(py::handle arrays, const py::object& mean, const py::object& std,
                          std::string_view dtype, std::string_view layout_name,
                          const py::object& out) {
    const NumberType type = parse_number_type(dtype);
    const Layout layout = parse_layout(layout_name);
    const std::vector<OwnedPixels> pictures = pictures_of(arrays);
    if (pictures.empty()) {
        throw InvalidInput("arrays must hold at least one picture, got none");
    }
    std::vector<PixelView> views;
    for (const OwnedPixels& picture : pictures) {
        views.push_back(picture.view);
    }
    const PixelView& first = views.front();
    const MeanStd mean_std = mean_std_of(mean, std, first.channels);
    const auto axis = [](std::size_t size) { return static_cast<py::ssize_t>(size); };
    std::vector<py::ssize_t> shape = {axis(views.size()), axis(first.height), axis(first.width)};
    shape.insert(layout == Layout::kPlanar ? shape.begin() + 1 : shape.end(), axis(first.channels));
    py::array result = tensor_of(shape, type, out);
    void* to = result.mutable_data();
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        to_tensor(views, mean_std, type, layout, to);
    }
    return result;
}

constexpr const char* kToTensorDoc =
    R"(Pictures as normalised numbers: ``(pixel / 255 - mean) / std``.

The GIL is released and the thread pool shares the work. A fresh array's memory costs as much as
the work itself: give ``out`` where the same shape comes again.

Args:
    arrays: One picture, a sequence of them, or (N, H, W, C); each (H, W), (H, W, 1) or (H, W, 3)
        uint8, all of the same shape.
    mean: In units of pixel / 255; one number, or one per channel.
    std: The same, positive.
    dtype: ``"float32"`` (default) or ``"float16"``.
    layout: ``"NCHW"`` (default) or ``"NHWC"``.
    out: A C-contiguous array of the result's shape and dtype to write to; None (default) makes one.

Returns:
    (N, C, H, W) or (N, H, W, C); N is 1 for one picture. It is ``out`` if that was given.

Raises:
    InputError: For shapes that differ or aren't accepted, a std that isn't positive, or an ``out``
        that doesn't fit.

>>> import numpy as np
>>> from framejudge import frames
>>> white = np.full((1, 1, 3), 255, dtype=np.uint8)
>>> frames.to_tensor(white, mean=(0.5, 0.5, 0.0), std=(0.5, 0.25, 1.0)).ravel().tolist()
[1.0, 2.0, 1.0]
)";

} // namespace

void register_tensor(py::module_& module) {
    module.def("to_tensor", &to_tensor_array, py::arg("arrays"), py::kw_only(), py::arg("mean"),
               py::arg("std"), py::arg("dtype") = "float32", py::arg("layout") = "NCHW",
               py::arg("out") = py::none(), kToTensorDoc);
    module.attr("to_tensor").attr("__module__") = "framejudge.frames";
}

} // namespace framejudge::bind
