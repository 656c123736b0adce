// PDQ, Meta's hash of 256 bits.
#pragma once

#include "framejudge/hash.hpp"

namespace framejudge {

constexpr std::size_t kPdqSide = 64;

PictureHash pdq(const PixelView& pixels);

} // namespace framejudge
