// resize.
#include "pybind.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/resize.hpp"
#include "pixel_arrays.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace framejudge::bind {
namespace {

struct Size {
    std::size_t width;
    std::size_t height;
};

std::size_t side_of(py::ssize_t value, const char* name) {
    if (value < 1) {
        throw InvalidInput(std::string(name) + " must be at least 1, got " + std::to_string(value));
    }
    return static_cast<std::size_t>(value);
}

// The longer side is at most `limit`; the other keeps the proportion, rounded, and is at least 1.
Size fit_longer_side(const PixelView& view, std::size_t limit) {
    const std::size_t longer = std::max(view.width, view.height);
    if (longer <= limit) {
        return {view.width, view.height};
    }
    const auto scaled = [&](std::size_t side) {
        const double exact =
            static_cast<double>(side) * static_cast<double>(limit) / static_cast<double>(longer);
        return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(exact)));
    };
    return {scaled(view.width), scaled(view.height)};
}

Size size_of(const PixelView& view, const py::object& size, const py::object& max_side_px) {
    if (size.is_none() == max_side_px.is_none()) {
        throw InvalidInput("give either size=(height, width) or max_side_px=");
    }
    if (size.is_none()) {
        return fit_longer_side(view, side_of(max_side_px.cast<py::ssize_t>(), "max_side_px"));
    }
    const auto [height, width] = size.cast<std::pair<py::ssize_t, py::ssize_t>>();
    return {side_of(width, "width"), side_of(height, "height")};
}

py::array resize_array(py::handle array, const py::object& size, const py::object& max_side_px,
                       std::string_view filter_name) {
    const Filter filter = parse_filter(filter_name);
    const OwnedPixels source = pixels_of(array, "array");
    const Size to = size_of(source.view, size, max_side_px);
    Pixels out;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        out = resize(source.view, to.width, to.height, filter);
    }
    return array_of(std::move(out), source.array.ndim() == 2);
}

constexpr const char* kResizeDoc = R"(A picture at another size, antialiased.

Equal to Pillow 13's ``resize`` to the last bit (BOX for ``"area"``). Colours of RGBA are weighted
by their alpha, so that what is hidden does not show. Rows of contiguous samples are read where
they are, others are copied once. The GIL is released.

Args:
    array: (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) uint8.
    size: (height, width) in pixels; or
    max_side_px: the longer side's greatest length, the proportion kept; a smaller picture stays
        as it is.
    filter: ``"area"`` (default), ``"bilinear"``, ``"bicubic"`` or ``"lanczos"``.

Returns:
    A new uint8 array with as many dimensions and channels.

Raises:
    InputError: For another shape, dtype or filter, sides below 1, or both or neither of ``size``
        and ``max_side_px``.

>>> import numpy as np
>>> from framejudge import frames
>>> frames.resize(np.array([[0, 100], [50, 250]], dtype=np.uint8), size=(1, 1)).tolist()
[[100]]
)";

} // namespace

void register_resize(py::module_& module) {
    module.def("resize", &resize_array, py::arg("array"), py::kw_only(),
               py::arg("size") = py::none(), py::arg("max_side_px") = py::none(),
               py::arg("filter") = "area", kResizeDoc);
    module.attr("resize").attr("__module__") = "framejudge.frames";
}

} // namespace framejudge::bind
