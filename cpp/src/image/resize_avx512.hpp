// The horizontal pass with 64-byte registers: two rows in each. Included by the AVX-512 tier alone;
// everything here has internal linkage.
#pragma once

#include "resize_x86.hpp"

namespace framejudge {
namespace {

// Sixteen bytes of one row in the lower half, twice, and of another in the upper.
inline __m512i load_rows(const std::uint8_t* lower, const std::uint8_t* upper) {
    const __m512i both =
        _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(lower)));
    return _mm512_mask_broadcast_i32x4(both, 0xFF00,
                                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(upper)));
}

// Two pairs of weights as spread_pairs() has them, in both halves.
inline __m512i spread_pairs_twice(const std::int16_t* from) {
    const __m128i pairs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    return _mm512_permutexvar_epi32(
        _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1),
        _mm512_castsi128_si512(pairs));
}

// As finish_rows(): each register has two rows, each row two quarters to be added.
inline __m128i finish_row_pairs(const __m512i* high_sum, const __m512i* low_sum) {
    const __m512i first = _mm512_add_epi32(_mm512_slli_epi32(high_sum[0], kLowBits), low_sum[0]);
    const __m512i second = _mm512_add_epi32(_mm512_slli_epi32(high_sum[1], kLowBits), low_sum[1]);
    const __m512i total = _mm512_add_epi32(_mm512_shuffle_i32x4(first, second, 0x88),
                                           _mm512_shuffle_i32x4(first, second, 0xDD));
    const __m512i samples = _mm512_srai_epi32(total, kWeightBits);
    return _mm512_cvtusepi32_epi8(_mm512_max_epi32(samples, _mm512_setzero_si512()));
}

template <std::size_t kChannels>
void horizontal_by_pairs(const RowGroup& rows, const Weights& weights) {
    static_assert(kRowsAtOnce == 4, "two registers of two rows");
    const __m512i shuffle = _mm512_broadcast_i64x4(pair_shuffle<kChannels>());
    // Once for each row: the other quarter starts with nothing.
    const __m512i half = _mm512_maskz_set1_epi32(0x0F0F, kHalf);
    for (std::size_t x = 0; x < weights.count; ++x) {
        const std::int16_t* high = weights.high.data() + x * weights.stride;
        const std::int16_t* low = weights.low.data() + x * weights.stride;
        const std::size_t begin = weights.first[x] * kChannels;
        const std::size_t used = weights.used[x];
        __m512i high_sum[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
        __m512i low_sum[2] = {half, half};
        for (std::size_t k = 0; k < used; k += 4) {
            const __m512i high_pairs = spread_pairs_twice(high + k);
            const __m512i low_pairs = spread_pairs_twice(low + k);
            const std::size_t at = begin + k * kChannels;
            for (std::size_t pair = 0; pair < 2; ++pair) {
                const __m512i pixels = _mm512_shuffle_epi8(
                    load_rows(rows.in[2 * pair] + at, rows.in[2 * pair + 1] + at), shuffle);
                high_sum[pair] =
                    _mm512_add_epi32(high_sum[pair], _mm512_madd_epi16(pixels, high_pairs));
                low_sum[pair] =
                    _mm512_add_epi32(low_sum[pair], _mm512_madd_epi16(pixels, low_pairs));
            }
        }
        store_pixels<kChannels>(rows, x * kChannels, x + 1 == weights.count,
                                finish_row_pairs(high_sum, low_sum));
    }
}

} // namespace
} // namespace framejudge
