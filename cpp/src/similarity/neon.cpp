// NEON tier: every 64-bit ARM.
#include "kernel_template.hpp"

#include <arm_neon.h>

namespace framejudge {
namespace {

// The first kCount elements as float32; the rest is zero.
template <std::size_t kCount> float32x4_t widen(const Half* from) {
    std::uint16_t bits[4] = {};
    std::memcpy(bits, from, kCount * sizeof(Half));
    return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(bits)));
}

template <std::size_t kCount> float32x4_t widen(const Bfloat16* from) {
    std::uint16_t bits[4] = {};
    std::memcpy(bits, from, kCount * sizeof(Bfloat16));
    return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(bits), 16));
}

void transpose_neon(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
    const float32x4x2_t low = vtrnq_f32(vld1q_f32(from), vld1q_f32(from + from_stride));
    const float32x4x2_t high =
        vtrnq_f32(vld1q_f32(from + 2 * from_stride), vld1q_f32(from + 3 * from_stride));
    for (std::size_t i = 0; i < 2; ++i) {
        const float32x4_t first = vcombine_f32(vget_low_f32(low.val[i]), vget_low_f32(high.val[i]));
        const float32x4_t second =
            vcombine_f32(vget_high_f32(low.val[i]), vget_high_f32(high.val[i]));
        vst1q_f32(to + i * to_stride, first);
        vst1q_f32(to + (i + 2) * to_stride, second);
    }
}

struct LanesF {
    using Scalar = float;
    using Vector = float32x4_t;
    static constexpr std::size_t kWidth = 4;

    static Vector zero() { return vdupq_n_f32(0.0F); }
    static Vector broadcast(float value) { return vdupq_n_f32(value); }
    static Vector load(const float* from) { return vld1q_f32(from); }
    template <typename T> static Vector load(const T* from) { return widen<kWidth>(from); }
    static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f32(c, a, b); }
    static float sum(Vector v) { return vaddvq_f32(v); }
    static void store_clipped(float* to, Vector v) {
        // Both keep NaN on this architecture.
        vst1q_f32(to, vmaxq_f32(vminq_f32(v, vdupq_n_f32(1.0F)), vdupq_n_f32(-1.0F)));
    }
    static void transpose(const float* from, std::size_t from_stride, float* to,
                          std::size_t to_stride) {
        transpose_neon(from, from_stride, to, to_stride);
    }
};

struct LanesD {
    using Scalar = double;
    using Vector = float64x2_t;
    static constexpr std::size_t kWidth = 2;

    static Vector zero() { return vdupq_n_f64(0.0); }
    static Vector broadcast(double value) { return vdupq_n_f64(value); }
    static Vector load(const double* from) { return vld1q_f64(from); }
    static Vector load(const float* from) { return vcvt_f64_f32(vld1_f32(from)); }
    template <typename T> static Vector load(const T* from) {
        return vcvt_f64_f32(vget_low_f32(widen<kWidth>(from)));
    }
    static Vector fma(Vector a, Vector b, Vector c) { return vfmaq_f64(c, a, b); }
    static double sum(Vector v) { return vaddvq_f64(v); }
    static void store_clipped(float* to, Vector v) {
        const Vector clipped = vmaxq_f64(vminq_f64(v, vdupq_n_f64(1.0)), vdupq_n_f64(-1.0));
        vst1_f32(to, vcvt_f32_f64(clipped));
    }
    static void transpose(const double* from, std::size_t from_stride, double* to,
                          std::size_t to_stride) {
        transpose_4x4(from, from_stride, to, to_stride);
    }
};

std::size_t find_above(const float* values, std::size_t begin, std::size_t end, float threshold) {
    const float32x4_t bar = vdupq_n_f32(threshold);
    std::size_t i = begin;
    for (; i + LanesF::kWidth <= end; i += LanesF::kWidth) {
        if (vmaxvq_u32(vcgtq_f32(vld1q_f32(values + i), bar)) != 0) {
            break;
        }
    }
    while (i < end && !(values[i] > threshold)) {
        ++i;
    }
    return i;
}

} // namespace

const KernelTable& neon_kernels() {
    static constexpr KernelTable kTable = {
        Isa::kNeon,
        {{moments<LanesF, float>, moments<LanesF, Half>, moments<LanesF, Bfloat16>},
         {moments<LanesD, float>, moments<LanesD, Half>, moments<LanesD, Bfloat16>}},
        {make_gemm<LanesF, 8, 2>(), make_gemm<LanesD, 8, 2>()},
        find_above};
    return kTable;
}

} // namespace framejudge
