// Rows of stored samples in the asked mode; shared by the codecs that read rows.
#pragma once

#include "luma.hpp"

#include "framejudge/image.hpp"

#include <cstddef>
#include <cstdint>

namespace framejudge {

constexpr std::size_t channels_of(PixelMode mode) { return static_cast<std::size_t>(mode); }

// NOTE [alpha]
// Alpha is straight. Modes without it drop it, as every reader of these formats does by default: a
// transparent pixel keeps the colour it stores. Before a resize, which would mix such colours in,
// decode_flat() lays the picture over a background instead.

// Converts pixels of 1 (grey), 2 (grey, alpha), 3 or 4 channels. `to` may not overlap `from`.
void convert_row(const std::uint8_t* from, std::size_t channels, std::uint8_t* to, PixelMode mode,
                 std::size_t width);

// Fills rows with the background, opaque.
void fill_background(Pixels& pixels, std::size_t first_row, const DecodeOptions& options);

} // namespace framejudge
