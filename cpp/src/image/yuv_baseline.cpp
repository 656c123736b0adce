// Video frames to pixels without any instruction beyond the ABI's.
#include "yuv_kernel_template.hpp"

#include <algorithm>

namespace framejudge {
namespace {

// Rounded down, as every tier's instruction does.
int shifted_right(int value, int bits) {
    return value >> bits; // NOLINT(bugprone-signed-bitwise): of a negative number too
}

// (a * b + 2^14) >> 15; see NOTE [yuv arithmetic].
int scaled(int a, int b) { return shifted_right(a * b + 16384, 15); }

std::uint8_t clipped(int value) {
    return static_cast<std::uint8_t>(std::clamp(shifted_right(value + 32, 6), 0, 255));
}

unsigned at_top(std::uint16_t sample, int shift) {
    return (unsigned{sample} << static_cast<unsigned>(shift)) & 0xFFFFU;
}

int luma_of(std::uint8_t sample, int /*shift*/) { return sample * 64; }
int luma_of(std::uint16_t sample, int shift) {
    return static_cast<int>(at_top(sample, shift) >> 2U);
}
int chroma_of(std::uint8_t sample, int /*shift*/) { return (sample - 128) * 256; }
int chroma_of(std::uint16_t sample, int shift) {
    return static_cast<int>(at_top(sample, shift)) - 32768;
}

template <typename Sample> int white_of(Sample sample, int shift, const YuvCoefficients& by) {
    const int luma = luma_of(sample, shift) - by.luma_offset;
    return luma + scaled(luma, by.luma_gain);
}

struct Block {
    static constexpr std::size_t kPixels = 16;
    static constexpr std::size_t kSquare = 8;

    template <bool kHalved, typename Sample>
    static void rgb(const Sample* y, const Sample* u, const Sample* v, int shift,
                    const YuvCoefficients& by, std::uint8_t* to) {
        constexpr std::size_t kPerChroma = kHalved ? 2 : 1;
        for (std::size_t i = 0; i < kPixels; ++i) {
            const int luma = white_of(y[i], shift, by);
            const int blue = chroma_of(u[i / kPerChroma], shift);
            const int red = chroma_of(v[i / kPerChroma], shift);
            to[i * 3] = clipped(luma + scaled(red, by.v_to_red));
            to[i * 3 + 1] =
                clipped(luma + scaled(blue, by.u_to_green) + scaled(red, by.v_to_green));
            to[i * 3 + 2] = clipped(luma + scaled(blue, by.u_to_blue));
        }
    }

    template <typename Sample>
    static void gray(const Sample* y, int shift, const YuvCoefficients& by, std::uint8_t* to) {
        for (std::size_t i = 0; i < kPixels; ++i) {
            to[i] = clipped(white_of(y[i], shift, by));
        }
    }

    static void transpose(const std::uint8_t* from, std::size_t stride, std::uint8_t* to,
                          std::size_t to_stride) {
        for (std::size_t x = 0; x < kSquare; ++x) {
            for (std::size_t y = 0; y < kSquare; ++y) {
                to[x * to_stride + y] = from[y * stride + x];
            }
        }
    }
};

} // namespace

const YuvKernels& baseline_yuv_kernels() { return yuv_kernels_of<Block>(); }

} // namespace framejudge
