// The loops of every tier, over the tier's own vector type.
//
// NOTE [one definition per tier]
// A tier's file is compiled with its own instructions. Were a function template with linkage
// instantiated there, the linker could keep that copy for every tier and run it on a machine that
// lacks them. So all of this is in an unnamed namespace, includes no library template, and is
// included by the tier's file alone.
//
// A Lanes type gives: Vector, Scalar (float or double), kWidth, zero(), broadcast(Scalar),
// load(const T*) for Scalar, float, Half and Bfloat16, fma(a, b, c) = a * b + c, sum(Vector),
// store_clipped(float*, Vector), and transpose() as transpose_4x4() below.
#pragma once

#include "half.hpp"
#include "kernels.hpp"

#include <cstring>

namespace framejudge {
namespace { // NOLINT(misc-anonymous-namespace-in-header): see NOTE [one definition per tier]

// Sums are carried over to float64 after this many elements, which bounds the error of float32
// accumulation whatever the width.
constexpr std::size_t kBlock = 4096;

// Independent accumulators, to hide the latency of multiply-add.
constexpr std::size_t kChains = 4;

template <typename Lanes, typename T>
typename Lanes::Vector load_partial(const T* from, std::size_t count) {
    T padded[Lanes::kWidth] = {};
    std::memcpy(padded, from, count * sizeof(T));
    return Lanes::load(padded);
}

template <typename Lanes> struct MomentSums {
    using Vector = typename Lanes::Vector;
    Vector dot = Lanes::zero();
    Vector aa = Lanes::zero();
    Vector bb = Lanes::zero();

    void add(Vector x, Vector y) {
        dot = Lanes::fma(x, y, dot);
        aa = Lanes::fma(x, x, aa);
        bb = Lanes::fma(y, y, bb);
    }
};

template <typename Lanes, typename T>
Moments block_moments(const T* a, const T* b, std::size_t width) {
    MomentSums<Lanes> sums[kChains];
    std::size_t i = 0;
    for (; i + kChains * Lanes::kWidth <= width; i += kChains * Lanes::kWidth) {
#pragma GCC unroll 4
        for (std::size_t c = 0; c < kChains; ++c) {
            const std::size_t at = i + c * Lanes::kWidth;
            sums[c].add(Lanes::load(a + at), Lanes::load(b + at));
        }
    }
    for (; i + Lanes::kWidth <= width; i += Lanes::kWidth) {
        sums[0].add(Lanes::load(a + i), Lanes::load(b + i));
    }
    if (i < width) {
        sums[1].add(load_partial<Lanes>(a + i, width - i), load_partial<Lanes>(b + i, width - i));
    }
    const auto total = [](auto x0, auto x1, auto x2, auto x3) {
        return static_cast<double>(Lanes::sum((x0 + x1) + (x2 + x3)));
    };
    return {total(sums[0].dot, sums[1].dot, sums[2].dot, sums[3].dot),
            total(sums[0].aa, sums[1].aa, sums[2].aa, sums[3].aa),
            total(sums[0].bb, sums[1].bb, sums[2].bb, sums[3].bb)};
}

template <typename Lanes, typename T>
Moments moments(const void* a, const void* b, std::size_t width) {
    const T* x = static_cast<const T*>(a);
    const T* y = static_cast<const T*>(b);
    Moments sum = {0.0, 0.0, 0.0};
    for (std::size_t begin = 0; begin < width; begin += kBlock) {
        const std::size_t count = width - begin < kBlock ? width - begin : kBlock;
        const Moments part = block_moments<Lanes>(x + begin, y + begin, count);
        sum.dot += part.dot;
        sum.aa += part.aa;
        sum.bb += part.bb;
    }
    return sum;
}

// NOTE [scale in two steps]
// The inverse norm of a row of tiny or huge numbers leaves float32's range although the scaled row
// does not. So a power of two is split off, and each factor fits.
template <typename Scalar> struct Scale {
    Scalar power;
    Scalar rest;

    void set(double scale) {
        const double split = scale > 0x1p40 ? 0x1p64 : (scale < 0x1p-40 ? 0x1p-64 : 1.0);
        power = static_cast<Scalar>(split);
        rest = static_cast<Scalar>(scale / split);
    }
};

// Scales the first `count` of kRun elements into a buffer; what follows them is unspecified.
template <typename Lanes, std::size_t kRun, typename T>
void scale_run(const T* from, std::size_t count, const Scale<typename Lanes::Scalar>& scale,
               typename Lanes::Scalar* to) {
    const auto power = Lanes::broadcast(scale.power);
    const auto rest = Lanes::broadcast(scale.rest);
    for (std::size_t k = 0; k < kRun && k < count; k += Lanes::kWidth) {
        const std::size_t left = count - k;
        const auto values =
            left >= Lanes::kWidth ? Lanes::load(from + k) : load_partial<Lanes>(from + k, left);
        const auto scaled = values * power * rest;
        std::memcpy(to + k, &scaled, sizeof(scaled));
    }
}

// to[i * to_stride + r] = from[r * from_stride + i] for 4 rows of 4; the portable way.
template <typename Scalar>
void transpose_4x4(const Scalar* from, std::size_t from_stride, Scalar* to, std::size_t to_stride) {
    for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t i = 0; i < 4; ++i) {
            to[i * to_stride + r] = from[r * from_stride + i];
        }
    }
}

