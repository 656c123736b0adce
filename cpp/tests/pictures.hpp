// Random pictures for the tests of resizing, tensors and hashes.
#pragma once

#include "framejudge/pixels.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace framejudge::test {

// Independent samples of levels `low` to `high`.
class TestPicture {
public:
    TestPicture(std::size_t width, std::size_t height, std::size_t channels, unsigned seed, int low,
                int high)
        : width_(width), height_(height), channels_(channels), samples_(width * height * channels) {
        std::mt19937 random(seed);
        std::uniform_int_distribution<int> level(low, high);
        for (std::uint8_t& sample : samples_) {
            sample = static_cast<std::uint8_t>(level(random));
        }
    }

    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] std::size_t height() const { return height_; }
    [[nodiscard]] std::uint8_t at(std::size_t x, std::size_t y, std::size_t channel) const {
        return samples_[(y * width_ + x) * channels_ + channel];
    }
    [[nodiscard]] PixelView view() const {
        return {samples_.data(), width_, height_, channels_, width_ * channels_};
    }

private:
    std::size_t width_;
    std::size_t height_;
    std::size_t channels_;
    std::vector<std::uint8_t> samples_;
};

inline std::vector<std::uint8_t> samples_of(const Pixels& pixels) {
    return {pixels.data(), pixels.data() + pixels.size()};
}

} // namespace framejudge::test
