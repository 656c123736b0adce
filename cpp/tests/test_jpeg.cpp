// JPEG: right pixels, losses seen and placed, limits kept.
#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"
#include "image/jpeg_scan.hpp"
#include "jpeg_files.hpp"

#include <doctest.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace framejudge::test {
namespace {

constexpr std::size_t kWidth = 160;
constexpr std::size_t kHeight = 120;

struct Decoded {
    Pixels pixels;
    DecodeReport report;
};

Decoded decode(const Bytes& bytes, bool partial = false, PixelMode mode = PixelMode::kRgb) {
    DecodeOptions options;
    options.partial = partial;
    options.mode = mode;
    options.background = {1, 2, 3};
    Decoded result;
    result.pixels = decode_image(view_of(bytes), options, result.report);
    return result;
}

std::string failure_of(const Bytes& bytes) {
    try {
        decode(bytes);
    } catch (const ImageDamagedError& error) {
        return error.what();
    }
    return "";
}

bool is_background(const Pixels& pixels, std::size_t y) {
    const std::uint8_t colour[] = {1, 2, 3};
    for (std::size_t x = 0; x < pixels.width(); ++x) {
        if (std::memcmp(pixels.row(y) + 3 * x, colour, 3) != 0) {
            return false;
        }
    }
    return true;
}

// The rows that the report claims are those of the whole picture; the others are background.
void check_partial(const Bytes& damaged, const Bytes& whole, std::size_t rows) {
    const Decoded part = decode(damaged, true);
    const Decoded full = decode(whole);
    CHECK(part.report.damaged);
    CHECK_FALSE(part.report.damage.empty());
    CHECK(part.report.rows_read == rows);
    CHECK(std::memcmp(part.pixels.data(), full.pixels.data(), rows * full.pixels.stride()) == 0);
    for (std::size_t y = rows; y < part.pixels.height(); ++y) {
        CHECK(is_background(part.pixels, y));
    }
}

TEST_CASE("a constant colour comes back within JPEG's rounding") {
    Pixels pixels(33, 17, 3);
    for (std::size_t i = 0; i < pixels.size(); i += 3) {
        std::memcpy(pixels.data() + i, "\x28\x78\xC8", 3);
    }
    const Decoded decoded = decode(encode_jpeg(pixels.view(), 100));
    REQUIRE(decoded.pixels.size() == pixels.size());
    for (std::size_t i = 0; i < pixels.size(); ++i) {
        // Y, Cb and Cr are rounded once each; B = Y + 1.772 Cb can be 0.5 + 0.886 off, and half a
        // level is lost in each rounding back.
        CHECK(std::abs(decoded.pixels.data()[i] - pixels.data()[i]) <= 2);
    }
    CHECK_FALSE(decoded.report.damaged);
    CHECK(decoded.report.rows_read == 17);
    CHECK(decoded.report.warnings.empty());
}

TEST_CASE("modes have their channels; gray is the luma that is stored") {
    const Bytes bytes = noise_jpeg(kWidth, kHeight, 1);
    const Decoded gray = decode(bytes, false, PixelMode::kGray);
    const Decoded rgba = decode(bytes, false, PixelMode::kRgba);
    CHECK(gray.pixels.channels() == 1);
    REQUIRE(rgba.pixels.channels() == 4);
    for (std::size_t i = 0; i < gray.pixels.size(); ++i) {
        const std::uint8_t luma = gray.pixels.data()[i];
        const std::uint8_t expected[] = {luma, luma, luma, 255};
        REQUIRE(std::memcmp(rgba.pixels.data() + 4 * i, expected, 4) == 0);
    }
}

TEST_CASE("a picture that is cut off says where, or gives the rows that are there") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    const Bytes damaged = cut(whole, whole.size() * 6 / 10);
    CHECK(failure_of(damaged).find("of 120, near byte") != std::string::npos);
    const std::size_t rows = decode(damaged, true).report.rows_read;
    CHECK(rows > 48); // 60 % of the bytes are about 60 % of noise
    CHECK(rows < 96);
    check_partial(damaged, whole, rows);
}

