// Planes of video frames to pixels, for framejudge.frames.video.
#include "pybind.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/yuv.hpp"
#include "pixel_arrays.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace framejudge::bind {
namespace {

// A frame's planes, and what keeps their memory alive.
struct OwnedFrame {
    std::vector<py::buffer_info> buffers;
    YuvFrame frame;
};

std::size_t positive(py::ssize_t value, const char* name) {
    if (value < 1) {
        throw InvalidInput(std::string(name) + " must be at least 1, got " + std::to_string(value));
    }
    return static_cast<std::size_t>(value);
}

void check_plane(const py::buffer_info& buffer, std::size_t plane, std::size_t stride,
                 const PlaneSize& size) {
    const auto held = static_cast<std::size_t>(buffer.size * buffer.itemsize);
    if (stride < size.row_bytes || held < size.row_bytes ||
        (held - size.row_bytes) / stride < size.rows - 1) {
        throw InvalidInput("plane " + std::to_string(plane) + " has " + std::to_string(held) +
                           " bytes in rows " + std::to_string(stride) + " apart, needs " +
                           std::to_string(size.rows) + " rows of " +
                           std::to_string(size.row_bytes));
    }
}

OwnedFrame frame_of(const py::sequence& planes, const py::sequence& strides,
                    std::pair<py::ssize_t, py::ssize_t> size, std::string_view format,
                    std::string_view matrix, bool full_range) {
    OwnedFrame owned;
    YuvFrame& frame = owned.frame;
    frame = {{},
             {},
             positive(size.second, "width"),
             positive(size.first, "height"),
             yuv_format_named(format),
             parse_yuv_matrix(matrix),
             full_range};
    const std::size_t count = frame.format.plane_count();
    if (planes.size() < count || strides.size() < count) {
        throw InvalidInput(std::string(format) + " has " + std::to_string(count) + " planes, got " +
                           std::to_string(planes.size()) + " and " +
                           std::to_string(strides.size()) + " strides");
    }
    for (std::size_t i = 0; i < count; ++i) {
        owned.buffers.push_back(planes[i].cast<py::buffer>().request());
        frame.strides[i] = positive(strides[i].cast<py::ssize_t>(), "stride");
        check_plane(owned.buffers[i], i, frame.strides[i],
                    yuv_plane_size(frame.format, frame.width, frame.height, i));
        frame.planes[i] = static_cast<const std::uint8_t*>(owned.buffers[i].ptr);
    }
    return owned;
}

PixelMode mode_named(std::string_view name) {
    if (name == "rgb") {
        return PixelMode::kRgb;
    }
    if (name == "gray") {
        return PixelMode::kGray;
    }
    if (name == "rgba") {
        return PixelMode::kRgba;
    }
    throw InvalidInput("mode must be rgb, gray or rgba, got '" + std::string(name) + "'");
}

using OptionalSize = std::optional<std::pair<py::ssize_t, py::ssize_t>>;

py::array to_array(const py::sequence& planes, const py::sequence& strides,
                   std::pair<py::ssize_t, py::ssize_t> frame_size, std::string_view format,
                   std::string_view matrix, bool full_range, int rotation,
                   std::string_view mode_name, const OptionalSize& size,
                   std::string_view filter_name) {
    const PixelMode mode = mode_named(mode_name);
    const Filter filter = parse_filter(filter_name);
    const OwnedFrame owned = frame_of(planes, strides, frame_size, format, matrix, full_range);
    const std::size_t width = size ? positive(size->second, "width") : 0;
    const std::size_t height = size ? positive(size->first, "height") : 0;
    Pixels out;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        out = size ? yuv_to_resized(owned.frame, mode, width, height, filter, rotation)
                   : yuv_to_pixels(owned.frame, mode, rotation);
    }
    return array_of(std::move(out), false);
}

py::tuple format_names() {
    const std::vector<YuvFormat>& formats = yuv_formats();
    py::tuple names(formats.size());
    for (std::size_t i = 0; i < formats.size(); ++i) {
        names[i] = py::str(formats[i].name.data(), formats[i].name.size());
    }
    return names;
}

constexpr const char* kYuvDoc = R"(The pixels of a video frame's planes.

Planes are read where they are. The GIL is released.

Args:
    planes: A contiguous buffer per plane.
    strides: Bytes from a row to the next, per plane.
    frame_size: (height, width) of the planes' picture, before it is turned.
    format: FFmpeg's name of the layout, one of ``yuv_formats()``.
    matrix: ``"bt601"``, ``"bt709"`` or ``"bt2020"``.
    full_range: Whether black is 0 and white the highest sample.
    rotation: Degrees counter-clockwise that the picture is turned: 0, 90, 180 or 270.
    mode: ``"rgb"``, ``"gray"`` (the stream's own luma) or ``"rgba"``.
    size: (height, width) of the result, upright; None keeps the size.
    filter: ``"area"``, ``"bilinear"``, ``"bicubic"`` or ``"lanczos"``; used with ``size``.

Returns:
    (H, W, C) uint8.

Raises:
    InputError: For another format, matrix, mode or filter, or planes too short for the size.
)";

} // namespace

void register_yuv(py::module_& module) {
    module.def("yuv_to_array", &to_array, py::arg("planes"), py::arg("strides"), py::kw_only(),
               py::arg("frame_size"), py::arg("format"), py::arg("matrix"), py::arg("full_range"),
               py::arg("rotation") = 0, py::arg("mode") = "rgb", py::arg("size") = py::none(),
               py::arg("filter") = "area", kYuvDoc);
    module.def("yuv_formats", &format_names, "FFmpeg's names of the layouts that are read.");
}

} // namespace framejudge::bind
