// Bit depths 1 to 16, palettes and colour keys to 8-bit pixels.
#include "png_expand.hpp"

#include "samples.hpp"

#include <cstring>

namespace framejudge {
namespace {

// Samples of less than a byte, the leftmost in the highest bits.
template <unsigned kBits>
void unpack(const std::uint8_t* from, std::uint8_t* to, std::size_t count, unsigned factor) {
    constexpr unsigned kMask = (1U << kBits) - 1;
    for (std::size_t i = 0; i < count; ++i) {
        const auto bit = static_cast<unsigned>(i * kBits);
        const unsigned shift = 8 - kBits - bit % 8;
        to[i] = static_cast<std::uint8_t>((from[i * kBits / 8] >> shift & kMask) * factor);
    }
}

// The high byte of each 16-bit sample: v >> 8, as Pillow and OpenCV do for colour.
void take_high_bytes(const std::uint8_t* from, std::uint8_t* to, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = from[2 * i];
    }
}

} // namespace

PngExpander::PngExpander(const PngHeader& header, PixelMode mode, std::size_t max_width)
    : header_(header), mode_(mode),
      is_identity_(header.bit_depth == 8 && header.color != PngColor::kPalette &&
                   header.samples() == channels_of(mode)),
      bytes_(header.bit_depth == 8 ? 0 : max_width * header.samples()) {
    for (std::size_t i = 0; i < colors_.size(); ++i) {
        convert_row(header.palette[i].data(), 4, colors_[i].data(), mode, 1);
    }
}

const std::uint8_t* PngExpander::to_bytes(const std::uint8_t* row, std::size_t width) {
    const std::size_t count = width * header_.samples();
    // Grey levels are spread over 0 to 255; palette indices are taken as they are.
    const bool is_index = header_.color == PngColor::kPalette;
    switch (header_.bit_depth) {
    case 1:
        unpack<1>(row, bytes_.data(), count, is_index ? 1 : 255);
        break;
    case 2:
        unpack<2>(row, bytes_.data(), count, is_index ? 1 : 85);
        break;
    case 4:
        unpack<4>(row, bytes_.data(), count, is_index ? 1 : 17);
        break;
    case 16:
        take_high_bytes(row, bytes_.data(), count);
        break;
    default:
        return row;
    }
    return bytes_.data();
}

void PngExpander::expand(const std::uint8_t* row, std::uint8_t* to, std::size_t width) {
    const std::uint8_t* const bytes = to_bytes(row, width);
    if (header_.color == PngColor::kPalette) {
        expand_palette(bytes, to, width);
        return;
    }
    convert_row(bytes, header_.samples(), to, mode_, width);
    if (mode_ == PixelMode::kRgba && header_.transparent) {
        clear_transparent(row, to, width);
    }
}

void PngExpander::expand_palette(const std::uint8_t* row, std::uint8_t* to, std::size_t width) {
    const std::size_t channels = channels_of(mode_);
    std::uint8_t highest = 0;
    for (std::size_t x = 0; x < width; ++x, to += channels) {
        const std::uint8_t index = row[x];
        highest = index > highest ? index : highest;
        std::memcpy(to, colors_[index].data(), channels);
    }
    has_bad_index_ = has_bad_index_ || highest >= header_.palette_size;
}

// Compares samples as they are stored: two 16-bit colours with equal high bytes are different.
void PngExpander::clear_transparent(const std::uint8_t* row, std::uint8_t* to,
                                    std::size_t width) const {
    if (!header_.transparent) {
        return;
    }
    const auto& key = *header_.transparent;
    const std::size_t samples = header_.samples();
    const auto depth = static_cast<std::size_t>(header_.bit_depth);
    for (std::size_t x = 0; x < width; ++x) {
        bool is_key = true;
        for (std::size_t s = 0; s < samples; ++s) {
            const std::size_t bit = (x * samples + s) * depth;
            unsigned value = row[bit / 8];
            if (depth == 16) {
                value = value << 8U | row[bit / 8 + 1];
            } else {
                value = value >> (8 - depth - bit % 8) & ((1U << depth) - 1);
            }
            is_key = is_key && value == key[s];
        }
        if (is_key) {
            to[4 * x + 3] = 0;
        }
    }
}

} // namespace framejudge
