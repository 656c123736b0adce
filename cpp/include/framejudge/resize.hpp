// Antialiased resizing, equal to Pillow 13's to the last bit.
//
// NOTE [resize]
// Two passes of a fixed-point filter whose support grows with the reduction, 8-bit samples between
// them, weights of 22 fractional bits. The rows are filtered first, unless the height shrinks by
// more than twice as many samples as the width. Integer arithmetic: every tier gives the same
// samples. Where that much rounding could change a constant picture (some windows of more than
// 8,000 samples), the weights are corrected to add up to 1, which Pillow's are not.
#pragma once

#include "framejudge/pixels.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace framejudge {

enum class Filter : std::uint8_t { kArea, kBilinear, kBicubic, kLanczos };

// Throws InvalidInput for anything but "area", "bilinear", "bicubic" and "lanczos".
Filter parse_filter(std::string_view name);

// The part of a picture that is resized, in samples; edges may fall between them.
struct Box {
    double left;
    double top;
    double right;
    double bottom;
};

// The picture, or the part of it in `box`, at another size. Colours of four channels are weighted
// by their alpha. Throws InvalidInput if a side is 0 or too long, or the box is not inside.
Pixels resize(const PixelView& source, std::size_t width, std::size_t height, Filter filter);
Pixels resize(const PixelView& source, const Box& box, std::size_t width, std::size_t height,
              Filter filter);

} // namespace framejudge
