// JPEG files for tests: encoded here, then damaged byte by byte.
#pragma once

#include "framejudge/encode.hpp"
#include "framejudge/image.hpp"

#include <cstdint>
#include <random>
#include <vector>

namespace framejudge::test {

using Bytes = std::vector<std::uint8_t>;

inline ByteView view_of(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

// A picture without flat parts: every block of it takes bytes.
inline Pixels noise(std::size_t width, std::size_t height, std::size_t channels) {
    Pixels pixels(width, height, channels);
    std::mt19937 random(7);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        pixels.data()[i] = static_cast<std::uint8_t>(random() % 256);
    }
    return pixels;
}

inline Bytes noise_jpeg(std::size_t width, std::size_t height, std::size_t channels) {
    return encode_jpeg(noise(width, height, channels).view(), 90);
}

inline std::size_t find_marker(const Bytes& bytes, std::uint8_t marker) {
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
        if (bytes[i] == 0xFF && bytes[i + 1] == marker) {
            return i;
        }
    }
    return bytes.size();
}

inline Bytes cut(const Bytes& bytes, std::size_t size) {
    return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline Bytes joined(const Bytes& first, const Bytes& second) {
    Bytes both = first;
    both.insert(both.end(), second.begin(), second.end());
    return both;
}

inline Bytes inserted(const Bytes& bytes, std::size_t at, const Bytes& extra) {
    const Bytes head = joined(cut(bytes, at), extra);
    return joined(head, Bytes(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end()));
}

} // namespace framejudge::test
