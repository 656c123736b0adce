// What the drivers share: checked shapes, one pair's cosine, a row's scale.
#pragma once

#include "framejudge/cosine.hpp"
#include "kernels.hpp"

namespace framejudge {

std::size_t element_size(Dtype dtype);

// The address of a row.
const void* row_at(const Rows& rows, std::size_t index);

// Throws InvalidInput unless both have the same, non-zero width and dtype.
void require_comparable(const Rows& a, const Rows& b);

// The cosine of two rows, see NOTE [what a result is].
float cosine_of(const KernelTable& kernels, Accumulate accumulate, Dtype dtype, const void* a,
                const void* b, std::size_t width);

// 1 / norm, or NaN for a row without direction.
double inverse_norm(const KernelTable& kernels, Accumulate accumulate, Dtype dtype, const void* row,
                    std::size_t width);

} // namespace framejudge
