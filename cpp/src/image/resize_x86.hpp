// The two passes for the tiers of x86-64. Included by one file per tier, each compiled for other
// instructions: everything here has internal linkage.
#pragma once

#include "frame_kernels.hpp"

#include <cstring>
#include <immintrin.h>

namespace framejudge {
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

inline std::uint8_t clip(std::int32_t value) {
    return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

inline std::int32_t load_pair(const std::int16_t* from) {
    std::int32_t pair = 0;
    std::memcpy(&pair, from, sizeof(pair));
    return pair;
}

// Adds two rows, each weighted, to the sums of one vector of samples.
template <typename V>
void add_rows(typename V::Vector a, typename V::Vector b, typename V::Vector high,
              typename V::Vector low, typename V::Vector* high_sum, typename V::Vector* low_sum) {
    using Vector = typename V::Vector;
    const Vector zero = V::zero();
    const Vector left = V::unpack_low8(a, b);
    const Vector right = V::unpack_high8(a, b);
    const Vector pairs[4] = {V::unpack_low8(left, zero), V::unpack_high8(left, zero),
                             V::unpack_low8(right, zero), V::unpack_high8(right, zero)};
    for (int i = 0; i < 4; ++i) {
        high_sum[i] = V::add(high_sum[i], V::multiply_pairs(pairs[i], high));
        low_sum[i] = V::add(low_sum[i], V::multiply_pairs(pairs[i], low));
    }
}

template <typename V>
void vertical_block(const std::uint8_t* rows, std::size_t stride, std::size_t used,
                    const std::int16_t* high, const std::int16_t* low, std::uint8_t* out) {
    using Vector = typename V::Vector;
    Vector high_sum[4] = {V::zero(), V::zero(), V::zero(), V::zero()};
    const Vector half = V::broadcast(kHalf);
    Vector low_sum[4] = {half, half, half, half};
    std::size_t k = 0;
    for (; k + 2 <= used; k += 2) {
        const std::uint8_t* row = rows + k * stride;
        add_rows<V>(V::load(row), V::load(row + stride), V::broadcast(load_pair(high + k)),
                    V::broadcast(load_pair(low + k)), high_sum, low_sum);
    }
    if (k < used) { // the weight behind the last one belongs to no row
        add_rows<V>(V::load(rows + k * stride), V::zero(),
                    V::broadcast(static_cast<std::uint16_t>(high[k])),
                    V::broadcast(static_cast<std::uint16_t>(low[k])), high_sum, low_sum);
    }
    Vector sums[4];
    for (int i = 0; i < 4; ++i) {
        sums[i] = V::template shift_right<kWeightBits>(
            V::add(V::template shift_left<kLowBits>(high_sum[i]), low_sum[i]));
    }
    V::store(out, V::pack16(V::pack32(sums[0], sums[1]), V::pack32(sums[2], sums[3])));
}

template <typename V>
void vertical(const std::uint8_t* rows, std::size_t stride, const Weights& weights,
              std::size_t index, std::size_t count, std::uint8_t* out) {
    const std::int16_t* high = weights.high.data() + index * weights.stride;
    const std::int16_t* low = weights.low.data() + index * weights.stride;
    const std::size_t used = weights.used[index];
    if (count < V::kBytes) {
        for (std::size_t i = 0; i < count; ++i) {
            std::int32_t sum = kHalf;
            for (std::size_t k = 0; k < used; ++k) {
                sum += rows[k * stride + i] * (high[k] * (1 << kLowBits) + low[k]);
            }
            out[i] = clip(sum >> kWeightBits);
        }
        return;
    }
    std::size_t i = 0;
    for (; i + V::kBytes <= count; i += V::kBytes) {
        vertical_block<V>(rows + i, stride, used, high, low, out + i);
    }
    if (i < count) { // once more over some samples of the last block
        i = count - V::kBytes;
        vertical_block<V>(rows + i, stride, used, high, low, out + i);
    }
}

// The sums of four rows: shifted, clipped, and row r's samples in dword r.
inline __m128i finish_rows(const __m256i* high_sum, const __m256i* low_sum) {
    __m128i sums[kRowsAtOnce];
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
        const __m256i both = _mm256_add_epi32(_mm256_slli_epi32(high_sum[r], kLowBits), low_sum[r]);
        const __m128i one =
            _mm_add_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        sums[r] = _mm_srai_epi32(_mm_add_epi32(one, _mm_set1_epi32(kHalf)), kWeightBits);
    }
    return _mm_packus_epi16(_mm_packs_epi32(sums[0], sums[1]), _mm_packs_epi32(sums[2], sums[3]));
}

// Two pixels of four (or, the last zero, three) samples in each half, as pairs of the same channel.
template <std::size_t kChannels> __m256i pair_shuffle() {
    constexpr char kNo = -1;
    if constexpr (kChannels == 3) {
        return _mm256_setr_epi8(0, kNo, 3, kNo, 1, kNo, 4, kNo, 2, kNo, 5, kNo, kNo, kNo, kNo, kNo,
                                6, kNo, 9, kNo, 7, kNo, 10, kNo, 8, kNo, 11, kNo, kNo, kNo, kNo,
                                kNo);
    } else {
        return _mm256_setr_epi8(0, kNo, 4, kNo, 1, kNo, 5, kNo, 2, kNo, 6, kNo, 3, kNo, 7, kNo, 8,
                                kNo, 12, kNo, 9, kNo, 13, kNo, 10, kNo, 14, kNo, 11, kNo, 15, kNo);
    }
}

// Two pairs of weights, the first in all of the lower half, the second in all of the upper.
inline __m256i spread_pairs(const std::int16_t* from) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(pairs),
                                       _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

template <std::size_t kChannels>
void store_pixels(const RowGroup& rows, std::size_t at, bool is_last, __m128i pixels) {
    alignas(16) std::uint32_t words[kRowsAtOnce];
    _mm_store_si128(reinterpret_cast<__m128i*>(words), pixels);
    for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
        if (is_last) {
            std::memcpy(rows.out[r] + at, &words[r], kChannels);
        } else { // the fourth byte of three is written again with the next pixel
            std::memcpy(rows.out[r] + at, &words[r], sizeof(words[r]));
        }
    }
}

