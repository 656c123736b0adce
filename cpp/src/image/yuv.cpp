// Converts whole frames, or resized planes, row by row.
#include "framejudge/yuv.hpp"

#include "orient.hpp"
#include "yuv_coefficients.hpp"
#include "yuv_kernels.hpp"

#include "framejudge/isa.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace framejudge {
namespace {

constexpr std::size_t kLargestSide = std::size_t{1} << 20;

void check(const YuvFrame& frame) {
    if (frame.width == 0 || frame.height == 0 || frame.width > kLargestSide ||
        frame.height > kLargestSide) {
        throw InvalidInput("sides of a frame must be 1 to 1048576, got " +
                           std::to_string(frame.width) + " x " + std::to_string(frame.height));
    }
    for (std::size_t i = 0; i < frame.format.plane_count(); ++i) {
        const bool is_odd = reinterpret_cast<std::uintptr_t>(frame.planes[i]) % 2 != 0;
        if (frame.format.bits > 8 && (is_odd || frame.strides[i] % 2 != 0)) {
            throw InvalidInput("plane " + std::to_string(i) +
                               " holds samples of two bytes at an odd address or stride");
        }
    }
}

template <typename Sample>
const Sample* row_of(const YuvFrame& frame, std::size_t plane, std::size_t y) {
    return reinterpret_cast<const Sample*>(frame.planes[plane] + y * frame.strides[plane]);
}

// The chroma samples of one row after the other, apart from each other whatever the layout.
template <typename Sample> class ChromaRows {
public:
    explicit ChromaRows(const YuvFrame& frame)
        : frame_(frame), first_is_v_(frame.format.chroma == Chroma::kVu) {
        if (frame.format.chroma != Chroma::kPlanar) {
            const PlaneSize size = yuv_plane_size(frame.format, frame.width, frame.height, 1);
            count_ = size.row_bytes / sizeof(Sample) / 2;
            apart_.resize(count_ * 2);
        }
    }

    std::pair<const Sample*, const Sample*> at(std::size_t chroma_row) {
        if (frame_.format.chroma == Chroma::kPlanar) {
            return {row_of<Sample>(frame_, 1, chroma_row), row_of<Sample>(frame_, 2, chroma_row)};
        }
        if (chroma_row != held_) {
            const Sample* from = row_of<Sample>(frame_, 1, chroma_row);
            for (std::size_t i = 0; i < count_; ++i) {
                apart_[i] = from[i * 2];
                apart_[count_ + i] = from[i * 2 + 1];
            }
            held_ = chroma_row;
        }
        const Sample* first = apart_.data();
        const Sample* second = first + count_;
        return first_is_v_ ? std::pair(second, first) : std::pair(first, second);
    }

private:
    const YuvFrame& frame_;
    bool first_is_v_;
    std::size_t count_ = 0;
    std::size_t held_ = static_cast<std::size_t>(-1);
    std::vector<Sample> apart_;
};

template <typename Sample> struct Functions {
    YuvToRgbFn<Sample> rgb;
    YuvToRgbFn<Sample> rgb_halved;
    LumaToGrayFn<Sample> gray;
};

template <typename Sample> Functions<Sample> functions() {
    const YuvKernels& kernels = active_yuv_kernels();
    if constexpr (sizeof(Sample) == 1) {
        return {kernels.rgb8, kernels.rgb8_halved, kernels.gray8};
    } else {
        return {kernels.rgb16, kernels.rgb16_halved, kernels.gray16};
    }
}

YuvCoefficients coefficients_of(const YuvFrame& frame) {
    return yuv_coefficients(frame.matrix, frame.is_full_range, frame.format.bits);
}

int shift_of(const YuvFormat& format) {
    return format.bits > 8 ? 16 - format.bits - format.padding : 0;
}

template <typename Sample> Pixels to_gray(const YuvFrame& frame) {
    Pixels out = Pixels::uninitialized(frame.width, frame.height, 1);
    const auto gray = functions<Sample>().gray;
    const YuvCoefficients by = coefficients_of(frame);
    for (std::size_t y = 0; y < frame.height; ++y) {
        gray({row_of<Sample>(frame, 0, y), nullptr, nullptr, frame.width, shift_of(frame.format)},
             by, out.row(y));
    }
    return out;
}

template <typename Sample> Pixels to_rgb(const YuvFrame& frame) {
    Pixels out = Pixels::uninitialized(frame.width, frame.height, 3);
    const auto kernels = functions<Sample>();
    const auto convert = frame.format.shift_x == 1 ? kernels.rgb_halved : kernels.rgb;
    const YuvCoefficients by = coefficients_of(frame);
    ChromaRows<Sample> chroma(frame);
    for (std::size_t y = 0; y < frame.height; ++y) {
        const auto [u, v] = chroma.at(y >> frame.format.shift_y);
        convert({row_of<Sample>(frame, 0, y), u, v, frame.width, shift_of(frame.format)}, by,
                out.row(y));
    }
    return out;
}

Pixels upright(const YuvFrame& frame, PixelMode mode, int rotation) {
    const int orientation = orientation_of_rotation(rotation);
    const bool is_gray = mode == PixelMode::kGray || frame.format.chroma == Chroma::kNone;
    const bool is_wide = frame.format.bits > 8;
    Pixels pixels = is_gray
                        ? (is_wide ? to_gray<std::uint16_t>(frame) : to_gray<std::uint8_t>(frame))
                        : (is_wide ? to_rgb<std::uint16_t>(frame) : to_rgb<std::uint8_t>(frame));
    return to_mode(apply_orientation(std::move(pixels), orientation), mode, {255, 255, 255});
}

// Samples of eight bits: the high byte of two, rounded.
std::uint8_t narrowed(std::uint16_t sample, int shift) {
    const int top = (sample << shift) & 0xFFFF;
    return static_cast<std::uint8_t>(std::min(top + 128, 65535) >> 8);
}

std::uint8_t narrowed(std::uint8_t sample, int /*shift*/) { return sample; }

// Every `step`th sample of a plane, from `first` on, as pixels of one channel.
template <typename Sample>
Pixels gathered(const YuvFrame& frame, std::size_t plane, std::size_t first, std::size_t step) {
    const PlaneSize size = yuv_plane_size(frame.format, frame.width, frame.height, plane);
    const std::size_t width = size.row_bytes / sizeof(Sample) / step;
    const int shift = shift_of(frame.format);
    Pixels out = Pixels::uninitialized(width, size.rows, 1);
    for (std::size_t y = 0; y < size.rows; ++y) {
        const Sample* from = row_of<Sample>(frame, plane, y) + first;
        std::uint8_t* to = out.row(y);
        for (std::size_t x = 0; x < width; ++x) {
            to[x] = narrowed(from[x * step], shift);
        }
    }
    return out;
}

// Component 0, 1 or 2 (Y, U or V) of the frame at another size. What a chroma plane has beyond an
// odd side is left out.
Pixels resized_component(const YuvFrame& frame, std::size_t component, std::size_t width,
                         std::size_t height, Filter filter) {
    const bool is_paired = component != 0 && frame.format.chroma != Chroma::kPlanar;
    const std::size_t plane = is_paired ? 1 : component;
    const std::size_t first =
        is_paired && (component == 2) == (frame.format.chroma == Chroma::kUv) ? 1 : 0;
    const std::size_t step = is_paired ? 2 : 1;
    const double shrunk_x = component != 0 && frame.format.shift_x == 1 ? 0.5 : 1.0;
    const double shrunk_y = component != 0 && frame.format.shift_y == 1 ? 0.5 : 1.0;
    const Box box = {0.0, 0.0, static_cast<double>(frame.width) * shrunk_x,
                     static_cast<double>(frame.height) * shrunk_y};
    if (frame.format.bits == 8 && !is_paired) {
        const PlaneSize size = yuv_plane_size(frame.format, frame.width, frame.height, plane);
        return resize({frame.planes[plane], size.row_bytes, size.rows, 1, frame.strides[plane]},
                      box, width, height, filter);
    }
    const Pixels samples = frame.format.bits > 8
                               ? gathered<std::uint16_t>(frame, plane, first, step)
                               : gathered<std::uint8_t>(frame, plane, first, step);
    return resize(samples.view(), box, width, height, filter);
}

} // namespace

