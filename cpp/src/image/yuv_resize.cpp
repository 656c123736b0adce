// Resizes the planes of a frame, then converts the few pixels that remain.
//
// NOTE [resizing planes]
// Columns are filtered first, the result is transposed and filtered by the same kernel, which works
// on whole rows at a time whatever the number of taps. The planes stay transposed: the turn that
// the frame needs anyway brings them back.
#include "framejudge/yuv.hpp"

#include "frame_kernels.hpp"
#include "orient.hpp"
#include "resize_weights.hpp"
#include "yuv_kernels.hpp"
#include "yuv_rows.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace framejudge {
namespace {

constexpr std::size_t kLargestSize = std::size_t{1} << 16U;

// Samples of eight bits: the high byte of two, rounded.
std::uint8_t narrowed(std::uint16_t sample, int shift) {
    const unsigned top = (unsigned{sample} << static_cast<unsigned>(shift)) & 0xFFFFU;
    return static_cast<std::uint8_t>(std::min(top + 128U, 65535U) >> 8U);
}

std::uint8_t narrowed(std::uint8_t sample, int /*shift*/) { return sample; }

// Every `step`th sample of a plane, from `first` on, as pixels of one channel.
template <typename Sample>
Pixels gathered(const YuvFrame& frame, std::size_t plane, std::size_t first, std::size_t step) {
    const PlaneSize size = yuv_plane_size(frame.format, frame.width, frame.height, plane);
    const std::size_t width = size.row_bytes / sizeof(Sample) / step;
    const int shift = shift_of(frame.format);
    Pixels out = Pixels::uninitialized(width, size.rows, 1);
    for (std::size_t y = 0; y < size.rows; ++y) {
        const Sample* from = row_of<Sample>(frame, plane, y) + first;
        std::uint8_t* to = out.row(y);
        for (std::size_t x = 0; x < width; ++x) {
            to[x] = narrowed(from[x * step], shift);
        }
    }
    return out;
}

// `extent` is the part of the axis that the frame covers: all, but for chroma of an odd side.
Pixels filtered_columns(const PixelView& plane, double extent, std::size_t count, Filter filter) {
    const Weights weights = make_weights(plane.height, 0.0, extent, count, filter, 2);
    const auto vertical = active_frame_kernels().vertical;
    Pixels out = Pixels::uninitialized(plane.width, count, 1);
    for (std::size_t y = 0; y < count; ++y) {
        vertical(plane.data + weights.first[y] * plane.stride, plane.stride, weights, y,
                 plane.width, out.row(y));
    }
    return out;
}

Pixels transposed(const PixelView& plane) {
    Pixels out = Pixels::uninitialized(plane.height, plane.width, 1);
    active_yuv_kernels().transpose(plane.data, plane.stride, plane.width, plane.height, out.data(),
                                   out.stride());
    return out;
}

struct Extent {
    double width;
    double height;
};

// The plane at the size `width` x `height`, transposed.
Pixels resized_transposed(const PixelView& plane, Extent extent, std::size_t width,
                          std::size_t height, Filter filter) {
    const Pixels flat = filtered_columns(plane, extent.height, height, filter);
    return filtered_columns(transposed(flat.view()).view(), extent.width, width, filter);
}

// Component 0, 1 or 2 (Y, U or V) at another size, transposed.
Pixels resized_component(const YuvFrame& frame, std::size_t component, std::size_t width,
                         std::size_t height, Filter filter) {
    const bool is_paired = component != 0 && frame.format.chroma != Chroma::kPlanar;
    const std::size_t plane = is_paired ? 1 : component;
    const bool is_second = (component == 2) == (frame.format.chroma == Chroma::kUv);
    const std::size_t first = is_paired && is_second ? 1 : 0;
    const std::size_t step = is_paired ? 2 : 1;
    const bool is_halved_x = component != 0 && frame.format.shift_x == 1;
    const bool is_halved_y = component != 0 && frame.format.shift_y == 1;
    const Extent extent = {static_cast<double>(frame.width) * (is_halved_x ? 0.5 : 1.0),
                           static_cast<double>(frame.height) * (is_halved_y ? 0.5 : 1.0)};
    if (frame.format.bits == 8 && !is_paired) {
        const PlaneSize size = yuv_plane_size(frame.format, frame.width, frame.height, plane);
        return resized_transposed(
            {frame.planes[plane], size.row_bytes, size.rows, 1, frame.strides[plane]}, extent,
            width, height, filter);
    }
    const Pixels samples = frame.format.bits > 8
                               ? gathered<std::uint16_t>(frame, plane, first, step)
                               : gathered<std::uint8_t>(frame, plane, first, step);
    return resized_transposed(samples.view(), extent, width, height, filter);
}

// EXIF's number for turning a transposed picture back and then counter-clockwise.
int orientation_of_transposed(int rotation) {
    switch (rotation) {
    case 90:
        return 4;
    case 180:
        return 7;
    case 270:
        return 2;
    default:
        return 5;
    }
}

} // namespace

Pixels yuv_to_resized(const YuvFrame& frame, PixelMode mode, std::size_t width, std::size_t height,
                      Filter filter, int rotation) {
    check_yuv_frame(frame);
    if (width == 0 || height == 0 || width > kLargestSize || height > kLargestSize) {
        throw InvalidInput("a size must have sides from 1 to 65536, got " + std::to_string(height) +
                           " x " + std::to_string(width));
    }
    if (swaps_sides(orientation_of_rotation(rotation))) {
        std::swap(width, height);
    }
    if (width == frame.width && height == frame.height) {
        return yuv_to_pixels(frame, mode, rotation);
    }
    const bool is_gray = mode == PixelMode::kGray || frame.format.chroma == Chroma::kNone;
    Pixels components[3];
    YuvFrame small = {{},
                      {},
                      height,
                      width,
                      yuv_format_named(is_gray ? "gray" : "yuv444p"),
                      frame.matrix,
                      frame.is_full_range};
    for (std::size_t i = 0; i < (is_gray ? 1U : 3U); ++i) {
        components[i] = resized_component(frame, i, width, height, filter);
        small.planes[i] = components[i].data();
        small.strides[i] = components[i].stride();
    }
    return to_mode(apply_orientation(convert_yuv(small, mode), orientation_of_transposed(rotation)),
                   mode, kNoAlpha);
}

} // namespace framejudge
