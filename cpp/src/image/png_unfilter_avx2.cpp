// The AVX2 tier of the unfilter.
#include "png_unfilter_template.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

struct Lanes {
    using Vector = __m128i; // eight bytes in the low half
    using Wide = __m128i;   // eight 16-bit lanes
    static constexpr std::size_t kBlock = 32;

    static Vector from_bits(std::uint64_t bits) {
        return _mm_cvtsi64_si128(static_cast<long long>(bits));
    }
    static std::uint64_t to_bits(Vector v) {
        return static_cast<std::uint64_t>(_mm_cvtsi128_si64(v));
    }
    static Vector add(Vector a, Vector b) { return _mm_add_epi8(a, b); }
    static Vector average(Vector a, Vector b) { // rounded down
        const Vector odd = _mm_and_si128(_mm_xor_si128(a, b), _mm_set1_epi8(1));
        return _mm_sub_epi8(_mm_avg_epu8(a, b), odd);
    }

    static Wide wide_from_bits(std::uint64_t bits) { return _mm_cvtepu8_epi16(from_bits(bits)); }
    static std::uint64_t wide_to_bits(Wide v) { return to_bits(_mm_packus_epi16(v, v)); }
    static Wide add_low_bytes(Wide a, Wide b) {
        return _mm_and_si128(_mm_add_epi16(a, b), _mm_set1_epi16(0xFF));
    }
    static Wide paeth(Wide a, Wide b, Wide c) {
        const Wide lo = _mm_min_epi16(a, b);
        const Wide hi = _mm_max_epi16(a, b);
        const Wide three_c_minus_b = _mm_sub_epi16(_mm_add_epi16(_mm_add_epi16(c, c), c), b);
        const Wide t = _mm_sub_epi16(three_c_minus_b, a);
        const Wide low_or_c = _mm_blendv_epi8(lo, c, _mm_cmpgt_epi16(hi, t));
        return _mm_blendv_epi8(hi, low_or_c, _mm_cmpgt_epi16(t, lo));
    }
    static void add_block(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b) {
        const __m256i sum =
            _mm256_add_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a)),
                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b)));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), sum);
    }
};

constexpr UnfilterTable kTable = make_table<Lanes>();

} // namespace

const UnfilterTable& unfilter_avx2() { return kTable; }

} // namespace framejudge