template <std::size_t kChannels> void horizontal(const RowGroup& rows, const Weights& weights) {
    const __m256i shuffle = pair_shuffle<kChannels>();
    for (std::size_t x = 0; x < weights.count; ++x) {
        const std::int16_t* high = weights.high.data() + x * weights.stride;
        const std::int16_t* low = weights.low.data() + x * weights.stride;
        const std::size_t begin = weights.first[x] * kChannels;
        const std::size_t used = weights.used[x];
        __m256i high_sum[kRowsAtOnce] = {};
        __m256i low_sum[kRowsAtOnce] = {};
        for (std::size_t k = 0; k < used; k += 4) {
            const __m256i high_pairs = spread_pairs(high + k);
            const __m256i low_pairs = spread_pairs(low + k);
            for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
                const std::uint8_t* from = rows.in[r] + begin + k * kChannels;
                const __m256i pixels =
                    _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(
                                            reinterpret_cast<const __m128i*>(from))),
                                        shuffle);
                high_sum[r] = _mm256_add_epi32(high_sum[r], _mm256_madd_epi16(pixels, high_pairs));
                low_sum[r] = _mm256_add_epi32(low_sum[r], _mm256_madd_epi16(pixels, low_pairs));
            }
        }
        store_pixels<kChannels>(rows, x * kChannels, x + 1 == weights.count,
                                finish_rows(high_sum, low_sum));
    }
}

inline __m256i load_16_weights(const std::int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}

template <> void horizontal<1>(const RowGroup& rows, const Weights& weights) {
    for (std::size_t x = 0; x < weights.count; ++x) {
        const std::int16_t* high = weights.high.data() + x * weights.stride;
        const std::int16_t* low = weights.low.data() + x * weights.stride;
        const std::size_t used = weights.used[x];
        __m256i high_sum[kRowsAtOnce] = {};
        __m256i low_sum[kRowsAtOnce] = {};
        for (std::size_t k = 0; k < used; k += 16) {
            const __m256i high_weights = load_16_weights(high + k);
            const __m256i low_weights = load_16_weights(low + k);
            for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
                const std::uint8_t* from = rows.in[r] + weights.first[x] + k;
                const __m256i samples =
                    _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
                high_sum[r] =
                    _mm256_add_epi32(high_sum[r], _mm256_madd_epi16(samples, high_weights));
                low_sum[r] = _mm256_add_epi32(low_sum[r], _mm256_madd_epi16(samples, low_weights));
            }
        }
        __m256i sums[kRowsAtOnce];
        for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
            sums[r] = _mm256_add_epi32(_mm256_slli_epi32(high_sum[r], kLowBits), low_sum[r]);
        }
        const __m256i rows_in_half = _mm256_hadd_epi32(_mm256_hadd_epi32(sums[0], sums[1]),
                                                       _mm256_hadd_epi32(sums[2], sums[3]));
        const __m128i total = _mm_add_epi32(_mm256_castsi256_si128(rows_in_half),
                                            _mm256_extracti128_si256(rows_in_half, 1));
        alignas(16) std::int32_t values[kRowsAtOnce];
        _mm_store_si128(reinterpret_cast<__m128i*>(values),
                        _mm_srai_epi32(_mm_add_epi32(total, _mm_set1_epi32(kHalf)), kWeightBits));
        for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
            rows.out[r][x] = clip(values[r]);
        }
    }
}

} // namespace
} // namespace framejudge