// to[i * kLanes + r] = from[r * stride + i] for `count` elements of kLanes rows.
template <typename Lanes, std::size_t kLanes>
void interleave(const typename Lanes::Scalar* from, std::size_t stride, std::size_t count,
                typename Lanes::Scalar* to) {
    std::size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (std::size_t r = 0; r < kLanes; r += 4) {
            const std::size_t row = r + 4 <= kLanes ? r : kLanes - 4; // the last may overlap
            Lanes::transpose(from + row * stride + i, stride, to + i * kLanes + row, kLanes);
        }
    }
    for (; i < count; ++i) {
        for (std::size_t r = 0; r < kLanes; ++r) {
            to[i * kLanes + r] = from[r * stride + i];
        }
    }
}

template <typename Lanes, typename T, std::size_t kLanes>
void pack(const void* rows, std::size_t count, std::size_t width, const double* inverse_norms,
          void* panel) {
    using Scalar = typename Lanes::Scalar;
    constexpr std::size_t kRun = 32; // a run of kRun x kLanes elements stays in the first cache
    const T* from = static_cast<const T*>(rows);
    auto* to = static_cast<Scalar*>(panel);
    Scale<Scalar> scales[kLanes];
    for (std::size_t r = 0; r < count; ++r) {
        scales[r].set(inverse_norms[r]);
    }
    Scalar runs[kLanes][kRun] = {};
    for (std::size_t k = 0; k < width; k += kRun) {
        const std::size_t run = width - k < kRun ? width - k : kRun;
        for (std::size_t r = 0; r < count; ++r) {
            scale_run<Lanes, kRun>(from + r * width + k, run, scales[r], runs[r]);
        }
        interleave<Lanes, kLanes>(runs[0], kRun, run, to + k * kLanes);
    }
}

// Adds the products of `count` columns of two panels to the tile's totals, and moves on.
template <typename Lanes, std::size_t kRows, std::size_t kVectors>
void add_span(const typename Lanes::Scalar*& a, const typename Lanes::Scalar*& b, std::size_t count,
              Ahead& ahead, typename Lanes::Vector (&totals)[kRows][kVectors]) {
    using Vector = typename Lanes::Vector;
    Vector sums[kRows][kVectors];
    for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kVectors; ++j) {
            sums[i][j] = Lanes::zero();
        }
    }
    for (std::size_t k = 0; k < count; ++k) {
        Vector row[kVectors];
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVectors; ++j) {
            row[j] = Lanes::load(b + j * Lanes::kWidth);
        }
#pragma GCC unroll 16
        for (std::size_t i = 0; i < kRows; ++i) {
            const Vector value = Lanes::broadcast(a[i]);
#pragma GCC unroll 4
            for (std::size_t j = 0; j < kVectors; ++j) {
                sums[i][j] = Lanes::fma(value, row[j], sums[i][j]);
            }
        }
        __builtin_prefetch(ahead.from, 0, 2);
        ahead.from += ahead.step;
        a += kRows;
        b += kVectors * Lanes::kWidth;
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVectors; ++j) {
            totals[i][j] = totals[i][j] + sums[i][j];
        }
    }
}

template <typename Lanes, std::size_t kRows, std::size_t kVectors>
void tile(const void* a, const void* b, std::size_t width, float* c, std::size_t stride,
          Ahead ahead) {
    // The sum of a row with its like only grows, and so does what each addition rounds away; short
    // chains keep it small.
    constexpr std::size_t kSpan = 192;
    const auto* x = static_cast<const typename Lanes::Scalar*>(a);
    const auto* y = static_cast<const typename Lanes::Scalar*>(b);
    typename Lanes::Vector totals[kRows][kVectors];
    for (std::size_t i = 0; i < kRows; ++i) {
        for (std::size_t j = 0; j < kVectors; ++j) {
            totals[i][j] = Lanes::zero();
        }
    }
    for (std::size_t k = 0; k < width; k += kSpan) {
        const std::size_t count = width - k < kSpan ? width - k : kSpan;
        add_span<Lanes>(x, y, count, ahead, totals);
    }
#pragma GCC unroll 16
    for (std::size_t i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (std::size_t j = 0; j < kVectors; ++j) {
            Lanes::store_clipped(c + i * stride + j * Lanes::kWidth, totals[i][j]);
        }
    }
}

template <typename Lanes, std::size_t kRows, std::size_t kVectors> constexpr Gemm make_gemm() {
    constexpr std::size_t kColumns = kVectors * Lanes::kWidth;
    static_assert(kRows * kColumns <= kMaxTile);
    return {sizeof(typename Lanes::Scalar),
            kRows,
            kColumns,
            {pack<Lanes, float, kRows>, pack<Lanes, Half, kRows>, pack<Lanes, Bfloat16, kRows>},
            {pack<Lanes, float, kColumns>, pack<Lanes, Half, kColumns>,
             pack<Lanes, Bfloat16, kColumns>},
            tile<Lanes, kRows, kVectors>};
}

} // namespace
} // namespace framejudge
