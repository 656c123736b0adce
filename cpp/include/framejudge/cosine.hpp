// Cosine similarity of rows: pairwise, all against all, and the k best of many.
//
// NOTE [what a result is]
// Every result is clipped to [-1, 1]. A pair in which a row is all zeros or holds a NaN or an
// infinity has no cosine and gives NaN. Rows of any other magnitude give the right answer: where
// squares would leave float32's range, the row is worked on in float64. The same input gives the
// same bits within a tier whatever the number of threads, because every sum is made by one thread
// in one order; tiers differ by rounding only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace framejudge {

enum class Dtype : std::uint8_t { kFloat32, kFloat16, kBfloat16 };
enum class Accumulate : std::uint8_t { kFloat32, kFloat64 };

// C-contiguous rows that somebody else owns, aligned to their element.
struct Rows {
    const void* data;
    std::size_t count;
    std::size_t width;
    Dtype dtype;
};

// "float32" or "float64"; throws InvalidInput for anything else.
Accumulate parse_accumulate(std::string_view name);

// out[i] = cosine(a[i], b[i]); `out` holds a.count floats.
void cosine_paired(const Rows& a, const Rows& b, Accumulate accumulate, float* out);

// out[i * b.count + j] = cosine(a[i], b[j]).
void cosine_matrix(const Rows& a, const Rows& b, Accumulate accumulate, float* out);

// The k best rows of b for each row of a, best first, ties by lower index; both outputs hold
// a.count * k. A NaN is never ranked: places without a candidate hold NaN and index -1.
void cosine_top_k(const Rows& a, const Rows& b, std::size_t k, Accumulate accumulate, float* scores,
                  std::int64_t* indices);

} // namespace framejudge
