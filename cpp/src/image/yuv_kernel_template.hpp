// The kernels of yuv_kernels.hpp, written once over a tier's block of pixels.
//
// A tier provides `Block`: kPixels, and for both sample types the static functions
// rgb<kHalved>(y, u, v, shift, by, to) and gray(y, shift, by, to) for exactly so many pixels; and
// transpose(from, stride, to, to_stride) for a square of kSquare bytes a side.
#pragma once

#include "yuv_kernels.hpp"

#include <cstring>

namespace framejudge {

// The end of a row goes through memory of a whole block, so that nothing beyond it is touched.
template <typename Block, bool kHalved, typename Sample>
void yuv_row_to_rgb(const YuvRow<Sample>& row, const YuvCoefficients& by, std::uint8_t* rgb) {
    constexpr std::size_t kPixels = Block::kPixels;
    constexpr std::size_t kPerChroma = kHalved ? 2 : 1;
    std::size_t x = 0;
    for (; x + kPixels <= row.width; x += kPixels) {
        Block::template rgb<kHalved>(row.y + x, row.u + x / kPerChroma, row.v + x / kPerChroma,
                                     row.shift, by, rgb + x * 3);
    }
    if (const std::size_t left = row.width - x; left != 0) {
        const std::size_t chroma = (left + kPerChroma - 1) / kPerChroma;
        Sample y[kPixels] = {};
        Sample u[kPixels] = {};
        Sample v[kPixels] = {};
        std::uint8_t out[kPixels * 3];
        std::memcpy(y, row.y + x, left * sizeof(Sample));
        std::memcpy(u, row.u + x / kPerChroma, chroma * sizeof(Sample));
        std::memcpy(v, row.v + x / kPerChroma, chroma * sizeof(Sample));
        Block::template rgb<kHalved>(y, u, v, row.shift, by, out);
        std::memcpy(rgb + x * 3, out, left * 3);
    }
}

template <typename Block, typename Sample>
void luma_row_to_gray(const YuvRow<Sample>& row, const YuvCoefficients& by, std::uint8_t* gray) {
    constexpr std::size_t kPixels = Block::kPixels;
    std::size_t x = 0;
    for (; x + kPixels <= row.width; x += kPixels) {
        Block::gray(row.y + x, row.shift, by, gray + x);
    }
    if (const std::size_t left = row.width - x; left != 0) {
        Sample y[kPixels] = {};
        std::uint8_t out[kPixels];
        std::memcpy(y, row.y + x, left * sizeof(Sample));
        Block::gray(y, row.shift, by, out);
        std::memcpy(gray + x, out, left);
    }
}

template <typename Block>
void transpose_bytes(const std::uint8_t* from, std::size_t stride, std::size_t width,
                     std::size_t height, std::uint8_t* to, std::size_t to_stride) {
    constexpr std::size_t kSide = Block::kSquare;
    const std::size_t whole_x = width - width % kSide;
    const std::size_t whole_y = height - height % kSide;
    for (std::size_t x = 0; x < whole_x; x += kSide) {
        for (std::size_t y = 0; y < whole_y; y += kSide) {
            Block::transpose(from + y * stride + x, stride, to + x * to_stride + y, to_stride);
        }
    }
    for (std::size_t y = 0; y < height; ++y) {
        for (std::size_t x = y < whole_y ? whole_x : 0; x < width; ++x) {
            to[x * to_stride + y] = from[y * stride + x];
        }
    }
}

template <typename Block> const YuvKernels& yuv_kernels_of() {
    static constexpr YuvKernels kTable = {
        yuv_row_to_rgb<Block, false, std::uint8_t>,
        yuv_row_to_rgb<Block, true, std::uint8_t>,
        yuv_row_to_rgb<Block, false, std::uint16_t>,
        yuv_row_to_rgb<Block, true, std::uint16_t>,
        luma_row_to_gray<Block, std::uint8_t>,
        luma_row_to_gray<Block, std::uint16_t>,
        transpose_bytes<Block>,
    };
    return kTable;
}

} // namespace framejudge