TEST_CASE("only the end marker missing is damage, though no row is lost") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    const Bytes damaged = cut(whole, whole.size() - 2);
    CHECK_FALSE(failure_of(damaged).empty());
    check_partial(damaged, whole, kHeight);
}

TEST_CASE("a tail of zeros or ones is a picture that was never written to its end") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    const Bytes damaged = cut(whole, whole.size() / 2);
    const std::size_t rows = decode(damaged, true).report.rows_read;
    for (const std::uint8_t filler : Bytes{0x00, 0xFF}) {
        const Bytes filled = joined(damaged, Bytes(damaged.size(), filler));
        CHECK_FALSE(failure_of(filled).empty());
        check_partial(filled, whole, rows);
    }
}

TEST_CASE("unread rows never show an earlier picture") {
    const Bytes other = noise_jpeg(kWidth, kHeight, 3);
    const Bytes damaged = cut(noise_jpeg(kWidth, kHeight, 3), find_marker(other, 0xDA) + 40);
    for (int round = 0; round < 50; ++round) {
        decode(other);
        const Decoded part = decode(damaged, true);
        REQUIRE(part.report.rows_read < 16);
        REQUIRE(is_background(part.pixels, part.pixels.height() - 1));
    }
}

TEST_CASE("a few stray bytes are a warning, many are a decoder that lost its way") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    // libjpeg reads up to eight bytes ahead of the last block; those it doesn't miss.
    const Bytes few = inserted(whole, whole.size() - 2, Bytes(16, 7));
    const Decoded decoded = decode(few);
    CHECK_FALSE(decoded.report.damaged);
    REQUIRE(decoded.report.warnings.size() == 1);
    CHECK(decoded.report.warnings[0].find("extraneous bytes") != std::string::npos);
    const Bytes many = inserted(whole, whole.size() - 2, Bytes(40, 7));
    CHECK(failure_of(many).find("extraneous bytes") != std::string::npos);
}

TEST_CASE("what comes after the end marker doesn't matter") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    const Decoded decoded = decode(joined(whole, Bytes(1000, 0xA5)));
    CHECK(decoded.report.warnings.empty());
    CHECK_FALSE(decoded.report.damaged);
}

TEST_CASE("codings that are not read are named") {
    const Bytes whole = noise_jpeg(kWidth, kHeight, 3);
    const std::size_t frame = find_marker(whole, kSof0);
    Bytes lossless = whole;
    lossless[frame + 1] = 0xC3;
    CHECK_THROWS_WITH_AS(decode(lossless), doctest::Contains("lossless"), ImageUnsupportedError);
    Bytes deep = whole;
    deep[frame + 4] = 12;
    CHECK_THROWS_WITH_AS(decode(deep), doctest::Contains("got 12"), ImageUnsupportedError);
}

TEST_CASE("a component without a scan is damage, not a silent gray") {
    Bytes bytes = noise_jpeg(kWidth, kHeight, 1);
    const std::size_t frame = find_marker(bytes, kSof0);
    bytes[frame + 3] = 17; // the segment's length with two more components
    bytes[frame + 9] = 3;
    bytes = inserted(bytes, frame + 13, {2, 0x11, 0, 3, 0x11, 0});
    CHECK(failure_of(bytes) == "JPEG: the scans of a component are missing");
    CHECK(decode(bytes, true).report.damaged);
}

Bytes claiming(Bytes bytes, std::size_t width, std::size_t height) {
    const std::size_t frame = find_marker(bytes, kSof0);
    bytes[frame + 5] = static_cast<std::uint8_t>(height >> 8U);
    bytes[frame + 6] = static_cast<std::uint8_t>(height & 255U);
    bytes[frame + 7] = static_cast<std::uint8_t>(width >> 8U);
    bytes[frame + 8] = static_cast<std::uint8_t>(width & 255U);
    return bytes;
}

