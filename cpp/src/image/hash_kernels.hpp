// Distances between hashes, and hashes of bytes. Included by one file per tier, each of which
// counts bits with what its machine has: everything here has internal linkage.
#pragma once

#include "frame_kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace framejudge {
namespace {

inline std::uint32_t distance(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < words; ++k) {
        sum += static_cast<std::uint32_t>(__builtin_popcountll(a[k] ^ b[k]));
    }
    return sum;
}

inline void distances(const std::uint64_t* a, std::size_t a_step, const std::uint64_t* b,
                      std::size_t count, std::size_t words, std::uint32_t* out) {
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = distance(a + i * a_step, b + i * words, words);
    }
}

// The place behind the last one found is written whether or not it is near: no branch to guess.
template <std::size_t kWords>
std::size_t find_near_of(const std::uint64_t* one, const std::uint64_t* many, std::size_t count,
                         std::size_t words, std::uint32_t max_distance, std::uint32_t* out) {
    const std::size_t size = kWords == 0 ? words : kWords;
    std::size_t found = 0;
    for (std::size_t i = 0; i < count; ++i) {
        out[found] = static_cast<std::uint32_t>(i);
        found += distance(one, many + i * size, size) <= max_distance ? 1 : 0;
    }
    return found;
}

inline std::size_t find_near(const std::uint64_t* one, const std::uint64_t* many, std::size_t count,
                             std::size_t words, std::uint32_t max_distance, std::uint32_t* out) {
    const auto find = words == 1 ? find_near_of<1> : words == 4 ? find_near_of<4> : find_near_of<0>;
    return find(one, many, count, words, max_distance, out);
}

// Each sum takes its neighbour's eight bytes, and the product of both halves of its own eight,
// which the secret has changed.
#if defined(__AVX2__)
inline void xxh3_stripes(std::uint64_t* sums, const std::uint8_t* from, const std::uint8_t* secret,
                         std::size_t count) {
    const auto load = [](const void* at) {
        return _mm256_loadu_si256(static_cast<const __m256i*>(at));
    };
    __m256i halves[2] = {load(sums), load(sums + 4)};
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t half = 0; half < 2; ++half) {
            const __m256i data = load(from + kXxh3Stripe * i + 32 * half);
            const __m256i key = _mm256_xor_si256(data, load(secret + 8 * i + 32 * half));
            const __m256i product = _mm256_mul_epu32(key, _mm256_srli_epi64(key, 32));
            const __m256i neighbours = _mm256_shuffle_epi32(data, 0x4e);
            halves[half] = _mm256_add_epi64(halves[half], _mm256_add_epi64(product, neighbours));
        }
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), halves[0]);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 4), halves[1]);
}
#else
inline std::uint64_t load_little_endian(const std::uint8_t* from) {
    std::uint64_t word = 0;
    for (unsigned i = 0; i < 8; ++i) {
        word |= static_cast<std::uint64_t>(from[i]) << 8U * i;
    }
    return word;
}

inline void xxh3_stripes(std::uint64_t* sums, const std::uint8_t* from, const std::uint8_t* secret,
                         std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t lane = 0; lane < 8; ++lane) {
            const std::uint64_t data = load_little_endian(from + kXxh3Stripe * i + 8 * lane);
            const std::uint64_t key = data ^ load_little_endian(secret + 8 * i + 8 * lane);
            sums[lane ^ 1U] += data;
            sums[lane] += (key & 0xFFFFFFFF) * (key >> 32U);
        }
    }
}
#endif

} // namespace
} // namespace framejudge
