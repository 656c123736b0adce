// PDQ after its description in "The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing
// Algorithm" (Facebook, 2019): luma, two box filters each way, 64 x 64 samples, 16 x 16 lowest
// frequencies without the constant one, each against their median. In float32, in that order of
// operations, as hashes are compared with those of other programs.
#include "pdq.hpp"

#include "framejudge/resize.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace framejudge {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr std::size_t kBitSide = 16;
constexpr std::size_t kLongestSide = 1024; // larger pictures are shrunk to it
constexpr std::size_t kShortestSide = 5;   // smaller pictures have no hash

struct Plane {
    std::size_t width;
    std::size_t height;
    std::vector<float> data;

    float* row(std::size_t y) { return data.data() + y * width; }
};

Plane luma_of(const PixelView& pixels) {
    Plane plane{pixels.width, pixels.height, std::vector<float>(pixels.width * pixels.height)};
    for (std::size_t y = 0; y < pixels.height; ++y) {
        const std::uint8_t* from = pixels.data + y * pixels.stride;
        float* to = plane.row(y);
        for (std::size_t x = 0; x < pixels.width; ++x) {
            const std::uint8_t* pixel = from + x * pixels.channels;
            to[x] = pixels.channels == 1 ? static_cast<float>(pixel[0])
                                         : 0.299F * static_cast<float>(pixel[0]) +
                                               0.587F * static_cast<float>(pixel[1]) +
                                               0.114F * static_cast<float>(pixel[2]);
        }
    }
    return plane;
}

std::size_t window_of(std::size_t size) { return (size + 2 * kPdqSide - 1) / (2 * kPdqSide); }

// Running means over `window` samples, cut off at both ends, along an axis of `size` samples that
// are `step` apart; `lanes` of them side by side, `lane_step` apart.
void box_filter(const float* in, float* out, std::size_t size, std::size_t step, std::size_t lanes,
                std::size_t lane_step, std::size_t window) {
    const std::size_t ahead = (window + 2) / 2 - 1; // samples seen before the first is written
    std::vector<float> sums(lanes, 0.0F);
    const auto take = [&](std::size_t i) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] += in[i * step + lane * lane_step];
        }
    };
    const auto drop = [&](std::size_t i) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            sums[lane] -= in[i * step + lane * lane_step];
        }
    };
    std::size_t taken = 0;
    std::size_t dropped = 0;
    while (taken < ahead) {
        take(taken++);
    }
    for (std::size_t i = 0; i < size; ++i) {
        const bool is_before_end = taken < size;
        if (is_before_end) {
            take(taken++);
        }
        if (!is_before_end || taken - dropped > window) {
            drop(dropped++);
        }
        const auto count = static_cast<float>(taken - dropped);
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            out[i * step + lane * lane_step] = sums[lane] / count;
        }
    }
}

void blur(Plane& plane) {
    constexpr std::size_t kRowsAtOnce = 8;
    std::vector<float> between(plane.data.size());
    for (int repetition = 0; repetition < 2; ++repetition) {
        for (std::size_t y = 0; y < plane.height; y += kRowsAtOnce) {
            box_filter(plane.row(y), between.data() + y * plane.width, plane.width, 1,
                       std::min(kRowsAtOnce, plane.height - y), plane.width,
                       window_of(plane.width));
        }
        box_filter(between.data(), plane.data.data(), plane.height, plane.width, plane.width, 1,
                   window_of(plane.height));
    }
}

using Samples = std::array<std::array<float, kPdqSide>, kPdqSide>;
using Frequencies = std::array<float, kBitSide * kBitSide>;

Samples sample(Plane& plane) {
    const auto place = [](std::size_t i, std::size_t size) {
        return static_cast<std::size_t>((static_cast<double>(i) + 0.5) * static_cast<double>(size) /
                                        static_cast<double>(kPdqSide));
    };
    Samples samples{};
    for (std::size_t y = 0; y < kPdqSide; ++y) {
        const float* row = plane.row(place(y, plane.height));
        for (std::size_t x = 0; x < kPdqSide; ++x) {
            samples[y][x] = row[place(x, plane.width)];
        }
    }
    return samples;
}

// How much neighbours differ, in per cent of the range; 90 of these steps are full quality each.
int quality_of(const Samples& samples) {
    int sum = 0;
    const auto add = [&](float a, float b) {
        sum += std::abs(static_cast<int>((a - b) * 100.0F / 255.0F));
    };
    for (std::size_t y = 0; y < kPdqSide; ++y) {
        for (std::size_t x = 0; x < kPdqSide; ++x) {
            if (y + 1 < kPdqSide) {
                add(samples[y][x], samples[y + 1][x]);
            }
            if (x + 1 < kPdqSide) {
                add(samples[y][x], samples[y][x + 1]);
            }
        }
    }
    return std::min(sum / 90, 100);
}

struct Cosines {
    float value[kBitSide][kPdqSide];
    Cosines() {
        for (std::size_t k = 0; k < kBitSide; ++k) {
            for (std::size_t n = 0; n < kPdqSide; ++n) {
                const double angle = kPi / 2.0 / static_cast<double>(kPdqSide) *
                                     static_cast<double>((k + 1) * (2 * n + 1));
                value[k][n] = static_cast<float>(std::sqrt(2.0 / static_cast<double>(kPdqSide)) *
                                                 std::cos(angle));
            }
        }
    }
};

Frequencies transform(const Samples& samples) {
    static const Cosines cosines;
    float rows[kBitSide][kPdqSide] = {};
    for (std::size_t k = 0; k < kBitSide; ++k) {
        for (std::size_t y = 0; y < kPdqSide; ++y) {
            for (std::size_t x = 0; x < kPdqSide; ++x) {
                rows[k][x] += cosines.value[k][y] * samples[y][x];
            }
        }
    }
    Frequencies frequencies{};
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        float sum = 0.0F;
        for (std::size_t x = 0; x < kPdqSide; ++x) {
            sum += rows[i / kBitSide][x] * cosines.value[i % kBitSide][x];
        }
        frequencies[i] = sum;
    }
    return frequencies;
}

PictureHash hash_small(const PixelView& pixels) {
    PictureHash hash;
    hash.size = 32;
    if (pixels.width < kShortestSide || pixels.height < kShortestSide) {
        hash.quality = 0;
        return hash;
    }
    Plane plane = luma_of(pixels);
    blur(plane);
    const Samples samples = sample(plane);
    hash.quality = quality_of(samples);
    const Frequencies frequencies = transform(samples);
    Frequencies sorted = frequencies;
    const auto middle = sorted.begin() + sorted.size() / 2 - 1; // the lower of the two
    std::nth_element(sorted.begin(), middle, sorted.end());
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
        if (frequencies[i] > *middle) { // bit 0 is the last one
            hash.bytes[31 - i / 8] |= static_cast<std::uint8_t>(1U << i % 8);
        }
    }
    return hash;
}

} // namespace

PictureHash pdq(const PixelView& pixels) {
    const std::size_t longest = std::max(pixels.width, pixels.height);
    if (longest <= kLongestSide) {
        return hash_small(pixels);
    }
    const auto shorter = [&](std::size_t side) {
        return std::max<std::size_t>(1, (side * kLongestSide + longest / 2) / longest);
    };
    const Pixels small =
        resize(pixels, shorter(pixels.width), shorter(pixels.height), Filter::kArea);
    return hash_small(small.view());
}

} // namespace framejudge
