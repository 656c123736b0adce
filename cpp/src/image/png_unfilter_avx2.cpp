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

// NOTE [rows in step]
// A row's pixel waits for the one on its left, which leaves most of the machine idle. But the next
// row's pixels need no more than what lies above them, so four rows go in step, each one pixel
// behind the row above: a vector holds one pixel of each, and what is up for three of them is what
// came out one step before.
template <std::size_t kPixel> class RowsInStep {
public:
    explicit RowsInStep(const UnfilterBlock& block)
        : prior_(block.prior), pixels_(block.row_bytes / kPixel) {
        for (std::size_t k = 0; k < kRowsInStep; ++k) {
            const std::uint8_t* const filtered = block.filtered + k * (block.row_bytes + 1);
            source_[k] = filtered + 1;
            row_[k] = block.rows + k * block.stride;
            filter_[k] = *filtered;
        }
        for (std::size_t f = 0; f < kPngFilters; ++f) {
            const auto mask = [&](std::size_t k) { return filter_[k] == f ? -1LL : 0LL; };
            masks_[f] = _mm256_set_epi64x(mask(3), mask(2), mask(1), mask(0));
        }
    }

    void run() {
        std::size_t t = 0;
        for (; t < kRowsInStep - 1; ++t) {
            step_at_edge(t);
        }
        const bool is_all_paeth = filter_[0] == kPaeth && filter_[1] == kPaeth &&
                                  filter_[2] == kPaeth && filter_[3] == kPaeth;
        if (is_all_paeth) {
            for (; t < pixels_; ++t) {
                step<true>(t);
            }
        } else {
            for (; t < pixels_; ++t) {
                step<false>(t);
            }
        }
        for (; t < pixels_ + kRowsInStep - 1; ++t) {
            step_at_edge(t);
        }
    }

private:
    static int load(const std::uint8_t* from) { return static_cast<int>(load_pixel<kPixel>(from)); }

    // The row that these four lie under at pixel `t`, and above the others what just came out.
    [[nodiscard]] __m256i up(__m128i prior) const {
        const __m256i shifted = _mm256_permute4x64_epi64(left_, _MM_SHUFFLE(2, 1, 0, 0));
        return _mm256_blend_epi32(shifted, _mm256_castsi128_si256(_mm_cvtepu8_epi16(prior)), 3);
    }

    static __m256i paeth(__m256i a, __m256i b, __m256i c) {
        const __m256i lo = _mm256_min_epi16(a, b);
        const __m256i hi = _mm256_max_epi16(a, b);
        const __m256i three_c = _mm256_add_epi16(_mm256_add_epi16(c, c), c);
        const __m256i t = _mm256_sub_epi16(_mm256_sub_epi16(three_c, b), a);
        const __m256i low_or_c = _mm256_blendv_epi8(lo, c, _mm256_cmpgt_epi16(hi, t));
        return _mm256_blendv_epi8(hi, low_or_c, _mm256_cmpgt_epi16(t, lo));
    }

    template <bool kAllPaeth>
    [[nodiscard]] [[nodiscard]] [[nodiscard]] __m256i prediction(__m256i b) const {
        const __m256i nearest = paeth(left_, b, up_left_);
        if constexpr (kAllPaeth) {
            return nearest;
        }
        const __m256i average = _mm256_srli_epi16(_mm256_add_epi16(left_, b), 1);
        const __m256i one = _mm256_or_si256(_mm256_and_si256(nearest, masks_[kPaeth]),
                                            _mm256_and_si256(average, masks_[kAverage]));
        const __m256i other = _mm256_or_si256(_mm256_and_si256(left_, masks_[kSub]),
                                              _mm256_and_si256(b, masks_[kUp]));
        return _mm256_or_si256(one, other);
    }

    template <bool kAllPaeth> void advance(__m128i pixels, __m128i prior) {
        const __m256i b = up(prior);
        const __m256i sum =
            _mm256_add_epi16(_mm256_cvtepu8_epi16(pixels), prediction<kAllPaeth>(b));
        left_ = _mm256_and_si256(sum, _mm256_set1_epi16(0xFF));
        up_left_ = b;
    }

    void store(std::size_t k, std::size_t pixel) const {
        const __m256i packed = _mm256_packus_epi16(left_, left_);
        const __m128i half =
            k < 2 ? _mm256_castsi256_si128(packed) : _mm256_extracti128_si256(packed, 1);
        const auto two = static_cast<std::uint64_t>(_mm_cvtsi128_si64(half));
        store_pixel<kPixel>(row_[k] + pixel * kPixel, k % 2 == 0 ? two : two >> 32U);
    }

    template <bool kAllPaeth> void step(std::size_t t) {
        const __m128i pixels =
            _mm_set_epi32(load(source_[3] + (t - 3) * kPixel), load(source_[2] + (t - 2) * kPixel),
                          load(source_[1] + (t - 1) * kPixel), load(source_[0] + t * kPixel));
        advance<kAllPaeth>(pixels, _mm_cvtsi32_si128(load(prior_ + t * kPixel)));
        store(0, t);
        store(1, t - 1);
        store(2, t - 2);
        store(3, t - 3);
    }

    // Where some rows have not begun, or are done: those stay zero, and nothing of theirs is
    // touched.
    void step_at_edge(std::size_t t) {
        int pixels[kRowsInStep] = {};
        long long active[kRowsInStep] = {};
        for (std::size_t k = 0; k < kRowsInStep; ++k) {
            if (t >= k && t - k < pixels_) {
                pixels[k] = load(source_[k] + (t - k) * kPixel);
                active[k] = -1;
            }
        }
        const int prior = t < pixels_ ? load(prior_ + t * kPixel) : 0;
        advance<false>(_mm_set_epi32(pixels[3], pixels[2], pixels[1], pixels[0]),
                       _mm_cvtsi32_si128(prior));
        left_ =
            _mm256_and_si256(left_, _mm256_set_epi64x(active[3], active[2], active[1], active[0]));
        for (std::size_t k = 0; k < kRowsInStep; ++k) {
            if (active[k] != 0) {
                store(k, t - k);
            }
        }
    }

    const std::uint8_t* prior_;
    std::size_t pixels_;
    const std::uint8_t* source_[kRowsInStep];
    std::uint8_t* row_[kRowsInStep];
    std::uint8_t filter_[kRowsInStep];
    __m256i masks_[kPngFilters];
    __m256i left_ = _mm256_setzero_si256(); // four 16-bit lanes for each row
    __m256i up_left_ = _mm256_setzero_si256();
};

template <std::size_t kPixel> void run_in_step(const UnfilterBlock& block) {
    RowsInStep<kPixel>(block).run();
}

constexpr UnfilterTable make_avx2_table() {
    UnfilterTable table = make_table<Lanes>();
    table.block[3] = run_in_step<3>;
    table.block[4] = run_in_step<4>;
    return table;
}

constexpr UnfilterTable kTable = make_avx2_table();

} // namespace

const UnfilterTable& unfilter_avx2() { return kTable; }

} // namespace framejudge
