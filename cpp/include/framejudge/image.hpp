// Pictures: what encoded bytes hold, and their pixels.
//
// NOTE [decoding]
// A picture is typed by its bytes. By default lost data is an error that names what is damaged and
// where; with `partial` the pixels that are there come back, the others hold the background, and
// the report says so. Bytes that lose nothing are a warning. Limits are checked before anything is
// allocated, and inside the codecs as they go.
#pragma once

#include "framejudge/errors.hpp"
#include "framejudge/pixels.hpp"
#include "framejudge/resize.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace framejudge {

// Encoded bytes that somebody else owns.
struct ByteView {
    const std::uint8_t* data;
    std::size_t size;
};

enum class ImageFormat : std::uint8_t { kUnknown, kJpeg, kPng, kWebp, kPnm, kBmp };

std::string_view format_name(ImageFormat format);

// The format that the first bytes name.
ImageFormat sniff_format(ByteView bytes);

struct ImageInfo {
    ImageFormat format = ImageFormat::kUnknown;
    std::size_t width = 0; // after orientation
    std::size_t height = 0;
    int channels = 0;    // as stored: 1, 2, 3 or 4; palettes count as what they hold
    int bit_depth = 8;   // of a stored sample
    int orientation = 1; // EXIF's 1 to 8, as stored; anything else there counts as 1
    bool animated = false;
    bool has_alpha = false;
    bool progressive = false; // several scans or an interlace
    bool damaged = false;     // seen without decoding, as a missing end; a decode may find more
};

enum class PixelMode : std::uint8_t { kGray = 1, kRgb = 3, kRgba = 4 };

// What a picture may cost; see NOTE [decoding].
struct DecodeLimits {
    std::size_t max_pixels = 178'000'000;
    std::size_t max_bytes = std::size_t{1} << 30U; // encoded
    int max_scans = 100;
    double time_budget_s = 10.0;
};

struct DecodeOptions {
    PixelMode mode = PixelMode::kRgb;
    bool orient = true;
    bool partial = false;
    std::array<std::uint8_t, 3> background = {255, 255,
                                              255}; // of decode_flat(), and of unread rows
    // A codec that can scale while decoding may do so as long as both sides, in stored orientation,
    // stay at least this long; 0 asks for the full size.
    std::size_t cover_width = 0;
    std::size_t cover_height = 0;
    // A codec that makes its rows in order may resize them on the way, and reports so. The box is
    // in pixels of the full-size picture as stored. Set by decode_resized().
    const ResizeTask* resize = nullptr;
    DecodeLimits limits;
};

struct DecodeReport {
    ImageInfo info;
    int scale_denominator = 1;         // 1, 2, 4 or 8
    bool resized = false;              // as DecodeOptions::resize asked
    bool damaged = false;              // data were lost
    std::vector<std::string> damage;   // what was lost and where, if `partial` let it pass
    std::size_t rows_read = 0;         // whole rows that hold decoded pixels, in stored orientation
    std::vector<std::string> warnings; // each says what and where; none of them lost data
    std::string codec;                 // library and version
};

// Reads the header alone. Throws ImageError.
ImageInfo probe_image(ByteView bytes, const DecodeLimits& limits);

// Decodes any format named above: upright if `orient`, in the asked mode. A mode without alpha
// drops it: a transparent pixel shows the colour it stores. Throws ImageError.
Pixels decode_image(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

// The same for pixels that a resize will mix: in a mode without alpha they are laid over the
// background, so that colours nobody should see do not bleed. `info` is the picture's.
Pixels decode_flat(ByteView bytes, const ImageInfo& info, const DecodeOptions& options,
                   DecodeReport& report);

// decode_flat(), then the part of the picture in `task` at its size, as stored. `options` are those
// of decode_flat() but for `orient`.
Pixels decode_resized(ByteView bytes, const ImageInfo& info, const DecodeOptions& options,
                      const ResizeTask& task, DecodeReport& report);

} // namespace framejudge
