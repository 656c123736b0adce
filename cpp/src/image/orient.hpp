// EXIF's eight orientations, and conversion between pixel modes.
#pragma once

#include "framejudge/image.hpp"

namespace framejudge {

// The picture upright, for an EXIF orientation of 1 to 8.
Pixels apply_orientation(Pixels pixels, int orientation);

// Whether upright means that width and height change places.
inline bool swaps_sides(int orientation) { return orientation >= 5; }

// Pixels of 1, 3 or 4 channels in `mode`: alpha is laid over `background` unless the mode keeps it;
// gray is ITU-R BT.601 luma, rounded.
Pixels to_mode(Pixels pixels, PixelMode mode, const std::array<std::uint8_t, 3>& background);

} // namespace framejudge
