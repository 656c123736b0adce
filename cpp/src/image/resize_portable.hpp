// The two passes without any instruction beyond the ABI's floor. Included by one file per tier:
// everything here has internal linkage.
#pragma once

#include "frame_kernels.hpp"

namespace framejudge {
namespace {

// Sums wrap on the way; see NOTE [split weights].
inline std::uint32_t weight_of(const Weights& weights, std::size_t index, std::size_t k) {
    const std::size_t at = index * weights.stride + k;
    return static_cast<std::uint32_t>(weights.high[at] * (1 << kLowBits) + weights.low[at]);
}

inline std::uint8_t finish(std::uint32_t sum) {
    const auto value = static_cast<std::int32_t>(sum) >> kWeightBits;
    return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

constexpr std::uint32_t kRounding = 1U << (kWeightBits - 1);

inline void portable_vertical(const std::uint8_t* rows, std::size_t stride, const Weights& weights,
                              std::size_t index, std::size_t count, std::uint8_t* out) {
    constexpr std::size_t kBlock = 64;
    for (std::size_t begin = 0; begin < count; begin += kBlock) {
        const std::size_t size = count - begin < kBlock ? count - begin : kBlock;
        std::uint32_t sums[kBlock];
        for (std::size_t i = 0; i < size; ++i) {
            sums[i] = kRounding;
        }
        for (std::size_t k = 0; k < weights.used[index]; ++k) {
            const std::uint32_t weight = weight_of(weights, index, k);
            const std::uint8_t* row = rows + k * stride + begin;
            for (std::size_t i = 0; i < size; ++i) {
                sums[i] += row[i] * weight;
            }
        }
        for (std::size_t i = 0; i < size; ++i) {
            out[begin + i] = finish(sums[i]);
        }
    }
}

template <std::size_t kChannels>
void portable_horizontal(const RowGroup& rows, const Weights& weights) {
    for (std::size_t x = 0; x < weights.count; ++x) {
        std::uint32_t sums[kRowsAtOnce][kChannels];
        for (auto& row : sums) {
            for (auto& sum : row) {
                sum = kRounding;
            }
        }
        for (std::size_t k = 0; k < weights.used[x]; ++k) {
            const std::uint32_t weight = weight_of(weights, x, k);
            const std::size_t at = (weights.first[x] + k) * kChannels;
            for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
                for (std::size_t channel = 0; channel < kChannels; ++channel) {
                    sums[r][channel] += rows.in[r][at + channel] * weight;
                }
            }
        }
        for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
            for (std::size_t channel = 0; channel < kChannels; ++channel) {
                rows.out[r][x * kChannels + channel] = finish(sums[r][channel]);
            }
        }
    }
}

} // namespace
} // namespace framejudge
