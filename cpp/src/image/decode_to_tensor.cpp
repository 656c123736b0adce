// Encoded pictures to tensors: decoded small, resized, normalised into place.
#include "framejudge/tensor.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "orient.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

namespace framejudge {
namespace {

struct Sides {
    double width;
    double height;
};

// Which part of a picture is kept, centred, and how long it becomes.
struct Plan {
    Sides kept;
    std::size_t width;
    std::size_t height;
};

std::size_t rounded(double side, std::size_t longest) {
    return std::clamp<std::size_t>(static_cast<std::size_t>(std::lround(side)), 1, longest);
}

Plan plan_for(Sides full, const TensorOptions& options, std::size_t width, std::size_t height) {
    const double across = static_cast<double>(width) / full.width;
    const double down = static_cast<double>(height) / full.height;
    switch (options.fit) {
    case Fit::kStretch:
        break;
    case Fit::kCrop: {
        const double scale = std::max(across, down);
        return {{std::min(full.width, static_cast<double>(width) / scale),
                 std::min(full.height, static_cast<double>(height) / scale)},
                width,
                height};
    }
    case Fit::kPad: {
        const double scale = std::min(across, down);
        return {full, rounded(full.width * scale, width), rounded(full.height * scale, height)};
    }
    }
    return {full, width, height};
}

ResizeTask task_for(const Plan& plan, Sides full, Filter filter) {
    const double left = (full.width - plan.kept.width) / 2;
    const double top = (full.height - plan.kept.height) / 2;
    return {{left, top, std::min(full.width, left + plan.kept.width),
             std::min(full.height, top + plan.kept.height)},
            plan.width,
            plan.height,
            filter};
}

Pixels decode(const TensorSource& source, const TensorOptions& options, DecodeReport& report) {
    DecodeOptions decoding = options.decode;
    decoding.mode = PixelMode::kRgb;
    const ImageInfo info = probe_image(source.bytes, decoding.limits);
    const bool is_turned = swaps_sides(info.orientation);
    const Sides upright{static_cast<double>(info.width), static_cast<double>(info.height)};
    const Sides stored = is_turned ? Sides{upright.height, upright.width} : upright;
    const bool turns = options.decode.orient && is_turned;
    const Plan plan = plan_for(stored, options, turns ? options.height : options.width,
                               turns ? options.width : options.height);
    const auto cover = [](double full, double kept, std::size_t side) {
        return static_cast<std::size_t>(std::ceil(full / kept * static_cast<double>(side)));
    };
    decoding.cover_width = cover(stored.width, plan.kept.width, plan.width);
    decoding.cover_height = cover(stored.height, plan.kept.height, plan.height);
    Pixels resized = decode_resized(source.bytes, info, decoding,
                                    task_for(plan, stored, options.filter), report);
    return options.decode.orient ? apply_orientation(std::move(resized), info.orientation)
                                 : std::move(resized);
}

Pixels shrink(const PixelView& pixels, const TensorOptions& options, DecodeReport& report) {
    if (pixels.width == 0 || pixels.height == 0) {
        throw InvalidInput("a picture of " + std::to_string(pixels.width) + " x " +
                           std::to_string(pixels.height) + " pixels can't be resized");
    }
    report.info.width = pixels.width;
    report.info.height = pixels.height;
    report.info.channels = static_cast<int>(pixels.channels);
    report.rows_read = pixels.height;
    const Sides full{static_cast<double>(pixels.width), static_cast<double>(pixels.height)};
    const Plan plan = plan_for(full, options, options.width, options.height);
    const Box box = task_for(plan, full, options.filter).box;
    Pixels resized = resize(pixels, box, plan.width, plan.height, options.filter);
    return to_mode(std::move(resized), PixelMode::kRgb, options.decode.background);
}

// The picture in the middle of one of the whole size.
Pixels pad(Pixels pixels, const TensorOptions& options) {
    if (pixels.width() == options.width && pixels.height() == options.height) {
        return pixels;
    }
    Pixels padded = Pixels::uninitialized(options.width, options.height, 3);
    for (std::size_t i = 0; i < padded.size(); i += 3) {
        std::memcpy(padded.data() + i, options.pad_color.data(), 3);
    }
    const std::size_t left = (options.width - pixels.width()) / 2;
    const std::size_t top = (options.height - pixels.height()) / 2;
    for (std::size_t y = 0; y < pixels.height(); ++y) {
        std::memcpy(padded.row(top + y) + 3 * left, pixels.row(y), pixels.stride());
    }
    return padded;
}

void fill_with_nan(void* out, std::size_t count, NumberType type) {
    if (type == NumberType::kFloat32) {
        std::fill_n(static_cast<float*>(out), count, std::nanf(""));
    } else {
        std::fill_n(static_cast<std::uint16_t*>(out), count, std::uint16_t{0x7e00});
    }
}

} // namespace

Fit parse_fit(std::string_view name) {
    if (name == "stretch") {
        return Fit::kStretch;
    }
    if (name == "crop") {
        return Fit::kCrop;
    }
    if (name == "pad") {
        return Fit::kPad;
    }
    throw InvalidInput("fit must be stretch, crop or pad, got '" + std::string(name) + "'");
}

std::vector<TensorResult> decode_to_tensor(const std::vector<TensorSource>& sources,
                                           const TensorOptions& options, std::size_t workers,
                                           void* out) {
    const std::size_t count = 3 * options.width * options.height;
    const std::size_t tensor_size = count * number_size(options.type);
    const Normalizer normalizer(options.mean_std, options.type, sources.size() * tensor_size);
    std::vector<TensorResult> results(sources.size());
    parallel_for(
        sources.size(),
        [&](std::size_t i, std::size_t) {
            void* tensor = static_cast<std::uint8_t*>(out) + i * tensor_size;
            TensorResult& result = results[i];
            try {
                const TensorSource& source = sources[i];
                Pixels pixels = source.bytes.data == nullptr
                                    ? shrink(source.pixels, options, result.report)
                                    : decode(source, options, result.report);
                const Pixels whole = pad(std::move(pixels), options);
                normalizer.apply(whole.view(), 0, options.height, Layout::kPlanar, tensor);
            } catch (...) {
                result.error = std::current_exception();
                fill_with_nan(tensor, count, options.type);
            }
        },
        workers);
    return results;
}

} // namespace framejudge
