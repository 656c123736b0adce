// Transposition with SSE, which every x86-64 has; see NOTE [one definition per tier].
#pragma once

#include <cstddef>
#include <immintrin.h>

namespace framejudge {
namespace {

// As transpose_4x4() of kernel_template.hpp.
void transpose_sse(const float* from, std::size_t from_stride, float* to, std::size_t to_stride) {
    __m128 row0 = _mm_loadu_ps(from);
    __m128 row1 = _mm_loadu_ps(from + from_stride);
    __m128 row2 = _mm_loadu_ps(from + 2 * from_stride);
    __m128 row3 = _mm_loadu_ps(from + 3 * from_stride);
    _MM_TRANSPOSE4_PS(row0, row1, row2, row3);
    _mm_storeu_ps(to, row0);
    _mm_storeu_ps(to + to_stride, row1);
    _mm_storeu_ps(to + 2 * to_stride, row2);
    _mm_storeu_ps(to + 3 * to_stride, row3);
}

} // namespace
} // namespace framejudge
