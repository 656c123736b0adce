// AVX2 tier: Intel from Haswell (2013), AMD from Excavator (2015); needs FMA and F16C as well.
#include "kernel_template.hpp"
#include "transpose_sse.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

__m128i load_16_bytes(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}

struct LanesF {
    using Scalar = float;
    using Vector = __m256;
    static constexpr std::size_t kWidth = 8;

    static Vector zero() { return _mm256_setzero_ps(); }
    static Vector broadcast(float value) { return _mm256_set1_ps(value); }
    static Vector load(const float* from) { return _mm256_loadu_ps(from); }
    static Vector load(const Half* from) { return _mm256_cvtph_ps(load_16_bytes(from)); }
    static Vector load(const Bfloat16* from) {
        const __m256i wide = _mm256_cvtepu16_epi32(load_16_bytes(from));
        return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
    static float sum(Vector v) {
        const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
    }
    static void store_clipped(float* to, Vector v) {
        // min and max return their second operand where one is NaN.
        const Vector below = _mm256_min_ps(_mm256_set1_ps(1.0F), v);
        _mm256_storeu_ps(to, _mm256_max_ps(_mm256_set1_ps(-1.0F), below));
    }
    static void transpose(const float* from, std::size_t from_stride, float* to,
                          std::size_t to_stride) {
        transpose_sse(from, from_stride, to, to_stride);
    }
};

struct LanesD {
    using Scalar = double;
    using Vector = __m256d;
    static constexpr std::size_t kWidth = 4;

    static Vector zero() { return _mm256_setzero_pd(); }
    static Vector broadcast(double value) { return _mm256_set1_pd(value); }
    static Vector load(const double* from) { return _mm256_loadu_pd(from); }
    static Vector load(const float* from) { return _mm256_cvtps_pd(_mm_loadu_ps(from)); }
    static Vector load(const Half* from) {
        return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64(as_64_bits(from))));
    }
    static Vector load(const Bfloat16* from) {
        const __m128i wide = _mm_cvtepu16_epi32(_mm_loadl_epi64(as_64_bits(from)));
        return _mm256_cvtps_pd(_mm_castsi128_ps(_mm_slli_epi32(wide, 16)));
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
    static double sum(Vector v) {
        const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
        return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
    }
    static void store_clipped(float* to, Vector v) {
        const Vector below = _mm256_min_pd(_mm256_set1_pd(1.0), v);
        _mm_storeu_ps(to, _mm256_cvtpd_ps(_mm256_max_pd(_mm256_set1_pd(-1.0), below)));
    }
    static void transpose(const double* from, std::size_t from_stride, double* to,
                          std::size_t to_stride) {
        transpose_4x4(from, from_stride, to, to_stride);
    }

private:
    static const __m128i* as_64_bits(const void* from) { return static_cast<const __m128i*>(from); }
};

std::size_t find_above(const float* values, std::size_t begin, std::size_t end, float threshold) {
    const __m256 bar = _mm256_set1_ps(threshold);
    std::size_t i = begin;
    for (; i + LanesF::kWidth <= end; i += LanesF::kWidth) {
        const __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(values + i), bar, _CMP_GT_OQ);
        const int mask = _mm256_movemask_ps(above);
        if (mask != 0) {
            return i + static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
        }
    }
    while (i < end && !(values[i] > threshold)) {
        ++i;
    }
    return i;
}

} // namespace

const KernelTable& avx2_kernels() {
    static constexpr KernelTable kTable = {
        Isa::kAvx2,
        {{moments<LanesF, float>, moments<LanesF, Half>, moments<LanesF, Bfloat16>},
         {moments<LanesD, float>, moments<LanesD, Half>, moments<LanesD, Bfloat16>}},
        {make_gemm<LanesF, 6, 2>(), make_gemm<LanesD, 6, 2>()},
        find_above};
    return kTable;
}

} // namespace framejudge
