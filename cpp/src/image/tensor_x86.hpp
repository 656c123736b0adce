// Samples to numbers for the tiers of x86-64. Included by one file per tier, each compiled for
// other instructions: everything here has internal linkage.
#pragma once

#include "frame_kernels.hpp"
#include "tensor_table.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

constexpr std::size_t kPixelsAtOnce = 16;

inline __m128i load_samples(const std::uint8_t* from) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

struct Picks {
    alignas(16) char index[3][3][16];
};

// Where sample 3 * i + channel of 48 lies within each third of them; -1 picks nothing.
constexpr Picks make_picks() {
    Picks picks{};
    for (int channel = 0; channel < 3; ++channel) {
        for (int part = 0; part < 3; ++part) {
            for (int i = 0; i < 16; ++i) {
                const int at = 3 * i + channel - 16 * part;
                picks.index[channel][part][i] = static_cast<char>(at >= 0 && at < 16 ? at : -1);
            }
        }
    }
    return picks;
}

constexpr Picks kPicks = make_picks();

inline __m128i pick(std::size_t channel, std::size_t part) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(kPicks.index[channel][part]));
}

// One channel of sixteen pixels.
inline __m128i channel_of(const __m128i* samples, std::size_t channel) {
    return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(samples[0], pick(channel, 0)),
                                     _mm_shuffle_epi8(samples[1], pick(channel, 1))),
                        _mm_shuffle_epi8(samples[2], pick(channel, 2)));
}

template <typename Lanes, typename Number>
void single(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    auto* out = static_cast<Number*>(to);
    std::size_t i = 0;
    for (; i + kPixelsAtOnce <= count; i += kPixelsAtOnce) {
        Lanes::store_16(out + i, load_samples(from + i), norm.scale[0], norm.offset[0]);
    }
    single_by_table<Number>(from + i, count - i, norm, out + i);
}

// One channel of `count` pixels, each vector stored past the cache; `out` is aligned for that.
template <typename Lanes, typename Number>
void stream_channel(const std::uint8_t* from, std::size_t count, std::size_t channel,
                    const Normalization& norm, Number* out) {
    for (std::size_t i = 0; i + kPixelsAtOnce <= count; i += kPixelsAtOnce) {
        const std::uint8_t* at = from + 3 * i;
        const __m128i samples[3] = {load_samples(at), load_samples(at + 16), load_samples(at + 32)};
        Lanes::stream_16(out + i, channel_of(samples, channel), norm.scale[channel],
                         norm.offset[channel]);
    }
}

// The planes may begin at different places in a cache line, so each goes its own way through a
// stretch of pixels that stays in the first cache.
template <typename Lanes, typename Number>
void stream_planar(const std::uint8_t* from, std::size_t count, const Normalization& norm,
                   Number* out, std::size_t plane) {
    constexpr std::size_t kStretch = 1024;
    const auto* table = static_cast<const Number*>(norm.table);
    std::size_t begins[3];
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const auto address = reinterpret_cast<std::uintptr_t>(out + channel * plane);
        begins[channel] = (64 - address % 64) % 64 / sizeof(Number);
    }
    const auto one_by_one = [&](std::size_t channel, std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
            out[channel * plane + i] = table[256 * channel + from[3 * i + channel]];
        }
    };
    for (std::size_t i = 0; i < count; i += kStretch) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            const std::size_t first = begins[channel] + i;
            const std::size_t last = first + kStretch < count ? first + kStretch : count;
            if (first < last) {
                stream_channel<Lanes>(from + 3 * first, last - first, channel, norm,
                                      out + channel * plane + first);
            }
        }
    }
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const std::size_t begin = begins[channel];
        one_by_one(channel, 0, begin);
        one_by_one(channel, begin + (count - begin) / kPixelsAtOnce * kPixelsAtOnce, count);
    }
    _mm_sfence();
}

