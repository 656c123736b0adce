// What a PNG file says of its picture before and beside the pixels.
#pragma once

#include "png_chunks.hpp"

#include "framejudge/image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace framejudge {

enum class PngColor : std::uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

struct PngHeader {
    std::size_t width = 0;
    std::size_t height = 0;
    int bit_depth = 0;
    PngColor color = PngColor::kGray;
    bool is_interlaced = false;
    bool is_animated = false;
    int orientation = 1;

    std::array<std::array<std::uint8_t, 4>, 256> palette{}; // RGBA; unset entries are opaque black
    std::size_t palette_size = 0;
    bool has_palette_alpha = false;
    // The colour that is transparent, as stored; its one sample for grey.
    std::optional<std::array<std::uint16_t, 3>> transparent;

    [[nodiscard]] std::size_t samples() const; // per pixel, as stored
    [[nodiscard]] std::size_t bits_per_pixel() const {
        return samples() * static_cast<std::size_t>(bit_depth);
    }
    [[nodiscard]] bool has_alpha() const;
    [[nodiscard]] int channels() const; // of the picture; a palette counts as what it holds
};

struct PngFile {
    PngHeader header;
    std::size_t image_chunks = 0;     // how many IDAT there are,
    std::size_t image_data_bytes = 0; // and what they hold together
    std::vector<std::string> warnings;
    std::vector<std::string> damage; // broken critical chunks, or the end of the file in a chunk
};

constexpr std::uint32_t kPngImageData = png_chunk_type("IDAT");
constexpr std::uint32_t kPngEnd = png_chunk_type("IEND");

// Reads every chunk up to IEND but inflates none. Checks the CRC of all but IDAT. Throws
// ImageDamagedError where there is no usable header or palette, and ImageLimitError beyond the
// limits.
PngFile read_png_chunks(ByteView bytes, const DecodeLimits& limits);

} // namespace framejudge
