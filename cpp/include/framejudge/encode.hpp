// Pixels to files.
#pragma once

#include "framejudge/pixels.hpp"

#include <cstdint>
#include <vector>

namespace framejudge {

// Baseline JPEG with 4:2:0 chroma of a gray or RGB picture; `quality` is the Independent JPEG
// Group's, 1 to 100. No metadata. Throws InvalidInput.
std::vector<std::uint8_t> encode_jpeg(const PixelView& pixels, int quality);

} // namespace framejudge