template <typename Lanes, typename Number>
void planar(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to,
            std::size_t plane) {
    auto* out = static_cast<Number*>(to);
    if (norm.streams && count >= 64) { // enough for the first line's end
        stream_planar<Lanes>(from, count, norm, out, plane);
        return;
    }
    std::size_t i = 0;
    for (; i + kPixelsAtOnce <= count; i += kPixelsAtOnce) {
        const std::uint8_t* at = from + 3 * i;
        const __m128i samples[3] = {load_samples(at), load_samples(at + 16), load_samples(at + 32)};
        for (std::size_t channel = 0; channel < 3; ++channel) {
            Lanes::store_16(out + channel * plane + i, channel_of(samples, channel),
                            norm.scale[channel], norm.offset[channel]);
        }
    }
    planar_by_table<Number>(from + 3 * i, count - i, norm, out + i, plane);
}

template <typename Lanes, typename Number, bool kStreams>
std::size_t interleaved_blocks(const std::uint8_t* from, std::size_t count,
                               const Normalization& norm, Number* out) {
    constexpr std::size_t kSamples = 3 * kPixelsAtOnce;
    float scales[kSamples];
    float offsets[kSamples];
    for (std::size_t i = 0; i < kSamples; ++i) {
        scales[i] = norm.scale[i % 3];
        offsets[i] = norm.offset[i % 3];
    }
    std::size_t i = 0;
    for (; i + kPixelsAtOnce <= count; i += kPixelsAtOnce) {
        for (std::size_t part = 0; part < kSamples; part += 16) {
            const __m128i samples = load_samples(from + 3 * i + part);
            Number* at = out + 3 * i + part;
            if constexpr (kStreams) {
                Lanes::stream_16(at, samples, scales + part, offsets + part);
            } else {
                Lanes::store_16(at, samples, scales + part, offsets + part);
            }
        }
    }
    return i;
}

template <typename Lanes, typename Number>
void interleaved(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    auto* out = static_cast<Number*>(to);
    std::size_t done = 0;
    if (norm.streams && count >= 64) {
        // Whole pixels until a cache line begins: at most so many, as three is no divisor of its
        // length. Numbers that are not aligned to themselves never get there.
        while (done < 64 && reinterpret_cast<std::uintptr_t>(out + 3 * done) % 64 != 0) {
            ++done;
        }
        if (done < 64) {
            interleaved_by_table<Number>(from, done, norm, out);
            done += interleaved_blocks<Lanes, Number, true>(from + 3 * done, count - done, norm,
                                                            out + 3 * done);
            _mm_sfence();
        } else {
            done = 0;
        }
    }
    done += interleaved_blocks<Lanes, Number, false>(from + 3 * done, count - done, norm,
                                                     out + 3 * done);
    interleaved_by_table<Number>(from + 3 * done, count - done, norm, out + 3 * done);
}

inline void luma(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
    // Twice half of green's weight, as 38470 is no signed number of 16 bits.
    const __m256i red_green = _mm256_set1_epi32(kRedWeight | kGreenWeight / 2 << 16);
    const __m256i green_blue = _mm256_set1_epi32(kGreenWeight / 2 | kBlueWeight << 16);
    const __m256i half = _mm256_set1_epi32(1 << 15);
    std::size_t i = 0;
    for (; i + kPixelsAtOnce <= count; i += kPixelsAtOnce) {
        const std::uint8_t* at = from + 3 * i;
        const __m128i samples[3] = {load_samples(at), load_samples(at + 16), load_samples(at + 32)};
        const __m256i red = _mm256_cvtepu8_epi16(channel_of(samples, 0));
        const __m256i green = _mm256_cvtepu8_epi16(channel_of(samples, 1));
        const __m256i blue = _mm256_cvtepu8_epi16(channel_of(samples, 2));
        const auto sum = [&](__m256i rg, __m256i gb) {
            return _mm256_srli_epi32(
                _mm256_add_epi32(_mm256_add_epi32(_mm256_madd_epi16(rg, red_green),
                                                  _mm256_madd_epi16(gb, green_blue)),
                                 half),
                16);
        };
        const __m256i low =
            sum(_mm256_unpacklo_epi16(red, green), _mm256_unpacklo_epi16(green, blue));
        const __m256i high =
            sum(_mm256_unpackhi_epi16(red, green), _mm256_unpackhi_epi16(green, blue));
        const __m256i words = _mm256_packus_epi32(low, high);
        _mm_storeu_si128(
            reinterpret_cast<__m128i*>(to + i),
            _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
    }
    luma_by_sample(from + 3 * i, count - i, to + i);
}

} // namespace
} // namespace framejudge
