// The headers of BMP files: Windows 2 to 5 and OS/2 1 to 2.
#pragma once

#include "framejudge/image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace framejudge {

enum class BmpCoding : std::uint8_t { kPlain, kRle8, kRle4, kBitFields };

// One channel's bits within a pixel: `(pixel >> shift) & max`; max is 0 where there is none.
struct BmpField {
    unsigned shift = 0;
    std::uint32_t max = 0;
};

struct BmpHeader {
    std::size_t width = 0;
    std::size_t height = 0;
    bool is_top_down = false;
    unsigned bits = 0; // per pixel
    BmpCoding coding = BmpCoding::kPlain;
    std::size_t offset = 0;           // of the pixels
    std::array<BmpField, 4> fields{}; // red, green, blue, alpha; of 16 and 32 bits
    std::vector<std::array<std::uint8_t, 3>> palette;

    [[nodiscard]] bool has_alpha() const { return fields[3].max != 0; }
};

bool has_bmp_signature(ByteView bytes);

// Throws ImageDamagedError, ImageUnsupportedError and ImageLimitError.
BmpHeader read_bmp_header(ByteView bytes, const DecodeLimits& limits);

std::uint32_t read_u32_le(const std::uint8_t* bytes);
std::uint32_t read_u16_le(const std::uint8_t* bytes);

} // namespace framejudge
