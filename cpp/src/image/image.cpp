// Finds the codec that knows the bytes, and makes pictures upright.
#include "framejudge/image.hpp"

#include "codecs.hpp"
#include "orient.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace framejudge {
namespace {

constexpr Codec kCodecs[] = {
    {ImageFormat::kJpeg, sniff_jpeg, probe_jpeg, decode_jpeg},
    {ImageFormat::kPng, sniff_png, probe_png, decode_png},
    {ImageFormat::kWebp, sniff_webp, probe_webp, decode_webp},
    {ImageFormat::kPnm, sniff_pnm, probe_pnm, decode_pnm},
    {ImageFormat::kBmp, sniff_bmp, probe_bmp, decode_bmp},
};

const Codec* codec_of(ByteView bytes) {
    for (const Codec& codec : kCodecs) {
        if (codec.sniff(bytes)) {
            return &codec;
        }
    }
    return nullptr;
}

bool starts_with(ByteView bytes, std::string_view text) {
    return bytes.size >= text.size() &&
           std::string_view(reinterpret_cast<const char*>(bytes.data), text.size()) == text;
}

// What bytes of no known kind are, as far as that helps.
std::string seen_in(ByteView bytes) {
    if (bytes.size == 0) {
        return "no bytes";
    }
    if (starts_with(bytes, "version https://git-lfs")) {
        return "a Git LFS pointer: fetch the file itself with `git lfs pull`";
    }
    for (const std::string_view text : {"<!DOCTYPE", "<!doctype", "<html", "<HTML"}) {
        if (starts_with(bytes, text)) {
            return "an HTML page";
        }
    }
    std::string hex;
    for (std::size_t i = 0; i < bytes.size && i < 12; ++i) {
        char text[4];
        std::snprintf(text, sizeof text, "%s%02x", i == 0 ? "" : " ", bytes.data[i]);
        hex += text;
    }
    return std::to_string(bytes.size) + " bytes that start with " + hex;
}

const Codec& checked_codec(ByteView bytes, const DecodeLimits& limits) {
    if (bytes.size > limits.max_bytes) {
        throw ImageLimitError("the picture has " + std::to_string(bytes.size) +
                              " bytes; the limit is " + std::to_string(limits.max_bytes));
    }
    const Codec* codec = codec_of(bytes);
    if (codec == nullptr) {
        throw ImageUnsupportedError("expected JPEG, PNG, WebP, PNM or BMP, got " + seen_in(bytes));
    }
    return *codec;
}

ImageInfo upright(ImageInfo info) {
    if (swaps_sides(info.orientation)) {
        std::swap(info.width, info.height);
    }
    return info;
}

} // namespace

std::string_view format_name(ImageFormat format) {
    switch (format) {
    case ImageFormat::kJpeg:
        return "jpeg";
    case ImageFormat::kPng:
        return "png";
    case ImageFormat::kWebp:
        return "webp";
    case ImageFormat::kPnm:
        return "pnm";
    case ImageFormat::kBmp:
        return "bmp";
    case ImageFormat::kUnknown:
        break;
    }
    return "unknown";
}

ImageFormat sniff_format(ByteView bytes) {
    const Codec* codec = codec_of(bytes);
    return codec == nullptr ? ImageFormat::kUnknown : codec->format;
}

void check_limits(std::size_t width, std::size_t height, const DecodeLimits& limits) {
    const std::string claim = std::to_string(width) + " x " + std::to_string(height) + " pixels";
    if (width == 0 || height == 0) {
        throw ImageDamagedError("the header claims " + claim);
    }
    std::size_t pixels = 0;
    if (__builtin_mul_overflow(width, height, &pixels) || pixels > limits.max_pixels) {
        throw ImageLimitError("the header claims " + claim + "; the limit is " +
                              std::to_string(limits.max_pixels));
    }
}

Deadline::Deadline(double seconds)
    : end_(std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::chrono::duration<double>(seconds))) {}

bool Deadline::passed() const { return std::chrono::steady_clock::now() > end_; }

void Deadline::check(const char* format) const {
    if (passed()) {
        throw ImageLimitError(std::string(format) + ": the time budget is used up");
    }
}

ImageInfo probe_image(ByteView bytes, const DecodeLimits& limits) {
    return upright(checked_codec(bytes, limits).probe(bytes, limits));
}

Pixels decode_image(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    report = DecodeReport{};
    Pixels pixels = checked_codec(bytes, options.limits).decode(bytes, options, report);
    pixels = to_mode(std::move(pixels), options.mode, options.background);
    if (options.orient) {
        pixels = apply_orientation(std::move(pixels), report.info.orientation);
    }
    report.info = upright(report.info);
    return pixels;
}

Pixels decode_flat(ByteView bytes, const ImageInfo& info, const DecodeOptions& options,
                   DecodeReport& report) {
    if (!info.has_alpha || options.mode == PixelMode::kRgba) {
        return decode_image(bytes, options, report);
    }
    DecodeOptions with_alpha = options;
    with_alpha.mode = PixelMode::kRgba;
    return to_mode(decode_image(bytes, with_alpha, report), options.mode, options.background);
}

Box scaled_box(const Box& box, double denominator, std::size_t width, std::size_t height) {
    const auto range = [&](double begin, double end, std::size_t size) {
        const double last = std::min(end / denominator, static_cast<double>(size));
        return std::pair{std::max(0.0, std::min(begin / denominator, last - 1e-3)), last};
    };
    const auto [left, right] = range(box.left, box.right, width);
    const auto [top, bottom] = range(box.top, box.bottom, height);
    return {left, top, right, bottom};
}

Pixels decode_resized(ByteView bytes, const ImageInfo& info, const DecodeOptions& options,
                      const ResizeTask& task, DecodeReport& report) {
    DecodeOptions decoding = options;
    decoding.orient = false;
    decoding.resize = &task;
    Pixels pixels = decode_flat(bytes, info, decoding, report);
    if (report.resized) {
        return pixels;
    }
    const Box box = scaled_box(task.box, report.scale_denominator, pixels.width(), pixels.height());
    const bool is_ready = pixels.width() == task.width && pixels.height() == task.height &&
                          box.left == 0.0 && box.top == 0.0 &&
                          box.right == static_cast<double>(task.width) &&
                          box.bottom == static_cast<double>(task.height);
    return is_ready ? std::move(pixels)
                    : resize(pixels.view(), box, task.width, task.height, task.filter);
}

} // namespace framejudge
