// The four filters, sampled and rounded.
#include "resize_weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace framejudge {
namespace {

constexpr double kPi = 3.14159265358979323846;

double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double triangle(double x) { return std::max(0.0, 1.0 - std::fabs(x)); }

// Keys' cubic convolution with a = -1/2.
double cubic(double x) {
    constexpr double kA = -0.5;
    const double t = std::fabs(x);
    if (t < 1.0) {
        return ((kA + 2.0) * t - (kA + 3.0)) * t * t + 1.0;
    }
    return t < 2.0 ? (((t - 5.0) * t + 8.0) * t - 4.0) * kA : 0.0;
}

double sinc(double x) { return x == 0.0 ? 1.0 : std::sin(x * kPi) / (x * kPi); }

double lanczos3(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

struct Shape {
    double (*value)(double);
    double support;
};

Shape shape_of(Filter filter) {
    switch (filter) {
    case Filter::kArea:
        return {box, 0.5};
    case Filter::kBilinear:
        return {triangle, 1.0};
    case Filter::kBicubic:
        return {cubic, 2.0};
    case Filter::kLanczos:
        break;
    }
    return {lanczos3, 3.0};
}

// Makes a window of one add up to exactly one, but only where its rounding could be seen: half a
// level of a picture of 255s.
void correct_sum(std::vector<std::int32_t>& window) {
    std::int64_t excess = -(std::int64_t{1} << kWeightBits);
    for (const std::int32_t weight : window) {
        excess += weight;
    }
    if (std::llabs(excess) * 255 < std::int64_t{1} << (kWeightBits - 1)) {
        return;
    }
    const std::int32_t step = excess > 0 ? -1 : 1;
    for (std::size_t i = 0; excess != 0; i = (i + 1) % window.size()) {
        window[i] += step;
        excess += step;
    }
}

std::vector<std::int32_t> quantize(const std::vector<double>& values) {
    double sum = 0.0;
    for (const double value : values) {
        sum += value;
    }
    std::vector<std::int32_t> window;
    for (const double value : values) {
        const double scaled = value / sum * static_cast<double>(1 << kWeightBits);
        window.push_back(static_cast<std::int32_t>(scaled + (scaled < 0.0 ? -0.5 : 0.5)));
    }
    correct_sum(window);
    return window;
}

} // namespace

Weights make_weights(std::size_t size, double begin, double end, std::size_t count, Filter filter,
                     std::size_t multiple) {
    const Shape shape = shape_of(filter);
    const double scale = (end - begin) / static_cast<double>(count);
    const double stretch = std::max(scale, 1.0);
    const double shrink = 1.0 / stretch;
    const double support = shape.support * stretch;
    const auto longest = std::min(size, static_cast<std::size_t>(std::ceil(support)) * 2 + 1);
    Weights weights;
    weights.count = count;
    weights.stride = (longest + multiple - 1) / multiple * multiple;
    weights.high.resize(count * weights.stride);
    weights.low.resize(count * weights.stride);
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) {
        const double center = begin + (static_cast<double>(i) + 0.5) * scale;
        const auto first = static_cast<std::size_t>(std::max(0.0, center - support + 0.5));
        const auto last =
            std::min(size, static_cast<std::size_t>(std::floor(center + support + 0.5)));
        values.clear();
        for (std::size_t k = first; k < last; ++k) {
            values.push_back(shape.value((static_cast<double>(k) - center + 0.5) * shrink));
        }
        const std::vector<std::int32_t> window = quantize(values);
        weights.first.push_back(static_cast<std::uint32_t>(first));
        weights.used.push_back(static_cast<std::uint32_t>(window.size()));
        for (std::size_t k = 0; k < window.size(); ++k) {
            // An arithmetic shift, as every compiler of this project does.
            weights.high[i * weights.stride + k] = static_cast<std::int16_t>(window[k] >> kLowBits);
            weights.low[i * weights.stride + k] =
                static_cast<std::int16_t>(window[k] & ((1 << kLowBits) - 1));
        }
    }
    return weights;
}

} // namespace framejudge
