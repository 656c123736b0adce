// dhash and phash, and which luma a hash reads; see NOTE [hashes].
#include "framejudge/hash.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/resize.hpp"
#include "image/frame_kernels.hpp"
#include "pdq.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace framejudge {
namespace {

constexpr double kPi = 3.14159265358979323846;

// The luma of a picture; one of a single channel is its own.
class Luma {
public:
    explicit Luma(const PixelView& pixels) : view_(pixels) {
        if (pixels.channels == 1) {
            return;
        }
        made_ = Pixels::uninitialized(pixels.width, pixels.height, 1);
        for (std::size_t y = 0; y < pixels.height; ++y) {
            const std::uint8_t* row = pixels.data + y * pixels.stride;
            if (pixels.channels == 3) {
                active_frame_kernels().luma(row, pixels.width, made_.row(y));
            } else {
                without_alpha(row, pixels.width, made_.row(y));
            }
        }
        view_ = made_.view();
    }
    [[nodiscard]] const PixelView& view() const { return view_; }

private:
    static void without_alpha(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
        for (std::size_t i = 0; i < count; ++i) {
            active_frame_kernels().luma(from + 4 * i, 1, to + i);
        }
    }

    Pixels made_;
    PixelView view_;
};

PictureHash hash_of_bits(std::uint64_t bits) {
    PictureHash hash;
    hash.size = 8;
    for (std::size_t i = 0; i < hash.size; ++i) {
        hash.bytes[i] = static_cast<std::uint8_t>(bits >> (56 - 8 * i));
    }
    return hash;
}

// Whether each of 8 x 9 samples is darker than the next.
PictureHash dhash(const PixelView& luma) {
    const Pixels small = resize(luma, 9, 8, Filter::kLanczos);
    std::uint64_t bits = 0;
    for (std::size_t y = 0; y < 8; ++y) {
        for (std::size_t x = 0; x < 8; ++x) {
            bits = bits << 1U | (small.row(y)[x + 1] > small.row(y)[x] ? 1U : 0U);
        }
    }
    return hash_of_bits(bits);
}

constexpr std::size_t kPhashSide = 32;
constexpr std::size_t kPhashBits = 8;

// cos(pi * k * (2n + 1) / 64) of the eight lowest frequencies.
struct Cosines {
    double value[kPhashBits][kPhashSide];
    Cosines() {
        for (std::size_t k = 0; k < kPhashBits; ++k) {
            for (std::size_t n = 0; n < kPhashSide; ++n) {
                value[k][n] = std::cos(kPi * static_cast<double>(k * (2 * n + 1)) / 64.0);
            }
        }
    }
};

// Whether each of the 8 x 8 lowest frequencies of 32 x 32 samples is above their median.
PictureHash phash(const PixelView& luma) {
    static const Cosines cosines;
    const Pixels small = resize(luma, kPhashSide, kPhashSide, Filter::kLanczos);
    double rows[kPhashBits][kPhashSide] = {}; // vertical frequency, column
    for (std::size_t k = 0; k < kPhashBits; ++k) {
        for (std::size_t y = 0; y < kPhashSide; ++y) {
            for (std::size_t x = 0; x < kPhashSide; ++x) {
                rows[k][x] += cosines.value[k][y] * small.row(y)[x];
            }
        }
    }
    std::array<std::int64_t, kPhashBits * kPhashBits> rounded{};
    for (std::size_t i = 0; i < rounded.size(); ++i) {
        double sum = 0.0;
        for (std::size_t x = 0; x < kPhashSide; ++x) {
            sum += cosines.value[i % kPhashBits][x] * rows[i / kPhashBits][x];
        }
        rounded[i] = std::llround(4.0 * sum * 1024.0);
    }
    auto sorted = rounded;
    std::sort(sorted.begin(), sorted.end());
    const std::int64_t twice_median = sorted[31] + sorted[32];
    std::uint64_t bits = 0;
    for (const std::int64_t value : rounded) {
        bits = bits << 1U | (2 * value > twice_median ? 1U : 0U);
    }
    return hash_of_bits(bits);
}

// The side that is enough: four times what the hash looks at.
std::size_t cover_of(HashAlgorithm algorithm) {
    switch (algorithm) {
    case HashAlgorithm::kDhash:
    case HashAlgorithm::kPhash:
        return 4 * kPhashSide;
    case HashAlgorithm::kPdq:
        break;
    }
    return 4 * kPdqSide;
}

} // namespace

PictureHash hash_picture(const PixelView& pixels, HashAlgorithm algorithm) {
    if (pixels.width == 0 || pixels.height == 0) {
        throw InvalidInput("a picture of " + std::to_string(pixels.width) + " x " +
                           std::to_string(pixels.height) + " pixels has no hash");
    }
    switch (algorithm) {
    case HashAlgorithm::kDhash:
        return dhash(Luma(pixels).view());
    case HashAlgorithm::kPhash:
        return phash(Luma(pixels).view());
    case HashAlgorithm::kPdq:
        break;
    }
    return pdq(pixels);
}

PictureHash hash_picture(ByteView bytes, HashAlgorithm algorithm, const DecodeLimits& limits) {
    DecodeOptions options;
    options.mode = PixelMode::kGray;
    options.limits = limits;
    options.cover_width = cover_of(algorithm);
    options.cover_height = cover_of(algorithm);
    DecodeReport report;
    return hash_picture(decode_image(bytes, options, report).view(), algorithm);
}

} // namespace framejudge
