// Converts whole frames, row by row.
#include "framejudge/yuv.hpp"

#include "orient.hpp"
#include "yuv_kernels.hpp"
#include "yuv_rows.hpp"

#include "framejudge/isa.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace framejudge {
namespace {

constexpr std::size_t kLargestSide = std::size_t{1} << 20U;

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
            const auto* from = row_of<Sample>(frame_, 1, chroma_row);
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

void check_yuv_frame(const YuvFrame& frame) {
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

Pixels convert_yuv(const YuvFrame& frame, PixelMode mode) {
    const bool is_gray = mode == PixelMode::kGray || frame.format.chroma == Chroma::kNone;
    if (frame.format.bits > 8) {
        return is_gray ? to_gray<std::uint16_t>(frame) : to_rgb<std::uint16_t>(frame);
    }
    return is_gray ? to_gray<std::uint8_t>(frame) : to_rgb<std::uint8_t>(frame);
}

Pixels yuv_to_pixels(const YuvFrame& frame, PixelMode mode, int rotation) {
    check_yuv_frame(frame);
    const int orientation = orientation_of_rotation(rotation);
    return to_mode(apply_orientation(convert_yuv(frame, mode), orientation), mode, kNoAlpha);
}

} // namespace framejudge
