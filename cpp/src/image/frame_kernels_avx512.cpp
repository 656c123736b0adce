// AVX-512 tier of the frame path; see similarity/avx512.cpp.
#include "hash_kernels.hpp"
#include "resize_avx512.hpp"
#include "tensor_x86.hpp"

namespace framejudge {
namespace {

struct Bytes64 {
    using Vector = __m512i;
    static constexpr std::size_t kBytes = 64;

    static Vector zero() { return _mm512_setzero_si512(); }
    static Vector broadcast(std::int32_t value) { return _mm512_set1_epi32(value); }
    static Vector load(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
    static void store(std::uint8_t* to, Vector v) { _mm512_storeu_si512(to, v); }
    static Vector unpack_low8(Vector a, Vector b) { return _mm512_unpacklo_epi8(a, b); }
    static Vector unpack_high8(Vector a, Vector b) { return _mm512_unpackhi_epi8(a, b); }
    static Vector multiply_pairs(Vector a, Vector b) { return _mm512_madd_epi16(a, b); }
    static Vector add(Vector a, Vector b) { return _mm512_add_epi32(a, b); }
    template <int kBits> static Vector shift_left(Vector v) { return _mm512_slli_epi32(v, kBits); }
    template <int kBits> static Vector shift_right(Vector v) { return _mm512_srai_epi32(v, kBits); }
    static Vector pack32(Vector a, Vector b) { return _mm512_packs_epi32(a, b); }
    static Vector pack16(Vector a, Vector b) { return _mm512_packus_epi16(a, b); }
};

struct Numbers {
    static __m512 fma(__m128i bytes, __m512 scale, __m512 offset) {
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)), scale, offset);
    }
    static void store(float* to, __m512 v) { _mm512_storeu_ps(to, v); }
    static void store(std::uint16_t* to, __m512 v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(v, 0));
    }
    static void stream(float* to, __m512 v) { _mm512_stream_ps(to, v); }
    static void stream(std::uint16_t* to, __m512 v) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(v, 0));
    }
    template <typename Number>
    static void stream_16(Number* to, __m128i bytes, float scale, float offset) {
        stream(to, fma(bytes, _mm512_set1_ps(scale), _mm512_set1_ps(offset)));
    }
    template <typename Number>
    static void store_16(Number* to, __m128i bytes, float scale, float offset) {
        store(to, fma(bytes, _mm512_set1_ps(scale), _mm512_set1_ps(offset)));
    }
    template <typename Number>
    static void store_16(Number* to, __m128i bytes, const float* scales, const float* offsets) {
        store(to, fma(bytes, _mm512_loadu_ps(scales), _mm512_loadu_ps(offsets)));
    }
    template <typename Number>
    static void stream_16(Number* to, __m128i bytes, const float* scales, const float* offsets) {
        stream(to, fma(bytes, _mm512_loadu_ps(scales), _mm512_loadu_ps(offsets)));
    }
};

} // namespace

const FrameKernels& avx512_frame_kernels() {
    static constexpr FrameKernels kTable = {vertical<Bytes64>,
                                            horizontal<1>,
                                            horizontal_by_pairs<3>,
                                            horizontal_by_pairs<4>,
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
