// Converts rows between channel counts.
#include "samples.hpp"

#include <array>
#include <cstring>

namespace framejudge {
namespace {

template <std::size_t kFrom, std::size_t kTo>
void convert(const std::uint8_t* from, std::uint8_t* to, std::size_t width) {
    constexpr bool kFromColor = kFrom >= 3;
    constexpr bool kFromAlpha = kFrom % 2 == 0;
    for (std::size_t x = 0; x < width; ++x, from += kFrom, to += kTo) {
        if constexpr (kTo == 1) {
            to[0] = kFromColor
                        ? luma_of(from[0], from[kFromColor ? 1 : 0], from[kFromColor ? 2 : 0])
                        : from[0];
        } else {
            to[0] = from[0];
            to[1] = from[kFromColor ? 1 : 0];
            to[2] = from[kFromColor ? 2 : 0];
        }
        if constexpr (kTo == 4) {
            to[3] = kFromAlpha ? from[kFrom - 1] : std::uint8_t{255};
        }
    }
}

template <std::size_t kFrom>
void convert_from(const std::uint8_t* from, std::uint8_t* to, PixelMode mode, std::size_t width) {
    if (channels_of(mode) == kFrom) {
        std::memcpy(to, from, width * kFrom);
        return;
    }
    switch (mode) {
    case PixelMode::kGray:
        convert<kFrom, 1>(from, to, width);
        break;
    case PixelMode::kRgb:
        convert<kFrom, 3>(from, to, width);
        break;
    case PixelMode::kRgba:
        convert<kFrom, 4>(from, to, width);
        break;
    }
}

} // namespace

void convert_row(const std::uint8_t* from, std::size_t channels, std::uint8_t* to, PixelMode mode,
                 std::size_t width) {
    switch (channels) {
    case 1:
        convert_from<1>(from, to, mode, width);
        break;
    case 2:
        convert_from<2>(from, to, mode, width);
        break;
    case 3:
        convert_from<3>(from, to, mode, width);
        break;
    default:
        convert_from<4>(from, to, mode, width);
        break;
    }
}

void fill_background(Pixels& pixels, std::size_t first_row, const DecodeOptions& options) {
    const auto& color = options.background;
    const std::array<std::uint8_t, 4> pixel = {color[0], color[1], color[2], 255};
    const std::size_t width = pixels.width();
    for (std::size_t y = first_row; y < pixels.height(); ++y) {
        if (y > first_row) {
            std::memcpy(pixels.row(y), pixels.row(first_row), pixels.stride());
            continue;
        }
        for (std::size_t x = 0; x < width; ++x) {
            convert_row(pixel.data(), 4, pixels.row(y) + x * pixels.channels(), options.mode, 1);
        }
    }
}

} // namespace framejudge
