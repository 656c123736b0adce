// What an instruction tier provides to the conversion of video frames: rows of planes to pixels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framejudge {

// NOTE [yuv arithmetic]
// Luma is brought to six fractional bits in 16, chroma to eight around zero. A product is
// (a * b + 2^14) >> 15, which every tier has as one instruction; a factor beyond that range is kept
// as its distance from one (luma) or a quarter of it (chroma). Sums saturate, which the final
// clip to 0..255 can't tell from exact ones.
struct YuvCoefficients {
    std::int16_t luma_offset; // black, with six fractional bits
    std::int16_t luma_gain;   // (gain - 1) * 2^15
    std::int16_t v_to_red;    // the rest: factor * 2^13
    std::int16_t u_to_green;  // negative, like the next
    std::int16_t v_to_green;
    std::int16_t u_to_blue;
};

// One row. Samples of two bytes are shifted left by `shift` to fill their 16 bits.
template <typename Sample> struct YuvRow {
    const Sample* y;
    const Sample* u; // half as many, rounded up, where chroma is halved
    const Sample* v;
    std::size_t width;
    int shift;
};

template <typename Sample>
using YuvToRgbFn = void (*)(const YuvRow<Sample>& row, const YuvCoefficients& by,
                            std::uint8_t* rgb);
template <typename Sample>
using LumaToGrayFn = void (*)(const YuvRow<Sample>& row, const YuvCoefficients& by,
                              std::uint8_t* gray);

// Bytes of `width` x `height` to `height` x `width`; strides are in bytes.
using TransposeFn = void (*)(const std::uint8_t* from, std::size_t stride, std::size_t width,
                             std::size_t height, std::uint8_t* to, std::size_t to_stride);

struct YuvKernels {
    YuvToRgbFn<std::uint8_t> rgb8;        // a chroma sample for each pixel
    YuvToRgbFn<std::uint8_t> rgb8_halved; // one for two
    YuvToRgbFn<std::uint16_t> rgb16;
    YuvToRgbFn<std::uint16_t> rgb16_halved;
    LumaToGrayFn<std::uint8_t> gray8;
    LumaToGrayFn<std::uint16_t> gray16;
    TransposeFn transpose;
};

// One per tier that may be compiled in; AVX-512 uses AVX2's, which memory already bounds.
const YuvKernels& baseline_yuv_kernels();
const YuvKernels& avx2_yuv_kernels();
const YuvKernels& neon_yuv_kernels();

// The table of the tier in use; see isa.hpp.
const YuvKernels& active_yuv_kernels();

} // namespace framejudge
