// Normalising; see NOTE [normalise].
#include "framejudge/tensor.hpp"

#include "frame_kernels.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

namespace framejudge {
namespace {

// The nearest float16, ties to even.
std::uint16_t half_bits(float value) {
    std::uint32_t word = 0;
    std::memcpy(&word, &value, sizeof(word));
    const std::uint32_t sign = word >> 16U & 0x8000U;
    const std::uint32_t magnitude = word & 0x7fffffffU;
    std::uint32_t bits = 0;
    if (magnitude >= 0x47800000U) { // from 2^16, and what is not finite
        bits = magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U;
    } else if (magnitude < 0x38800000U) { // below 2^-14: a multiple of 2^-24
        bits = static_cast<std::uint32_t>(std::nearbyint(std::fabs(value) * 0x1p24F));
    } else {
        const std::uint32_t rebased = magnitude - 0x38000000U;
        bits = (rebased + 0xfffU + (rebased >> 13U & 1U)) >> 13U;
    }
    return static_cast<std::uint16_t>(sign | bits);
}

// Beyond the second cache of any current machine.
constexpr std::size_t kStreamedFrom = std::size_t{8} << 20U;

// Enough pixels for a task of its own.
constexpr std::size_t kPixelsPerTask = std::size_t{1} << 17U;

void check_alike(const std::vector<PixelView>& sources) {
    const auto text = [](const PixelView& view) {
        return "(" + std::to_string(view.height) + ", " + std::to_string(view.width) + ", " +
               std::to_string(view.channels) + ")";
    };
    for (const PixelView& view : sources) {
        if (view.channels != 1 && view.channels != 3) {
            throw InvalidInput("pictures must have 1 or 3 channels, got shape " + text(view));
        }
        const PixelView& first = sources.front();
        if (view.width != first.width || view.height != first.height ||
            view.channels != first.channels) {
            throw InvalidInput("pictures must have the same shape, got " + text(first) + " and " +
                               text(view));
        }
    }
}

} // namespace

std::size_t number_size(NumberType type) { return type == NumberType::kFloat32 ? 4 : 2; }

NumberType parse_number_type(std::string_view name) {
    if (name == "float32") {
        return NumberType::kFloat32;
    }
    if (name == "float16") {
        return NumberType::kFloat16;
    }
    throw InvalidInput("dtype must be float32 or float16, got '" + std::string(name) + "'");
}

Layout parse_layout(std::string_view name) {
    if (name == "NCHW") {
        return Layout::kPlanar;
    }
    if (name == "NHWC") {
        return Layout::kInterleaved;
    }
    throw InvalidInput("layout must be NCHW or NHWC, got '" + std::string(name) + "'");
}

struct Normalizer::Constants {
    Normalization norm;
    float floats[3][256];
    std::uint16_t halves[3][256];
};

Normalizer::Normalizer(const MeanStd& mean_std, NumberType type, std::size_t output_size)
    : constants_(std::make_unique<Constants>()), type_(type) {
    Constants& constants = *constants_;
    constants.norm.streams = output_size >= kStreamedFrom;
    for (std::size_t channel = 0; channel < 3; ++channel) {
        const double mean = mean_std.mean[channel];
        const double deviation = mean_std.std[channel];
        if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0.0) {
            throw InvalidInput("mean must be finite and std positive, got " + std::to_string(mean) +
                               " and " + std::to_string(deviation));
        }
        const auto scale = static_cast<float>(1.0 / (255.0 * deviation));
        const auto offset = static_cast<float>(-mean / deviation);
        constants.norm.scale[channel] = scale;
        constants.norm.offset[channel] = offset;
        for (std::size_t sample = 0; sample < 256; ++sample) {
            const float number = std::fma(static_cast<float>(sample), scale, offset);
            constants.floats[channel][sample] = number;
            constants.halves[channel][sample] = half_bits(number);
        }
    }
    constants.norm.table = type == NumberType::kFloat32
                               ? static_cast<const void*>(constants.floats)
                               : static_cast<const void*>(constants.halves);
}

Normalizer::~Normalizer() = default;

void Normalizer::apply(const PixelView& source, std::size_t first, std::size_t last, Layout layout,
                       void* tensor) const {
    const FrameKernels& kernels = active_frame_kernels();
    const bool is_float = type_ == NumberType::kFloat32;
    const std::size_t plane = source.width * source.height;
    const std::size_t row_size = source.width * source.channels;
    const auto run = [&](const std::uint8_t* from, std::size_t pixel, std::size_t count) {
        const bool is_planar = source.channels == 1 || layout == Layout::kPlanar;
        const std::size_t element = is_planar ? pixel : 3 * pixel;
        auto* to = static_cast<std::uint8_t*>(tensor) + element * number_size(type_);
        if (source.channels == 1) {
            (is_float ? kernels.single_float : kernels.single_half)(from, count, constants_->norm,
                                                                    to);
        } else if (is_planar) {
            (is_float ? kernels.planar_float : kernels.planar_half)(from, count, constants_->norm,
                                                                    to, plane);
        } else {
            (is_float ? kernels.interleaved_float : kernels.interleaved_half)(from, count,
                                                                              constants_->norm, to);
        }
    };
    if (source.stride == row_size) {
        run(source.data + first * row_size, first * source.width, (last - first) * source.width);
        return;
    }
    for (std::size_t y = first; y < last; ++y) {
        run(source.data + y * source.stride, y * source.width, source.width);
    }
}

void to_tensor(const std::vector<PixelView>& sources, const MeanStd& mean_std, NumberType type,
               Layout layout, void* out) {
    check_alike(sources);
    if (sources.empty() || sources.front().width == 0 || sources.front().height == 0) {
        return;
    }
    const PixelView& first = sources.front();
    const std::size_t tensor_size = first.width * first.height * first.channels * number_size(type);
    const Normalizer normalizer(mean_std, type, sources.size() * tensor_size);
    const std::size_t rows_per_task = std::max<std::size_t>(1, kPixelsPerTask / first.width);
    const std::size_t tasks_per_picture = (first.height + rows_per_task - 1) / rows_per_task;
    parallel_for(sources.size() * tasks_per_picture, [&](std::size_t task, std::size_t) {
        const std::size_t picture = task / tasks_per_picture;
        const std::size_t begin = task % tasks_per_picture * rows_per_task;
        normalizer.apply(sources[picture], begin, std::min(first.height, begin + rows_per_task),
                         layout, static_cast<std::uint8_t*>(out) + picture * tensor_size);
    });
}

} // namespace framejudge
