// Frames as video codecs leave them, planes of luma and chroma, to pixels.
//
// NOTE [yuv]
// A full-size conversion takes the chroma sample whose square a pixel lies in, as swscale's
// unscaled conversion does; sums are made in 16 bits with six fractional ones, equal in every tier
// and at most 0.55 levels from the exact result. Where a size is asked for, each plane is resized
// first and the few pixels that remain are converted: a third of the work, chroma is filtered like
// luma, and the rounding of the planes moves a sample by less than four levels (in practice by half
// a level; colours that can't be shown are clipped after the filter, not before). Samples of more
// than eight bits are used whole by the former, rounded to eight before the latter.
#pragma once

#include "framejudge/image.hpp"
#include "framejudge/pixels.hpp"
#include "framejudge/resize.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace framejudge {

enum class YuvMatrix : std::uint8_t { kBt601, kBt709, kBt2020 };

// Throws InvalidInput for anything but "bt601", "bt709" and "bt2020".
YuvMatrix parse_yuv_matrix(std::string_view name);

enum class Chroma : std::uint8_t { kNone, kPlanar, kUv, kVu }; // the last two: in pairs

struct YuvFormat {
    std::string_view name; // FFmpeg's
    Chroma chroma;
    unsigned shift_x; // a chroma sample covers 2^shift_x columns and 2^shift_y rows
    unsigned shift_y;
    int bits;    // of a sample: 8, or up to 16 in two bytes, low byte first
    int padding; // bits below the sample
    bool is_full_range;

    [[nodiscard]] std::size_t sample_bytes() const { return bits > 8 ? 2 : 1; }
    [[nodiscard]] std::size_t plane_count() const {
        return chroma == Chroma::kNone ? 1 : chroma == Chroma::kPlanar ? 3 : 2;
    }
};

// The layouts that are read.
const std::vector<YuvFormat>& yuv_formats();

// Throws InvalidInput, with the accepted names, for any other.
const YuvFormat& yuv_format_named(std::string_view name);

// One frame that somebody else owns. An odd side has its last chroma sample to itself.
struct YuvFrame {
    std::array<const std::uint8_t*, 3> planes;
    std::array<std::size_t, 3> strides; // bytes from a row to the next
    std::size_t width;
    std::size_t height;
    YuvFormat format;
    YuvMatrix matrix;
    bool is_full_range;
};

// Bytes of a row, and rows, that a plane of such a frame has.
struct PlaneSize {
    std::size_t row_bytes;
    std::size_t rows;
};
PlaneSize yuv_plane_size(const YuvFormat& format, std::size_t width, std::size_t height,
                         std::size_t plane);

// How a frame is to be turned: counter-clockwise by 0, 90, 180 or 270 degrees.
// Throws InvalidInput for anything else.
int orientation_of_rotation(int degrees);

// Pixels of the whole frame in `mode`, turned. Gray is the stream's own luma, 0 to 255; alpha is
// 255. Throws InvalidInput for a frame without pixels.
Pixels yuv_to_pixels(const YuvFrame& frame, PixelMode mode, int rotation);

// The same at another size, which is meant upright: after turning.
Pixels yuv_to_resized(const YuvFrame& frame, PixelMode mode, std::size_t width, std::size_t height,
                      Filter filter, int rotation);

} // namespace framejudge
