// Shapes, one pair's cosine, and the ranges in which float32 sums can be trusted.
#include "rows.hpp"

#include "framejudge/errors.hpp"

#include <cmath>
#include <limits>
#include <string>

namespace framejudge {
namespace {

// NOTE [range of float32 sums]
// A squared norm made by float32 sums is used only between these bounds. Below the upper one no
// partial sum overflows, and no dot product does either, being at most the geometric mean of the
// two. Above the lower one what underflow can lose, at most 2^-149 for each of fewer than 2^40
// elements, is less than 2^-29 of the sum, below float32's rounding. NaN and infinity are outside.
// Outside, the row is summed again in float64, where no float32 square can leave the range.
constexpr double kLowest = 0x1p-80;
constexpr double kHighest = 0x1p100;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool in_range(double squared_norm) { return squared_norm >= kLowest && squared_norm <= kHighest; }

std::string shape_of(const Rows& rows) {
    return "(" + std::to_string(rows.count) + ", " + std::to_string(rows.width) + ")";
}

std::string_view dtype_name(Dtype dtype) {
    switch (dtype) {
    case Dtype::kFloat32:
        return "float32";
    case Dtype::kFloat16:
        return "float16";
    case Dtype::kBfloat16:
        return "bfloat16 (uint16)";
    }
    return "unknown";
}

float clip(double cosine) {
    if (cosine > 1.0) {
        return 1.0F;
    }
    if (cosine < -1.0) {
        return -1.0F;
    }
    return static_cast<float>(cosine); // NaN stays NaN
}

} // namespace

std::size_t element_size(Dtype dtype) { return dtype == Dtype::kFloat32 ? 4 : 2; }

const void* row_at(const Rows& rows, std::size_t index) {
    return static_cast<const char*>(rows.data) + index * rows.width * element_size(rows.dtype);
}

Accumulate parse_accumulate(std::string_view name) {
    if (name == "float32") {
        return Accumulate::kFloat32;
    }
    if (name == "float64") {
        return Accumulate::kFloat64;
    }
    throw InvalidInput("accumulate must be 'float32' or 'float64', got '" + std::string(name) +
                       "'");
}

void require_comparable(const Rows& a, const Rows& b) {
    if (a.width != b.width) {
        throw InvalidInput("a and b must have the same width, got shapes " + shape_of(a) + " and " +
                           shape_of(b));
    }
    if (a.width == 0) {
        throw InvalidInput("vectors need at least one element, got shapes " + shape_of(a) +
                           " and " + shape_of(b));
    }
    if (a.dtype != b.dtype) {
        throw InvalidInput("a and b must have the same dtype, got " +
                           std::string(dtype_name(a.dtype)) + " and " +
                           std::string(dtype_name(b.dtype)));
    }
}

float cosine_of(const KernelTable& kernels, Accumulate accumulate, Dtype dtype, const void* a,
                const void* b, std::size_t width) {
    const auto sums = [&](Accumulate precision) {
        return kernels.moments[index_of(precision)][index_of(dtype)](a, b, width);
    };
    Moments m = sums(accumulate);
    if (!in_range(m.aa) || !in_range(m.bb)) {
        m = sums(Accumulate::kFloat64); // see NOTE [range of float32 sums]
        if (!(m.aa > 0.0) || !(m.bb > 0.0) || !std::isfinite(m.aa) || !std::isfinite(m.bb)) {
            return std::numeric_limits<float>::quiet_NaN();
        }
        return clip(m.dot / (std::sqrt(m.aa) * std::sqrt(m.bb)));
    }
    return clip(m.dot / std::sqrt(m.aa * m.bb));
}

double inverse_norm(const KernelTable& kernels, Accumulate accumulate, Dtype dtype, const void* row,
                    std::size_t width) {
    const auto sum = [&](Accumulate precision) {
        return kernels.moments[index_of(precision)][index_of(dtype)](row, row, width).aa;
    };
    double aa = sum(accumulate);
    if (!in_range(aa)) {
        aa = sum(Accumulate::kFloat64);
    }
    return aa > 0.0 && std::isfinite(aa) ? 1.0 / std::sqrt(aa) : kNan;
}

} // namespace framejudge
