// Pixels to files.
#pragma once

#include "framejudge/pixels.hpp"

#include <cstdint>
#include <vector>

namespace framejudge {

// Baseline JPEG with 4:2:0 chroma of a gray or RGB picture; `quality` is the Independent JPEG
// Group's, 1 to 100. No metadata. Throws InvalidInput.
std::vector<std::uint8_t> encode_jpeg(const PixelView& pixels, int quality);

// PNG of a gray, RGB or RGBA picture; `level` is 0 (stored) to 9 (smallest). The same bytes for the
// same pixels in every tier. No metadata. Throws InvalidInput.
std::vector<std::uint8_t> encode_png(const PixelView& pixels, int level);

} // namespace framejudge
