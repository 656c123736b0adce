// AVX2 tier of the frame path; see similarity/avx2.cpp.
#include "hash_kernels.hpp"
#include "resize_x86.hpp"
#include "tensor_x86.hpp"

namespace framejudge {
namespace {

struct Bytes32 {
    using Vector = __m256i;
    static constexpr std::size_t kBytes = 32;

    static Vector zero() { return _mm256_setzero_si256(); }
    static Vector broadcast(std::int32_t value) { return _mm256_set1_epi32(value); }
    static Vector load(const std::uint8_t* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }
    static void store(std::uint8_t* to, Vector v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v);
    }
    static Vector unpack_low8(Vector a, Vector b) { return _mm256_unpacklo_epi8(a, b); }
    static Vector unpack_high8(Vector a, Vector b) { return _mm256_unpackhi_epi8(a, b); }
    static Vector multiply_pairs(Vector a, Vector b) { return _mm256_madd_epi16(a, b); }
    static Vector add(Vector a, Vector b) { return _mm256_add_epi32(a, b); }
    template <int kBits> static Vector shift_left(Vector v) { return _mm256_slli_epi32(v, kBits); }
    template <int kBits> static Vector shift_right(Vector v) { return _mm256_srai_epi32(v, kBits); }
    static Vector pack32(Vector a, Vector b) { return _mm256_packs_epi32(a, b); }
    static Vector pack16(Vector a, Vector b) { return _mm256_packus_epi16(a, b); }
};

struct Numbers {
    static __m256 fma(__m128i bytes, __m256 scale, __m256 offset) {
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), scale, offset);
    }
    static void store_8(float* to, __m256 v) { _mm256_storeu_ps(to, v); }
    static void store_8(std::uint16_t* to, __m256 v) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(v, 0));
    }
    static void stream_8(float* to, __m256 v) { _mm256_stream_ps(to, v); }
    static void stream_8(std::uint16_t* to, __m256 v) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(v, 0));
    }
    template <typename Number>
    static void stream_16(Number* to, __m128i bytes, float scale, float offset) {
        const __m256 a = _mm256_set1_ps(scale);
        const __m256 b = _mm256_set1_ps(offset);
        stream_8(to, fma(bytes, a, b));
        stream_8(to + 8, fma(_mm_srli_si128(bytes, 8), a, b));
    }
    template <typename Number>
    static void store_16(Number* to, __m128i bytes, float scale, float offset) {
        const __m256 a = _mm256_set1_ps(scale);
        const __m256 b = _mm256_set1_ps(offset);
        store_8(to, fma(bytes, a, b));
        store_8(to + 8, fma(_mm_srli_si128(bytes, 8), a, b));
    }
    template <typename Number>
    static void store_16(Number* to, __m128i bytes, const float* scales, const float* offsets) {
        store_8(to, fma(bytes, _mm256_loadu_ps(scales), _mm256_loadu_ps(offsets)));
        store_8(to + 8, fma(_mm_srli_si128(bytes, 8), _mm256_loadu_ps(scales + 8),
                            _mm256_loadu_ps(offsets + 8)));
    }
    template <typename Number>
    static void stream_16(Number* to, __m128i bytes, const float* scales, const float* offsets) {
        stream_8(to, fma(bytes, _mm256_loadu_ps(scales), _mm256_loadu_ps(offsets)));
        stream_8(to + 8, fma(_mm_srli_si128(bytes, 8), _mm256_loadu_ps(scales + 8),
                             _mm256_loadu_ps(offsets + 8)));
    }
};

} // namespace

const FrameKernels& avx2_frame_kernels() {
    static constexpr FrameKernels kTable = {vertical<Bytes32>,
                                            horizontal<1>,
                                            horizontal<3>,
                                            horizontal<4>,
                                            luma,
                                            single<Numbers, float>,
                                            single<Numbers, std::uint16_t>,
                                            planar<Numbers, float>,
                                            planar<Numbers, std::uint16_t>,
                                            interleaved<Numbers, float>,
                                            interleaved<Numbers, std::uint16_t>,
                                            distances,
                                            find_near,
                                            xxh3_stripes};
    return kTable;
}

} // namespace framejudge
