// Orientation against the definition of EXIF's tag, and conversion between modes.
#include "image/orient.hpp"
#include "jpeg_files.hpp"

#include <doctest.h>

#include <cstring>
#include <string>

namespace framejudge::test {
namespace {

Pixels letters(const std::string& rows, std::size_t width) {
    Pixels pixels(width, rows.size() / width, 1);
    std::memcpy(pixels.data(), rows.data(), rows.size());
    return pixels;
}

std::string text_of(const Pixels& pixels) {
    return {reinterpret_cast<const char*>(pixels.data()), pixels.size()};
}

TEST_CASE("each orientation puts row 0 and column 0 where EXIF says they are") {
    // EXIF 2.3, tag 274: for 6 the stored row 0 is the visual right side, column 0 the top.
    const char* expected[] = {"abcdef", "cbafed", "fedcba", "defabc",
                              "adbecf", "daebfc", "fcebda", "cfbead"};
    for (int orientation = 1; orientation <= 8; ++orientation) {
        CAPTURE(orientation);
        const Pixels upright = apply_orientation(letters("abcdef", 3), orientation);
        CHECK(upright.width() == (orientation >= 5 ? 2 : 3));
        CHECK(text_of(upright) == expected[orientation - 1]);
    }
}

TEST_CASE("an orientation out of range changes nothing") {
    for (const int orientation : {-1, 0, 9, 65535}) {
        CHECK(text_of(apply_orientation(letters("abcdef", 3), orientation)) == "abcdef");
    }
}

TEST_CASE("pictures larger than a block turn sample by sample in every channel count") {
    for (const std::size_t channels : {1U, 3U, 4U}) {
        const Pixels source = noise(101, 67, channels);
        Pixels copy = noise(101, 67, channels);
        const Pixels turned = apply_orientation(std::move(copy), 6); // a quarter clockwise
        REQUIRE(turned.width() == 67);
        bool equal = true;
        for (std::size_t y = 0; y < 67; ++y) {
            for (std::size_t x = 0; x < 101; ++x) {
                equal = equal && std::memcmp(source.row(y) + x * channels,
                                             turned.row(x) + (66 - y) * channels, channels) == 0;
            }
        }
        CHECK(equal);
    }
}

TEST_CASE("alpha is laid over the background, rounded") {
    Pixels rgba(2, 1, 4);
    const std::uint8_t samples[] = {200, 100, 0, 128, 9, 9, 9, 0};
    std::memcpy(rgba.data(), samples, sizeof samples);
    const Pixels rgb = to_mode(std::move(rgba), PixelMode::kRgb, {0, 50, 255});
    // (200 * 128 + 0 * 127) / 255 = 100.4, (100 * 128 + 50 * 127) / 255 = 75.1,
    // (0 * 128 + 255 * 127) / 255 = 127
    const std::uint8_t expected[] = {100, 75, 127, 0, 50, 255};
    CHECK(std::memcmp(rgb.data(), expected, sizeof expected) == 0);
}

TEST_CASE("gray is BT.601 luma and spreads to equal channels") {
    Pixels rgb(1, 1, 3);
    rgb.data()[0] = 255;
    const Pixels gray = to_mode(std::move(rgb), PixelMode::kGray, {0, 0, 0});
    CHECK(gray.data()[0] == 76); // 0.299 * 255 = 76.2
    Pixels one(1, 1, 1);
    one.data()[0] = 77;
    const Pixels rgba = to_mode(std::move(one), PixelMode::kRgba, {0, 0, 0});
    const std::uint8_t expected[] = {77, 77, 77, 255};
    CHECK(std::memcmp(rgba.data(), expected, sizeof expected) == 0);
}

} // namespace
} // namespace framejudge::test
