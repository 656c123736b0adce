// NEON tier of the frame path: every 64-bit ARM.
#include "hash_kernels.hpp"
#include "resize_portable.hpp"
#include "tensor_table.hpp"

#include <arm_neon.h>
#include <cstring>

namespace framejudge {
namespace {

// The sums of eight samples, in two vectors; see NOTE [split weights].
struct Sums {
    int32x4_t high[2];
    int32x4_t low[2];
};

Sums no_sums() {
    const int32x4_t zero = vdupq_n_s32(0);
    const int32x4_t half = vdupq_n_s32(1 << (kWeightBits - 1));
    return {{zero, zero}, {half, half}};
}

void add(Sums& sums, uint8x8_t bytes, std::int16_t high, std::int16_t low) {
    const int16x8_t samples = vreinterpretq_s16_u16(vmovl_u8(bytes));
    sums.high[0] = vmlal_n_s16(sums.high[0], vget_low_s16(samples), high);
    sums.high[1] = vmlal_n_s16(sums.high[1], vget_high_s16(samples), high);
    sums.low[0] = vmlal_n_s16(sums.low[0], vget_low_s16(samples), low);
    sums.low[1] = vmlal_n_s16(sums.low[1], vget_high_s16(samples), low);
}

uint8x8_t finish(const Sums& sums) {
    int16x4_t halves[2];
    for (int i = 0; i < 2; ++i) {
        const int32x4_t both = vaddq_s32(vshlq_n_s32(sums.high[i], kLowBits), sums.low[i]);
        halves[i] = vqmovn_s32(vshrq_n_s32(both, kWeightBits));
    }
    return vqmovun_s16(vcombine_s16(halves[0], halves[1]));
}

void vertical(const std::uint8_t* rows, std::size_t stride, const Weights& weights,
              std::size_t index, std::size_t count, std::uint8_t* out) {
    if (count < 8) {
        portable_vertical(rows, stride, weights, index, count, out);
        return;
    }
    const std::int16_t* high = weights.high.data() + index * weights.stride;
    const std::int16_t* low = weights.low.data() + index * weights.stride;
    const auto make_block = [&](std::size_t i) {
        Sums sums = no_sums();
        for (std::size_t k = 0; k < weights.used[index]; ++k) {
            add(sums, vld1_u8(rows + k * stride + i), high[k], low[k]);
        }
        vst1_u8(out + i, finish(sums));
    };
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        make_block(i);
    }
    if (i < count) { // once more over some samples of the last block
        make_block(count - 8);
    }
}

// Two rows share a register: four bytes of each are read, of which three may be a pixel.
uint8x8_t load_two(const std::uint8_t* first, const std::uint8_t* second) {
    std::uint32_t words[2];
    std::memcpy(&words[0], first, 4);
    std::memcpy(&words[1], second, 4);
    return vreinterpret_u8_u32(vld1_u32(words));
}

template <std::size_t kChannels> void horizontal(const RowGroup& rows, const Weights& weights) {
    for (std::size_t x = 0; x < weights.count; ++x) {
        const std::int16_t* high = weights.high.data() + x * weights.stride;
        const std::int16_t* low = weights.low.data() + x * weights.stride;
        Sums sums[2] = {no_sums(), no_sums()};
        for (std::size_t k = 0; k < weights.used[x]; ++k) {
            const std::size_t at = (weights.first[x] + k) * kChannels;
            for (std::size_t pair = 0; pair < 2; ++pair) {
                add(sums[pair], load_two(rows.in[2 * pair] + at, rows.in[2 * pair + 1] + at),
                    high[k], low[k]);
            }
        }
        for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
            std::uint8_t pixels[8];
            vst1_u8(pixels, finish(sums[r / 2]));
            std::memcpy(rows.out[r] + x * kChannels, pixels + 4 * (r % 2), kChannels);
        }
    }
}

float32x4_t numbers_of(uint16x4_t samples) { return vcvtq_f32_u32(vmovl_u16(samples)); }

void store(float* to, float32x4_t v) { vst1q_f32(to, v); }
void store(std::uint16_t* to, float32x4_t v) {
    vst1_u16(to, vreinterpret_u16_f16(vcvt_f16_f32(v)));
}

template <typename Number>
void single(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    single_by_table<Number>(from, count, norm, static_cast<Number*>(to));
}

template <typename Number>
void planar(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to,
            std::size_t plane) {
    auto* out = static_cast<Number*>(to);
    std::size_t i = 0;
    for (; i + 8 <= count; i += 8) {
        const uint8x8x3_t pixels = vld3_u8(from + 3 * i);
        for (std::size_t channel = 0; channel < 3; ++channel) {
            const uint16x8_t samples = vmovl_u8(pixels.val[channel]);
            const float32x4_t scale = vdupq_n_f32(norm.scale[channel]);
            const float32x4_t offset = vdupq_n_f32(norm.offset[channel]);
            Number* at = out + channel * plane + i;
            store(at, vfmaq_f32(offset, numbers_of(vget_low_u16(samples)), scale));
            store(at + 4, vfmaq_f32(offset, numbers_of(vget_high_u16(samples)), scale));
        }
    }
    planar_by_table<Number>(from + 3 * i, count - i, norm, out + i, plane);
}

template <typename Number>
void interleaved(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    interleaved_by_table<Number>(from, count, norm, static_cast<Number*>(to));
}

} // namespace

const FrameKernels& neon_frame_kernels() {
    static constexpr FrameKernels kTable = {vertical,
                                            portable_horizontal<1>,
                                            horizontal<3>,
                                            horizontal<4>,
                                            luma_by_sample,
                                            single<float>,
                                            single<std::uint16_t>,
                                            planar<float>,
                                            planar<std::uint16_t>,
                                            interleaved<float>,
                                            interleaved<std::uint16_t>,
                                            distances,
                                            find_near,
                                            xxh3_stripes};
    return kTable;
}

} // namespace framejudge