const YuvKernels& active_yuv_kernels() {
    switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvx512:
        return avx2_yuv_kernels();
#elif defined(__aarch64__)
    case Isa::kNeon:
        return neon_yuv_kernels();
#endif
    default:
        return baseline_yuv_kernels();
    }
}

Pixels yuv_to_pixels(const YuvFrame& frame, PixelMode mode, int rotation) {
    check(frame);
    return upright(frame, mode, rotation);
}

Pixels yuv_to_resized(const YuvFrame& frame, PixelMode mode, std::size_t width, std::size_t height,
                      Filter filter, int rotation) {
    check(frame);
    if (swaps_sides(orientation_of_rotation(rotation))) {
        std::swap(width, height);
    }
    if (width == frame.width && height == frame.height) {
        return upright(frame, mode, rotation);
    }
    const bool is_gray = mode == PixelMode::kGray || frame.format.chroma == Chroma::kNone;
    Pixels components[3];
    // The range of wider samples is what eight bits of them keep of it.
    YuvFrame small = {{},
                      {},
                      width,
                      height,
                      yuv_format_named(is_gray ? "gray" : "yuv444p"),
                      frame.matrix,
                      frame.is_full_range};
    for (std::size_t i = 0; i < (is_gray ? 1U : 3U); ++i) {
        components[i] = resized_component(frame, i, width, height, filter);
        small.planes[i] = components[i].data();
        small.strides[i] = components[i].stride();
    }
    return upright(small, mode, rotation);
}

} // namespace framejudge
