// Random rows in every dtype, and their cosines in float64 by the textbook formula.
#pragma once

#include "framejudge/cosine.hpp"
#include "framejudge/isa.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace framejudge::test {

constexpr Dtype kDtypes[] = {Dtype::kFloat32, Dtype::kFloat16, Dtype::kBfloat16};
constexpr Accumulate kAccumulates[] = {Accumulate::kFloat32, Accumulate::kFloat64};

// The value of a binary16 number, from the definition of the format.
inline double half_value(std::uint16_t bits) {
    const int exponent = bits / 1024 % 32;
    const int fraction = bits % 1024;
    const double sign = bits >= 0x8000 ? -1.0 : 1.0;
    if (exponent == 0x1f) {
        return fraction == 0 ? sign * INFINITY : NAN;
    }
    return exponent == 0 ? sign * std::ldexp(fraction, -24)
                         : sign * std::ldexp(1024 + fraction, exponent - 25);
}

inline double bfloat16_value(std::uint16_t bits) {
    const auto wide = static_cast<std::uint32_t>(bits) << 16U;
    float value = 0.0F;
    std::memcpy(&value, &wide, sizeof(value));
    return value;
}

// Rows with both the bytes that the kernels read and the values that these stand for.
class TestRows {
public:
    // `misalign` elements are left free before the first, so that rows start off a cache line.
    TestRows(std::size_t count, std::size_t width, Dtype dtype, unsigned seed,
             std::size_t misalign = 0)
        : count_(count), width_(width), dtype_(dtype), misalign_(misalign),
          floats_(misalign + count * width + 1), bits_(misalign + count * width + 1),
          values_(count * width) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        for (std::size_t i = 0; i < values_.size(); ++i) {
            set(i, normal(random));
        }
    }

    // Sets an element to the nearest number toward zero that the dtype has.
    void set(std::size_t i, float value) {
        std::uint32_t word = 0;
        std::memcpy(&word, &value, sizeof(word));
        if (dtype_ == Dtype::kFloat32) {
            floats_[misalign_ + i] = value;
            values_[i] = static_cast<double>(value);
        } else if (dtype_ == Dtype::kBfloat16) {
            set_bits(i, static_cast<std::uint16_t>(word >> 16U));
        } else if (std::isfinite(value) && std::fabs(value) >= 0x1p-14F) {
            const std::uint32_t exponent = ((word >> 23U) & 0xffU) - 112U;
            set_bits(i, static_cast<std::uint16_t>((word >> 16U & 0x8000U) | exponent << 10U |
                                                   (word >> 13U & 0x3ffU)));
        } else {
            set_bits(i, static_cast<std::uint16_t>((word >> 16U & 0x8000U) |
                                                   (std::isnan(value)   ? 0x7e00U
                                                    : std::isinf(value) ? 0x7c00U
                                                                        : 0U)));
        }
    }

    void set_bits(std::size_t i, std::uint16_t bits) {
        bits_[misalign_ + i] = bits;
        values_[i] = dtype_ == Dtype::kFloat16 ? half_value(bits) : bfloat16_value(bits);
    }

    void fill_row(std::size_t row, float value) {
        for (std::size_t k = 0; k < width_; ++k) {
            set(row * width_ + k, value);
        }
    }

    [[nodiscard]] Rows rows() const {
        const void* data = dtype_ == Dtype::kFloat32
                               ? static_cast<const void*>(floats_.data() + misalign_)
                               : static_cast<const void*>(bits_.data() + misalign_);
        return {data, count_, width_, dtype_};
    }

    [[nodiscard]] const double* row(std::size_t index) const {
        return values_.data() + index * width_;
    }
    [[nodiscard]] std::size_t width() const { return width_; }

private:
    std::size_t count_;
    std::size_t width_;
    Dtype dtype_;
    std::size_t misalign_;
    std::vector<float> floats_;
    std::vector<std::uint16_t> bits_;
    std::vector<double> values_;
};

inline double reference_cosine(const TestRows& a, std::size_t i, const TestRows& b, std::size_t j) {
    double dot = 0.0;
    double aa = 0.0;
    double bb = 0.0;
    for (std::size_t k = 0; k < a.width(); ++k) {
        const double x = a.row(i)[k];
        const double y = b.row(j)[k];
        dot += x * y;
        aa += x * x;
        bb += y * y;
    }
    return dot / (std::sqrt(aa) * std::sqrt(bb));
}

// NOTE [tolerance]
// A float32 sum of n products in one chain is off by at most n * u of the sum of magnitudes, with
// u = 2^-24, and the sum of magnitudes of a cosine is at most 1 by Cauchy-Schwarz; products that
// are rounded before they are added cost u more, and so do the two norms, half each. The longest
// chain is the whole width in matrix and top_k (which also round both normalised elements), and
// less in paired. In float64 only the result's rounding to float32 is left.
inline double tolerance(Accumulate accumulate, std::size_t width) {
    constexpr double kUnit = 0x1p-24;
    return accumulate == Accumulate::kFloat64 ? 1.01 * kUnit
                                              : (2.0 * static_cast<double>(width) + 8.0) * kUnit;
}

// Runs `check` once in every tier of this machine, then goes back to the tier that was in use.
template <typename Check> void in_every_tier(Check check) {
    const Isa before = active_isa();
    for (const Isa isa : supported_isas()) {
        set_isa(isa_name(isa));
        check(std::string(isa_name(isa)));
    }
    set_isa(isa_name(before));
}

} // namespace framejudge::test
