// The baseline tier of the unfilter: SSE2 where there is x86, plain bytes elsewhere.
#include "png_unfilter_template.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace framejudge {
namespace {

#if defined(__SSE2__)

struct Lanes {
    using Vector = __m128i; // eight bytes in the low half
    using Wide = __m128i;   // eight 16-bit lanes
    static constexpr std::size_t kBlock = 16;

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

    static Wide wide_from_bits(std::uint64_t bits) {
        return _mm_unpacklo_epi8(from_bits(bits), _mm_setzero_si128());
    }
    static std::uint64_t wide_to_bits(Wide v) { return to_bits(_mm_packus_epi16(v, v)); }
    static Wide add_low_bytes(Wide a, Wide b) {
        return _mm_and_si128(_mm_add_epi16(a, b), _mm_set1_epi16(0xFF));
    }
    static Wide paeth(Wide a, Wide b, Wide c) {
        const Wide lo = _mm_min_epi16(a, b);
        const Wide hi = _mm_max_epi16(a, b);
        const Wide three_c_minus_b = _mm_sub_epi16(_mm_add_epi16(_mm_add_epi16(c, c), c), b);
        const Wide t = _mm_sub_epi16(three_c_minus_b, a);
        const Wide low_or_c = select(_mm_cmpgt_epi16(hi, t), c, lo);
        return select(_mm_cmpgt_epi16(t, lo), low_or_c, hi);
    }
    static void add_block(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b) {
        const __m128i sum = _mm_add_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(a)),
                                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), sum);
    }

private:
    static Wide select(Wide mask, Wide yes, Wide no) {
        return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
    }
};

constexpr UnfilterTable kTable = make_table<Lanes>();

#else

void up_bytes(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
              std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
        row[i] = static_cast<std::uint8_t>(source[i] + prior[i]);
    }
}

template <std::size_t kPixel> constexpr void set_bytes(UnfilterTable& table) {
    table.sub[kPixel] = sub_bytes<kPixel>;
    table.average[kPixel] = average_bytes<kPixel>;
    table.paeth[kPixel] = paeth_bytes<kPixel>;
}

constexpr UnfilterTable make_plain_table() {
    UnfilterTable table{};
    table.up = up_bytes;
    set_bytes<1>(table);
    set_bytes<2>(table);
    set_bytes<3>(table);
    set_bytes<4>(table);
    set_bytes<6>(table);
    set_bytes<8>(table);
    return table;
}

constexpr UnfilterTable kTable = make_plain_table();

#endif

} // namespace

const UnfilterTable& unfilter_baseline() { return kTable; }

} // namespace framejudge
