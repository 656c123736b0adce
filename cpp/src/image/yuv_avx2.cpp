// Video frames to pixels, 32 at a time.
#include "yuv_kernel_template.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

// 32 samples of 16 bits in the order in which packing two vectors puts bytes right: `low` holds
// those of pixels 0-7 and 16-23, `high` those of 8-15 and 24-31.
struct Pair {
    __m256i low;
    __m256i high;
};

__m256i load_32(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

// Samples at the top of their 16 bits.
Pair load_samples(const std::uint8_t* from, int /*shift*/) {
    const __m256i bytes = load_32(from);
    const __m256i zero = _mm256_setzero_si256();
    return {_mm256_unpacklo_epi8(zero, bytes), _mm256_unpackhi_epi8(zero, bytes)};
}

Pair load_samples(const std::uint16_t* from, int shift) {
    const __m128i by = _mm_cvtsi32_si128(shift);
    const __m256i first = _mm256_sll_epi16(load_32(from), by);
    const __m256i second = _mm256_sll_epi16(load_32(from + 16), by);
    return {_mm256_permute2x128_si256(first, second, 0x20),
            _mm256_permute2x128_si256(first, second, 0x31)};
}

__m256i load_halved(const std::uint8_t* from, int /*shift*/) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 8);
}

__m256i load_halved(const std::uint16_t* from, int shift) {
    return _mm256_sll_epi16(load_32(from), _mm_cvtsi32_si128(shift));
}

__m256i around_zero(__m256i chroma) {
    return _mm256_xor_si256(chroma, _mm256_set1_epi16(static_cast<short>(0x8000)));
}

// What chroma adds to each colour.
struct Tint {
    __m256i red;
    __m256i green;
    __m256i blue;
};

Tint tint_of(__m256i u, __m256i v, const YuvCoefficients& by) {
    const __m256i blue = around_zero(u);
    const __m256i red = around_zero(v);
    return {_mm256_mulhrs_epi16(red, _mm256_set1_epi16(by.v_to_red)),
            _mm256_add_epi16(_mm256_mulhrs_epi16(blue, _mm256_set1_epi16(by.u_to_green)),
                             _mm256_mulhrs_epi16(red, _mm256_set1_epi16(by.v_to_green))),
            _mm256_mulhrs_epi16(blue, _mm256_set1_epi16(by.u_to_blue))};
}

__m256i doubled_low(__m256i v) { return _mm256_unpacklo_epi16(v, v); }
__m256i doubled_high(__m256i v) { return _mm256_unpackhi_epi16(v, v); }

// Luma with its black at zero and its range stretched, plus the half that rounds.
__m256i white_of(__m256i samples, const YuvCoefficients& by) {
    const __m256i luma =
        _mm256_sub_epi16(_mm256_srli_epi16(samples, 2), _mm256_set1_epi16(by.luma_offset));
    const __m256i gain = _mm256_mulhrs_epi16(luma, _mm256_set1_epi16(by.luma_gain));
    return _mm256_add_epi16(_mm256_add_epi16(luma, gain), _mm256_set1_epi16(32));
}

__m256i packed(__m256i low, __m256i high) {
    return _mm256_packus_epi16(_mm256_srai_epi16(low, 6), _mm256_srai_epi16(high, 6));
}

// In each half, byte i goes to 3 * i modulo 16, so that a blend of three colours shifted against
// each other has them in turn.
void store_interleaved(__m256i r, __m256i g, __m256i b, std::uint8_t* to) {
    const __m256i spread_r = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10, 5));
    const __m256i spread_g = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15, 10));
    const __m256i spread_b = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(10, 5, 0, 11, 6, 1, 12, 7, 2, 13, 8, 3, 14, 9, 4, 15));
    const __m256i at_1 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0));
    const __m256i at_2 = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0, 0, -1, 0));
    const __m256i red = _mm256_shuffle_epi8(r, spread_r);
    const __m256i green = _mm256_shuffle_epi8(g, spread_g);
    const __m256i blue = _mm256_shuffle_epi8(b, spread_b);
    const auto blend = [&](__m256i zeroth, __m256i first, __m256i second) {
        return _mm256_blendv_epi8(_mm256_blendv_epi8(zeroth, first, at_1), second, at_2);
    };
    const __m256i begin = blend(red, green, blue); // of both halves' 48 bytes
    const __m256i middle = blend(green, blue, red);
    const __m256i end = blend(blue, red, green);
    auto* out = reinterpret_cast<__m256i*>(to);
    _mm256_storeu_si256(out, _mm256_permute2x128_si256(begin, middle, 0x20));
    _mm256_storeu_si256(out + 1, _mm256_permute2x128_si256(end, begin, 0x30));
    _mm256_storeu_si256(out + 2, _mm256_permute2x128_si256(middle, end, 0x31));
}

void store_tinted(const Pair& white, const Tint& low, const Tint& high, std::uint8_t* to) {
    store_interleaved(
        packed(_mm256_adds_epi16(white.low, low.red), _mm256_adds_epi16(white.high, high.red)),
        packed(_mm256_adds_epi16(white.low, low.green), _mm256_adds_epi16(white.high, high.green)),
        packed(_mm256_adds_epi16(white.low, low.blue), _mm256_adds_epi16(white.high, high.blue)),
        to);
}

// Each step doubles the length of the pieces of columns that lie together.
void interleave_rows(const __m128i* in, __m128i* out) {
    for (std::size_t i = 0; i < 8; ++i) {
        out[i * 2] = _mm_unpacklo_epi8(in[i], in[i + 8]);
        out[i * 2 + 1] = _mm_unpackhi_epi8(in[i], in[i + 8]);
    }
}

struct Block {
    static constexpr std::size_t kPixels = 32;
    static constexpr std::size_t kSquare = 16;

    template <bool kHalved, typename Sample>
    static void rgb(const Sample* y, const Sample* u, const Sample* v, int shift,
                    const YuvCoefficients& by, std::uint8_t* to) {
        const Pair samples = load_samples(y, shift);
        const Pair white = {white_of(samples.low, by), white_of(samples.high, by)};
        if constexpr (kHalved) {
            const Tint tint = tint_of(load_halved(u, shift), load_halved(v, shift), by);
            store_tinted(
                white, {doubled_low(tint.red), doubled_low(tint.green), doubled_low(tint.blue)},
                {doubled_high(tint.red), doubled_high(tint.green), doubled_high(tint.blue)}, to);
        } else {
            const Pair blue = load_samples(u, shift);
            const Pair red = load_samples(v, shift);
            store_tinted(white, tint_of(blue.low, red.low, by), tint_of(blue.high, red.high, by),
                         to);
        }
    }

    template <typename Sample>
    static void gray(const Sample* y, int shift, const YuvCoefficients& by, std::uint8_t* to) {
        const Pair samples = load_samples(y, shift);
        const __m256i bytes = packed(white_of(samples.low, by), white_of(samples.high, by));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);
    }

    static void transpose(const std::uint8_t* from, std::size_t stride, std::uint8_t* to,
                          std::size_t to_stride) {
        __m128i rows[kSquare];
        __m128i mixed[kSquare];
        for (std::size_t y = 0; y < kSquare; ++y) {
            rows[y] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + y * stride));
        }
        interleave_rows(rows, mixed);
        interleave_rows(mixed, rows);
        interleave_rows(rows, mixed);
        interleave_rows(mixed, rows);
        for (std::size_t x = 0; x < kSquare; ++x) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to + x * to_stride), rows[x]);
        }
    }
};

} // namespace

const YuvKernels& avx2_yuv_kernels() { return yuv_kernels_of<Block>(); }

} // namespace framejudge
