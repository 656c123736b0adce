// Decodes, resizes, turns: in this order, so that each step has as little to do as it can.
#include "framejudge/decode_scaled.hpp"

#include "orient.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace framejudge {
namespace {

struct Sides {
    std::size_t width;
    std::size_t height;
};

Sides swapped_if(Sides sides, bool swap) { return swap ? Sides{sides.height, sides.width} : sides; }

Sides wanted_of(Sides full, const TargetSize& target) {
    if (target.width != 0 || target.height != 0) {
        return {target.width, target.height};
    }
    const std::size_t longest = std::max(full.width, full.height);
    if (target.max_side == 0 || longest <= target.max_side) {
        return full;
    }
    const auto scaled = [&](std::size_t side) {
        const double exact = static_cast<double>(side) * static_cast<double>(target.max_side) /
                             static_cast<double>(longest);
        return static_cast<std::size_t>(std::max(1.0, std::floor(exact + 0.5)));
    };
    return {scaled(full.width), scaled(full.height)};
}

} // namespace

Pixels decode_scaled(ByteView bytes, const DecodeOptions& options, const TargetSize& target,
                     DecodeReport& report) {
    if (target.width == 0 && target.height == 0 && target.max_side == 0) {
        return decode_image(bytes, options, report);
    }
    const ImageInfo info = probe_image(bytes, options.limits);
    const bool sideways = swaps_sides(info.orientation);
    const Sides stored = swapped_if({info.width, info.height}, sideways);
    const bool turn = options.orient && sideways;
    const Sides wanted = swapped_if(wanted_of(swapped_if(stored, turn), target), turn);
    DecodeOptions upright = options;
    upright.orient = false;
    upright.cover_width = wanted.width;
    upright.cover_height = wanted.height;
    const bool stays = wanted.width == stored.width && wanted.height == stored.height;
    const ResizeTask task{
        {0.0, 0.0, static_cast<double>(stored.width), static_cast<double>(stored.height)},
        wanted.width,
        wanted.height,
        target.filter};
    Pixels pixels = stays ? decode_image(bytes, upright, report)
                          : decode_resized(bytes, info, upright, task, report);
    return options.orient ? apply_orientation(std::move(pixels), info.orientation)
                          : std::move(pixels);
}

Pixels fit_pixels(const PixelView& view, const DecodeOptions& options, const TargetSize& target) {
    Pixels pixels = Pixels::uninitialized(view.width, view.height, view.channels);
    for (std::size_t y = 0; y < view.height; ++y) {
        std::memcpy(pixels.row(y), view.data + y * view.stride, pixels.stride());
    }
    pixels = to_mode(std::move(pixels), options.mode, options.background);
    const Sides wanted = wanted_of({view.width, view.height}, target);
    if (pixels.width() != wanted.width || pixels.height() != wanted.height) {
        pixels = resize(pixels.view(), wanted.width, wanted.height, target.filter);
    }
    return pixels;
}

} // namespace framejudge
