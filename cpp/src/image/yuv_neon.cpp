// Video frames to pixels, 16 at a time.
#include "yuv_kernel_template.hpp"

#include <arm_neon.h>

namespace framejudge {
namespace {

// 16 samples of 16 bits, in order.
struct Pair {
    uint16x8_t low;
    uint16x8_t high;
};

// Samples at the top of their 16 bits.
Pair load_samples(const std::uint8_t* from, int /*shift*/) {
    const uint8x16_t bytes = vld1q_u8(from);
    return {vshll_n_u8(vget_low_u8(bytes), 8), vshll_n_u8(vget_high_u8(bytes), 8)};
}

Pair load_samples(const std::uint16_t* from, int shift) {
    const int16x8_t by = vdupq_n_s16(static_cast<std::int16_t>(shift));
    return {vshlq_u16(vld1q_u16(from), by), vshlq_u16(vld1q_u16(from + 8), by)};
}

uint16x8_t load_halved(const std::uint8_t* from, int /*shift*/) {
    return vshll_n_u8(vld1_u8(from), 8);
}

uint16x8_t load_halved(const std::uint16_t* from, int shift) {
    return vshlq_u16(vld1q_u16(from), vdupq_n_s16(static_cast<std::int16_t>(shift)));
}

int16x8_t around_zero(uint16x8_t chroma) {
    return vreinterpretq_s16_u16(veorq_u16(chroma, vdupq_n_u16(0x8000)));
}

// What chroma adds to each colour.
struct Tint {
    int16x8_t red;
    int16x8_t green;
    int16x8_t blue;
};

Tint tint_of(uint16x8_t u, uint16x8_t v, const YuvCoefficients& by) {
    const int16x8_t blue = around_zero(u);
    const int16x8_t red = around_zero(v);
    return {vqrdmulhq_n_s16(red, by.v_to_red),
            vaddq_s16(vqrdmulhq_n_s16(blue, by.u_to_green), vqrdmulhq_n_s16(red, by.v_to_green)),
            vqrdmulhq_n_s16(blue, by.u_to_blue)};
}

// Luma with its black at zero and its range stretched, plus the half that rounds.
int16x8_t white_of(uint16x8_t samples, const YuvCoefficients& by) {
    const int16x8_t luma =
        vsubq_s16(vreinterpretq_s16_u16(vshrq_n_u16(samples, 2)), vdupq_n_s16(by.luma_offset));
    return vaddq_s16(vaddq_s16(luma, vqrdmulhq_n_s16(luma, by.luma_gain)), vdupq_n_s16(32));
}

uint8x16_t packed(int16x8_t low, int16x8_t high) {
    return vcombine_u8(vqmovun_s16(vshrq_n_s16(low, 6)), vqmovun_s16(vshrq_n_s16(high, 6)));
}

uint8x16_t tinted(int16x8_t white_low, int16x8_t low, int16x8_t white_high, int16x8_t high) {
    return packed(vqaddq_s16(white_low, low), vqaddq_s16(white_high, high));
}

// Each step doubles the length of the pieces of columns that lie together.
void interleave_rows(const uint8x16_t* in, uint8x16_t* out) {
    for (std::size_t i = 0; i < 8; ++i) {
        out[i * 2] = vzip1q_u8(in[i], in[i + 8]);
        out[i * 2 + 1] = vzip2q_u8(in[i], in[i + 8]);
    }
}

struct Block {
    static constexpr std::size_t kPixels = 16;
    static constexpr std::size_t kSquare = 16;

    template <bool kHalved, typename Sample>
    static void rgb(const Sample* y, const Sample* u, const Sample* v, int shift,
                    const YuvCoefficients& by, std::uint8_t* to) {
        const Pair samples = load_samples(y, shift);
        const int16x8_t white = white_of(samples.low, by);
        const int16x8_t white_high = white_of(samples.high, by);
        Tint low;
        Tint high;
        if constexpr (kHalved) {
            const Tint tint = tint_of(load_halved(u, shift), load_halved(v, shift), by);
            low = {vzip1q_s16(tint.red, tint.red), vzip1q_s16(tint.green, tint.green),
                   vzip1q_s16(tint.blue, tint.blue)};
            high = {vzip2q_s16(tint.red, tint.red), vzip2q_s16(tint.green, tint.green),
                    vzip2q_s16(tint.blue, tint.blue)};
        } else {
            const Pair blue = load_samples(u, shift);
            const Pair red = load_samples(v, shift);
            low = tint_of(blue.low, red.low, by);
            high = tint_of(blue.high, red.high, by);
        }
        const uint8x16x3_t pixels = {{tinted(white, low.red, white_high, high.red),
                                      tinted(white, low.green, white_high, high.green),
                                      tinted(white, low.blue, white_high, high.blue)}};
        vst3q_u8(to, pixels);
    }

    template <typename Sample>
    static void gray(const Sample* y, int shift, const YuvCoefficients& by, std::uint8_t* to) {
        const Pair samples = load_samples(y, shift);
        vst1q_u8(to, packed(white_of(samples.low, by), white_of(samples.high, by)));
    }

    static void transpose(const std::uint8_t* from, std::size_t stride, std::uint8_t* to,
                          std::size_t to_stride) {
        uint8x16_t rows[kSquare];
        uint8x16_t mixed[kSquare];
        for (std::size_t y = 0; y < kSquare; ++y) {
            rows[y] = vld1q_u8(from + y * stride);
        }
        interleave_rows(rows, mixed);
        interleave_rows(mixed, rows);
        interleave_rows(rows, mixed);
        interleave_rows(mixed, rows);
        for (std::size_t x = 0; x < kSquare; ++x) {
            vst1q_u8(to + x * to_stride, rows[x]);
        }
    }
};

} // namespace

const YuvKernels& neon_yuv_kernels() { return yuv_kernels_of<Block>(); }

} // namespace framejudge
