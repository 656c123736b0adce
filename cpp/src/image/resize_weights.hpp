// What each sample of a resized axis is made of.
#pragma once

#include "framejudge/resize.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace framejudge {

constexpr int kWeightBits = 22;
constexpr int kLowBits = 12;

// NOTE [split weights]
// A weight of 22 fractional bits is kept as high * 2^12 + low, with 0 <= low < 2^12, so that 16-bit
// multiplications are enough and nothing is lost. Sums may wrap on the way: the total fits, as
// the magnitudes of a filter's weights add up to less than 2.
struct Weights {
    std::size_t count = 0;  // of samples made
    std::size_t stride = 0; // weights kept for each, those beyond its window zero
    std::vector<std::uint32_t> first;
    std::vector<std::uint32_t> used; // length of the window
    std::vector<std::int16_t> high;
    std::vector<std::int16_t> low;
};

// The part of an axis of `size` samples from `begin` to `end`, at `count` samples. The stride is a
// multiple of `multiple`.
Weights make_weights(std::size_t size, double begin, double end, std::size_t count, Filter filter,
                     std::size_t multiple);

} // namespace framejudge
