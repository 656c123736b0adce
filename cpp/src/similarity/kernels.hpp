// What an instruction tier provides: one table of function pointers.
#pragma once

#include "framejudge/cosine.hpp"
#include "framejudge/isa.hpp"

#include <cstddef>

namespace framejudge {

constexpr std::size_t kDtypeCount = 3;

// The three sums a cosine is made of.
struct Moments {
    double dot;
    double aa;
    double bb;
};

using MomentsFn = Moments (*)(const void* a, const void* b, std::size_t width);

// Interleaves `count` rows into a panel: panel[k * lanes + r] = row[r][k] * inverse_norms[r]; lanes
// beyond `count` are zero. Panel elements are Scalar.
using PackFn = void (*)(const void* rows, std::size_t count, std::size_t width,
                        const double* inverse_norms, void* panel);

// The most elements that a tier's tile may have.
constexpr std::size_t kMaxTile = 1024;

// What a tile fetches into the second cache while it computes: `step` bytes for each k.
struct Ahead {
    const std::byte* from;
    std::size_t step;
};

// c[i * stride + j] = clipped sum over k of a[k * mr + i] * b[k * nr + j], for the whole tile.
using TileFn = void (*)(const void* a, const void* b, std::size_t width, float* c,
                        std::size_t stride, Ahead ahead);

// Matrix product kernels for one accumulator type.
struct Gemm {
    std::size_t scalar_size; // of a panel's elements
    std::size_t mr;          // rows of a in a tile
    std::size_t nr;          // rows of b in a tile
    PackFn pack_a[kDtypeCount];
    PackFn pack_b[kDtypeCount];
    TileFn tile;
};

struct KernelTable {
    Isa isa;
    MomentsFn moments[2][kDtypeCount]; // by Accumulate, Dtype
    Gemm gemm[2];                      // by Accumulate
    // The first index in [begin, end) whose value is above the threshold, or end; NaN is not above.
    std::size_t (*find_above)(const float* values, std::size_t begin, std::size_t end,
                              float threshold);
};

// One per tier that may be compiled in.
const KernelTable& baseline_kernels();
const KernelTable& avx2_kernels();
const KernelTable& avx512_kernels();
const KernelTable& neon_kernels();

// The table of the tier in use.
const KernelTable& active_kernels();

constexpr std::size_t index_of(Dtype dtype) { return static_cast<std::size_t>(dtype); }
constexpr std::size_t index_of(Accumulate accumulate) {
    return static_cast<std::size_t>(accumulate);
}

} // namespace framejudge
