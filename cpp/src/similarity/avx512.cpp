// AVX-512 tier (F, BW, VL): Intel servers from Skylake (2017), AMD from Zen 4 (2022).
#include "kernel_template.hpp"
#include "transpose_sse.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

__m128i load_16_bytes(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

__m256i load_32_bytes(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

struct LanesF {
    using Scalar = float;
    using Vector = __m512;
    static constexpr std::size_t kWidth = 16;

    static Vector zero() { return _mm512_setzero_ps(); }
    static Vector broadcast(float value) { return _mm512_set1_ps(value); }
    static Vector load(const float* from) { return _mm512_loadu_ps(from); }
    static Vector load(const Half* from) { return _mm512_cvtph_ps(load_32_bytes(from)); }
    static Vector load(const Bfloat16* from) {
        const __m512i wide = _mm512_cvtepu16_epi32(load_32_bytes(from));
        return _mm512_castsi512_ps(_mm512_slli_epi32(wide, 16));
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
    static float sum(Vector v) { return _mm512_reduce_add_ps(v); }
    static void store_clipped(float* to, Vector v) {
        // min and max return their second operand where one is NaN.
        const Vector below = _mm512_min_ps(_mm512_set1_ps(1.0F), v);
        _mm512_storeu_ps(to, _mm512_max_ps(_mm512_set1_ps(-1.0F), below));
    }
    static void transpose(const float* from, std::size_t from_stride, float* to,
                          std::size_t to_stride) {
        transpose_sse(from, from_stride, to, to_stride);
    }
};

struct LanesD {
    using Scalar = double;
    using Vector = __m512d;
    static constexpr std::size_t kWidth = 8;

    static Vector zero() { return _mm512_setzero_pd(); }
    static Vector broadcast(double value) { return _mm512_set1_pd(value); }
    static Vector load(const double* from) { return _mm512_loadu_pd(from); }
    static Vector load(const float* from) { return _mm512_cvtps_pd(_mm256_loadu_ps(from)); }
    static Vector load(const Half* from) {
        return _mm512_cvtps_pd(_mm256_cvtph_ps(load_16_bytes(from)));
    }
    static Vector load(const Bfloat16* from) {
        const __m256i wide = _mm256_cvtepu16_epi32(load_16_bytes(from));
        return _mm512_cvtps_pd(_mm256_castsi256_ps(_mm256_slli_epi32(wide, 16)));
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
    static double sum(Vector v) { return _mm512_reduce_add_pd(v); }
    static void store_clipped(float* to, Vector v) {
        const Vector below = _mm512_min_pd(_mm512_set1_pd(1.0), v);
        _mm256_storeu_ps(to, _mm512_cvtpd_ps(_mm512_max_pd(_mm512_set1_pd(-1.0), below)));
    }
    static void transpose(const double* from, std::size_t from_stride, double* to,
                          std::size_t to_stride) {
        transpose_4x4(from, from_stride, to, to_stride);
    }
};

std::size_t find_above(const float* values, std::size_t begin, std::size_t end, float threshold) {
    const __m512 bar = _mm512_set1_ps(threshold);
    std::size_t i = begin;
    for (; i + LanesF::kWidth <= end; i += LanesF::kWidth) {
        const __mmask16 above = _mm512_cmp_ps_mask(_mm512_loadu_ps(values + i), bar, _CMP_GT_OQ);
        if (above != 0) {
            return i + static_cast<std::size_t>(__builtin_ctz(above));
        }
    }
    while (i < end && !(values[i] > threshold)) {
        ++i;
    }
    return i;
}

} // namespace

const KernelTable& avx512_kernels() {
    static constexpr KernelTable kTable = {
        Isa::kAvx512,
        {{moments<LanesF, float>, moments<LanesF, Half>, moments<LanesF, Bfloat16>},
         {moments<LanesD, float>, moments<LanesD, Half>, moments<LanesD, Bfloat16>}},
        {make_gemm<LanesF, 14, 2>(), make_gemm<LanesD, 14, 2>()},
        find_above};
    return kTable;
}

} // namespace framejudge