TEST_CASE("a claim beyond the limit or beyond the bytes is refused before it is allocated") {
    const Bytes small = noise_jpeg(16, 16, 3);
    CHECK_THROWS_AS(decode(claiming(small, 65500, 65500)), ImageLimitError);
    CHECK_THROWS_WITH_AS(decode(claiming(small, 12000, 12000)), doctest::Contains("at least"),
                         ImageDamagedError);
    CHECK_THROWS_AS(decode(claiming(small, 0, 16)), ImageDamagedError);
    CHECK_THROWS_AS(decode(claiming(small, 16, 0)), ImageDamagedError);
}

TEST_CASE("scans are counted before the first is decoded") {
    Bytes bytes = noise_jpeg(kWidth, kHeight, 3);
    bytes[find_marker(bytes, kSof0) + 1] = 0xC2; // progressive
    const std::size_t scan = find_marker(bytes, kSos);
    const Bytes one(bytes.begin() + static_cast<std::ptrdiff_t>(scan), bytes.end() - 2);
    for (int i = 0; i < 200; ++i) {
        bytes = inserted(bytes, bytes.size() - 2, one);
    }
    CHECK_THROWS_WITH_AS(decode(bytes), doctest::Contains("limit of 100"), ImageLimitError);
    CHECK(count_jpeg_scans(view_of(bytes), 1000) == 201);
}

TEST_CASE("a time budget that is used up ends the decoding") {
    const Bytes bytes = noise_jpeg(kWidth, kHeight, 3);
    DecodeOptions options;
    options.limits.time_budget_s = 1e-9;
    DecodeReport report;
    const auto decode_late = [&] { return decode_image(view_of(bytes), options, report); };
    CHECK_THROWS_WITH_AS(decode_late(), doctest::Contains("time budget"), ImageLimitError);
}

TEST_CASE("a scaled decode covers what is asked, by a power of two") {
    const Bytes bytes = noise_jpeg(641, 427, 3);
    struct Case {
        std::size_t width;
        std::size_t height;
        int denominator;
    };
    for (const Case& wanted : {Case{641, 427, 1}, Case{321, 214, 2}, Case{322, 100, 1},
                               Case{160, 100, 4}, Case{81, 54, 8}, Case{1, 1, 8}}) {
        DecodeOptions options;
        options.cover_width = wanted.width;
        options.cover_height = wanted.height;
        DecodeReport report;
        const Pixels pixels = decode_image(view_of(bytes), options, report);
        CHECK(report.scale_denominator == wanted.denominator);
        CHECK(pixels.width() >= wanted.width);
        CHECK(pixels.height() >= wanted.height);
    }
}

TEST_CASE("any byte of a picture may change without a crash") {
    const Bytes whole = noise_jpeg(48, 40, 3);
    for (std::size_t i = 2; i < whole.size(); i += 3) {
        for (const std::uint8_t value : Bytes{0x00, 0x7F, 0xD9, 0xFF}) {
            Bytes changed = whole;
            changed[i] = value;
            for (const bool partial : {false, true}) {
                try {
                    decode(changed, partial);
                } catch (const ImageError&) {
                    continue; // one of the documented exceptions
                }
            }
        }
    }
    CHECK_FALSE(decode(whole).report.damaged);
}

TEST_CASE("the encoder refuses what JPEG can't hold") {
    const Pixels rgba(4, 4, 4);
    const auto encode = [](const Pixels& pixels, int quality) {
        return encode_jpeg(pixels.view(), quality);
    };
    CHECK_THROWS_AS(encode(rgba, 90), InvalidInput);
    CHECK_THROWS_AS(encode(Pixels(4, 4, 3), 0), InvalidInput);
    CHECK_THROWS_AS(encode(Pixels(4, 4, 3), 101), InvalidInput);
    CHECK_THROWS_AS(encode(Pixels(65501, 1, 1), 90), InvalidInput);
}

} // namespace
} // namespace framejudge::test
