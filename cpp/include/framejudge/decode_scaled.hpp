// Pictures straight to the size that is wanted.
#pragma once

#include "framejudge/image.hpp"
#include "framejudge/resize.hpp"

namespace framejudge {

// The wanted size of the upright picture (as stored, without `orient`). Both sides, or the longest
// one: a smaller picture then stays as it is. Nothing asked is the full size.
struct TargetSize {
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t max_side = 0;
    Filter filter = Filter::kArea;
};

// Decodes no more than `target` needs: a JPEG by a half, a quarter or an eighth while both sides
// stay at least as long as wanted, then an antialiased resize. Throws ImageError, InvalidInput.
Pixels decode_scaled(ByteView bytes, const DecodeOptions& options, const TargetSize& target,
                     DecodeReport& report);

// The same for pixels that are decoded and upright already: mode, background and size.
Pixels fit_pixels(const PixelView& view, const DecodeOptions& options, const TargetSize& target);

} // namespace framejudge
