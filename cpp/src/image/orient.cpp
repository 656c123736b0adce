// Turns and mirrors pixels; converts them between gray, RGB and RGBA.
#include "orient.hpp"
#include "luma.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace framejudge {
namespace {

template <std::size_t kChannels> void copy_pixel(const std::uint8_t* from, std::uint8_t* to) {
    std::memcpy(to, from, kChannels);
}

// Where the source's pixel (0, 0) goes, and how far a step right and a step down go, in bytes.
struct Walk {
    std::ptrdiff_t origin;
    std::ptrdiff_t right;
    std::ptrdiff_t down;
};

Walk walk_of(int orientation, std::size_t width, std::size_t height, std::size_t channels) {
    const auto pixel = static_cast<std::ptrdiff_t>(channels);
    const auto last_x = static_cast<std::ptrdiff_t>(width) - 1;
    const auto last_y = static_cast<std::ptrdiff_t>(height) - 1;
    const std::ptrdiff_t row = pixel * static_cast<std::ptrdiff_t>(width);     // kept sides
    const std::ptrdiff_t turned = pixel * static_cast<std::ptrdiff_t>(height); // swapped sides
    switch (orientation) {
    case 2:
        return {last_x * pixel, -pixel, row};
    case 3:
        return {last_y * row + last_x * pixel, -pixel, -row};
    case 4:
        return {last_y * row, pixel, -row};
    case 5:
        return {0, turned, pixel};
    case 6:
        return {last_y * pixel, turned, -pixel};
    case 7:
        return {last_x * turned + last_y * pixel, -turned, -pixel};
    case 8:
        return {last_x * turned, -turned, pixel};
    default:
        return {0, pixel, row};
    }
}

// Squares of this side keep both the rows read and the rows written in the first-level cache.
constexpr std::size_t kBlock = 32;

template <std::size_t kChannels> void move_pixels(const Pixels& from, Pixels& to, Walk walk) {
    for (std::size_t y0 = 0; y0 < from.height(); y0 += kBlock) {
        const std::size_t y1 = std::min(from.height(), y0 + kBlock);
        for (std::size_t x0 = 0; x0 < from.width(); x0 += kBlock) {
            const std::size_t x1 = std::min(from.width(), x0 + kBlock);
            for (std::size_t y = y0; y < y1; ++y) {
                const std::uint8_t* source = from.row(y) + x0 * kChannels;
                std::uint8_t* target = to.data() + walk.origin +
                                       static_cast<std::ptrdiff_t>(y) * walk.down +
                                       static_cast<std::ptrdiff_t>(x0) * walk.right;
                for (std::size_t x = x0; x < x1; ++x) {
                    copy_pixel<kChannels>(source, target);
                    source += kChannels;
                    target += walk.right;
                }
            }
        }
    }
}

// x / 255, rounded, for 0 <= x <= 255 * 255.
unsigned divided_by_255(unsigned x) {
    x += 128;
    return (x + (x >> 8)) >> 8;
}

void lay_over(const std::uint8_t* rgba, const std::array<std::uint8_t, 3>& background,
              std::uint8_t* rgb) {
    const unsigned alpha = rgba[3];
    for (std::size_t c = 0; c < 3; ++c) {
        rgb[c] = static_cast<std::uint8_t>(
            divided_by_255(rgba[c] * alpha + background[c] * (255U - alpha)));
    }
}

void gray_to_many(const std::uint8_t* from, std::size_t count, std::size_t channels,
                  std::uint8_t* to) {
    for (std::size_t i = 0; i < count; ++i) {
        std::memset(to + i * channels, from[i], 3);
        if (channels == 4) {
            to[i * 4 + 3] = 255;
        }
    }
}

void convert_row(const std::uint8_t* from, std::size_t channels, std::size_t count, PixelMode mode,
                 const std::array<std::uint8_t, 3>& background, std::uint8_t* to) {
    const auto wanted = static_cast<std::size_t>(mode);
    if (channels == 1) {
        gray_to_many(from, count, wanted, to);
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* pixel = from + i * channels;
        std::uint8_t rgb[3];
        if (channels == 4) {
            lay_over(pixel, background, rgb);
        } else {
            std::memcpy(rgb, pixel, 3);
        }
        if (mode == PixelMode::kGray) {
            to[i] = luma_of(rgb[0], rgb[1], rgb[2]);
        } else {
            std::memcpy(to + i * wanted, rgb, 3);
            if (mode == PixelMode::kRgba) {
                to[i * 4 + 3] = 255;
            }
        }
    }
}

} // namespace

Pixels apply_orientation(Pixels pixels, int orientation) {
    if (orientation <= 1 || orientation > 8) {
        return pixels;
    }
    const bool swapped = swaps_sides(orientation);
    Pixels upright =
        Pixels::uninitialized(swapped ? pixels.height() : pixels.width(),
                              swapped ? pixels.width() : pixels.height(), pixels.channels());
    const Walk walk = walk_of(orientation, pixels.width(), pixels.height(), pixels.channels());
    switch (pixels.channels()) {
    case 1:
        move_pixels<1>(pixels, upright, walk);
        break;
    case 3:
        move_pixels<3>(pixels, upright, walk);
        break;
    default:
        move_pixels<4>(pixels, upright, walk);
        break;
    }
    return upright;
}

Pixels to_mode(Pixels pixels, PixelMode mode, const std::array<std::uint8_t, 3>& background) {
    const auto wanted = static_cast<std::size_t>(mode);
    if (pixels.channels() == wanted) {
        return pixels;
    }
    Pixels converted = Pixels::uninitialized(pixels.width(), pixels.height(), wanted);
    for (std::size_t y = 0; y < pixels.height(); ++y) {
        convert_row(pixels.row(y), pixels.channels(), pixels.width(), mode, background,
                    converted.row(y));
    }
    return converted;
}

} // namespace framejudge
