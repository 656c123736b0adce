// What every fuzz target of a decoder does with its input.
#pragma once

#include "framejudge/decode_scaled.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/image.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace framejudge::fuzz {

// Small, so that a run finds many ways rather than one that takes long.
inline DecodeLimits limits() {
    DecodeLimits limits;
    limits.max_pixels = std::size_t{1} << 16;
    limits.time_budget_s = 1.0;
    return limits;
}

// Every sample is read, so that memory that was never written is seen by the sanitizers that can.
inline void read_all(const Pixels& pixels) {
    volatile std::uint8_t sum = 0;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        sum = static_cast<std::uint8_t>(sum + pixels.data()[i]);
    }
}

// Either an ImageError, or a picture that agrees with what its report and its header say.
inline void decode_once(ByteView bytes, PixelMode mode, bool partial) {
    DecodeOptions options;
    options.mode = mode;
    options.partial = partial;
    options.limits = limits();
    DecodeReport report;
    try {
        const Pixels pixels = decode_image(bytes, options, report);
        const ImageInfo info = probe_image(bytes, options.limits);
        const bool agrees = pixels.width() == info.width && pixels.height() == info.height &&
                            pixels.channels() == static_cast<std::size_t>(mode);
        const bool is_flagged = report.damaged == !report.damage.empty();
        if (!agrees || !is_flagged || (report.damaged && !partial)) {
            std::abort();
        }
        read_all(pixels);
    } catch (const ImageError&) { // the only way to refuse
    }
}

// The same at another size, where rows may be resized as they are decoded.
inline void decode_resized_once(ByteView bytes, std::size_t width, std::size_t height) {
    DecodeOptions options;
    options.limits = limits();
    DecodeReport report;
    try {
        const Pixels pixels =
            decode_scaled(bytes, options, {width, height, 0, Filter::kBilinear}, report);
        if (pixels.width() != width || pixels.height() != height || report.damaged) {
            std::abort();
        }
        read_all(pixels);
    } catch (const ImageError&) {
    }
}

// The input, if it is of the format: whole in one mode, in part in all, and at two sizes.
inline void decode_all(ByteView bytes, ImageFormat format) {
    if (sniff_format(bytes) != format) {
        return;
    }
    for (const PixelMode mode : {PixelMode::kGray, PixelMode::kRgb, PixelMode::kRgba}) {
        decode_once(bytes, mode, true);
    }
    decode_once(bytes, PixelMode::kRgba, false);
    decode_resized_once(bytes, 24, 9);
    decode_resized_once(bytes, 150, 130);
}

} // namespace framejudge::fuzz
