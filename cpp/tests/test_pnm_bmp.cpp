// PNM and BMP files put together by hand.
#include "framejudge/errors.hpp"
#include "png_files.hpp"

#include <doctest.h>
#include <utility>

namespace framejudge::test {
namespace {

Bytes text(const std::string& header, const Bytes& samples = {}) {
    Bytes file(header.begin(), header.end());
    append(file, samples);
    return file;
}

Bytes decoded(const Bytes& file, PixelMode mode, DecodeReport* to = nullptr, bool partial = false) {
    DecodeOptions options;
    options.mode = mode;
    options.partial = partial;
    options.background = {9, 9, 9};
    DecodeReport report;
    const Bytes pixels = pixels_in(decode_image(view_of(file), options, report));
    if (to != nullptr) {
        *to = std::move(report);
    }
    return pixels;
}

Bytes gray(const Bytes& file) { return decoded(file, PixelMode::kGray); }
Bytes rgb(const Bytes& file) { return decoded(file, PixelMode::kRgb); }
Bytes rgba(const Bytes& file) { return decoded(file, PixelMode::kRgba); }

TEST_CASE("PNM: all seven kinds") {
    CHECK(gray(text("P1\n3 2\n1 0 1\n001")) == Bytes{0, 255, 0, 255, 255, 0});
    CHECK(gray(text("P2 3 1 4 # levels\n0 2 4\n")) == Bytes{0, 128, 255});
    CHECK(rgb(text("P3\n1 1 255\n1 2 3")) == Bytes{1, 2, 3});
    CHECK(gray(text("P4\n9 1\n", {0b10100000, 0b10000000})) ==
          Bytes{0, 255, 0, 255, 255, 255, 255, 255, 0});
    CHECK(gray(text("P5 2 1 255\n", {7, '\n'})) == Bytes{7, '\n'});
    CHECK(rgb(text("P6 1 1 255\n", {1, 2, 3})) == Bytes{1, 2, 3});
    CHECK(rgba(text("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA\nENDHDR\n",
                    {1, 2, 3, 4})) == Bytes{1, 2, 3, 4});
    CHECK(rgba(text("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 1\nENDHDR\n", {1, 0})) ==
          Bytes{255, 255, 255, 0});
}

TEST_CASE("PNM: samples are scaled by maxval; of 65535 the high byte is kept") {
    CHECK(gray(text("P5 3 1 100\n", {0, 50, 100})) == Bytes{0, 128, 255});
    CHECK(gray(text("P5 2 1 65535\n", {0x12, 0xFF, 0xFF, 0xFF})) == Bytes{0x12, 0xFF});
    CHECK(gray(text("P5 2 1 1023\n", {0x03, 0xFF, 0x02, 0x00})) == Bytes{255, 128});
    CHECK(gray(text("P2 2 1 65535\n65535 256\n")) == Bytes{255, 1});
}

TEST_CASE("PNM: what is missing is an error, or rows and background") {
    const Bytes raw = text("P5 2 3 255\n", {1, 2, 3, 4, 5});
    CHECK_THROWS_AS(gray(raw), ImageDamagedError);
    DecodeReport report;
    CHECK(decoded(raw, PixelMode::kGray, &report, true) == Bytes{1, 2, 3, 4, 9, 9});
    CHECK(report.damaged);
    CHECK(report.rows_read == 2);
    CHECK(probe_image(view_of(raw), {}).damaged);
    const Bytes plain = text("P2 2 2 255\n1 2 3 x");
    CHECK_THROWS_AS(gray(plain), ImageDamagedError);
    CHECK(decoded(plain, PixelMode::kGray, &report, true) == Bytes{1, 2, 9, 9});
    CHECK(report.rows_read == 1);
}

TEST_CASE("PNM: headers that can't be are refused") {
    for (const char* header :
         {"P5 0 1 255\n", "P5 1 1 0\n", "P5 1 1 65536\n", "P6 -1 1 255\n", "P5 1",
          "P7\nWIDTH 1\nENDHDR\n", "P7\nBREADTH 1\n", "P2 1 1 5\n6\n"}) {
        CAPTURE(header);
        CHECK_THROWS_AS(gray(text(header, {0, 0, 0, 0})), ImageDamagedError);
    }
    CHECK_THROWS_AS(gray(text("P5 99999999999999999999 1 255\n")), ImageLimitError);
    CHECK_THROWS_AS(gray(text("P5 4294967296 4294967296 255\n")), ImageLimitError);
    CHECK_THROWS_AS(gray(text("P7\nWIDTH 1\nHEIGHT 1\nDEPTH 9\nMAXVAL 1\nENDHDR\n")),
                    ImageUnsupportedError);
    CHECK_THROWS_AS(gray(text("P5 #" + std::string(100000, 'x'))), ImageDamagedError);
}

void put(Bytes& to, std::size_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
        to.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
}

struct BmpFields {
    std::size_t width;
    std::size_t height; // negative ones in two's complement
    std::size_t bits;
    std::size_t coding = 0;
};

Bytes bmp(const BmpFields& fields, const Bytes& palette, const Bytes& pixels) {
    Bytes file = {'B', 'M'};
    put(file, 54 + palette.size() + pixels.size(), 4);
    put(file, 0, 4);
    put(file, 54 + palette.size(), 4);
    put(file, 40, 4);
    put(file, fields.width, 4);
    put(file, fields.height, 4);
    put(file, 1, 2);
    put(file, fields.bits, 2);
    put(file, fields.coding, 4);
    file.resize(54);
    append(file, palette);
    append(file, pixels);
    return file;
}

Bytes palette_of(std::size_t count) {
    Bytes palette;
    for (std::size_t i = 0; i < count; ++i) {
        put(palette, i * 0x010101, 4);
    }
    return palette;
}

TEST_CASE("BMP: rows from the bottom up, or from the top down") {
    const Bytes pixels = {1, 2, 3, 0, 4, 5, 6, 0};
    CHECK(rgb(bmp({1, 2, 24}, {}, pixels)) == Bytes{6, 5, 4, 3, 2, 1});
    CHECK(rgb(bmp({1, 0xFFFFFFFE, 24}, {}, pixels)) == Bytes{3, 2, 1, 6, 5, 4});
}

TEST_CASE("BMP: palettes of 1, 4 and 8 bits") {
    const Bytes two = {1, 2, 3, 0, 4, 5, 6, 0}; // blue, green, red
    CHECK(rgb(bmp({2, 1, 1}, two, {0b01000000, 0, 0, 0})) == Bytes{3, 2, 1, 6, 5, 4});
    CHECK(gray(bmp({3, 1, 4}, palette_of(16), {0x1F, 0x20, 0, 0})) == Bytes{1, 15, 2});
    CHECK(gray(bmp({2, 1, 8}, palette_of(256), {200, 7, 0, 0})) == Bytes{200, 7});
    CHECK(gray(bmp({2, 1, 8}, palette_of(2), {1, 7, 0, 0})) == Bytes{1, 0}); // beyond it: black
}

TEST_CASE("BMP: 16 and 32 bits, by default and by masks") {
    // 0 rrrrr ggggg bbbbb: 31, 0, 16; 16 * 255 / 31 is 131.6
    CHECK(rgb(bmp({1, 1, 16}, {}, {0x10, 0x7C, 0, 0})) == Bytes{255, 0, 131});
    CHECK(rgba(bmp({1, 1, 32}, {}, {1, 2, 3, 99})) == Bytes{3, 2, 1, 255});
    Bytes masks; // red lowest, then green, blue and alpha
    for (const std::size_t mask : {0xFFU, 0xFF00U, 0xFF0000U, 0xFF000000U}) {
        put(masks, mask, 4);
    }
    CHECK(rgba(bmp({1, 1, 32, 6}, masks, {1, 2, 3, 4})) == Bytes{1, 2, 3, 4});
    Bytes gaps;
    for (const std::size_t mask : {0xF0FU, 0xFFU, 0xFFU}) {
        put(gaps, mask, 4);
    }
    CHECK_THROWS_AS(rgb(bmp({1, 1, 32, 3}, gaps, {1, 2, 3, 4})), ImageUnsupportedError);
}

// Two pixels behind OS/2's short header.
Bytes os2_bmp(std::size_t bits, const Bytes& palette, const Bytes& pixels) {
    Bytes file = {'B', 'M'};
    put(file, 0, 8);
    put(file, 14 + 12 + palette.size(), 4);
    put(file, 12, 4);
    for (const std::size_t field : {std::size_t{2}, std::size_t{1}, std::size_t{1}, bits}) {
        put(file, field, 2); // width, height, planes, bits
    }
    append(file, palette);
    append(file, pixels);
    return file;
}

TEST_CASE("BMP: the header of OS/2") {
    CHECK(rgb(os2_bmp(1, {1, 2, 3, 4, 5, 6}, {0b01000000, 0, 0, 0})) == Bytes{3, 2, 1, 6, 5, 4});
    CHECK(rgb(os2_bmp(32, {}, {1, 2, 3, 0, 4, 5, 6, 0})) == Bytes{3, 2, 1, 6, 5, 4});
}

TEST_CASE("BMP: run lengths of 8 and 4 bits") {
    // Two of 5; three literals 1 2 3, padded; end of line; move right by one; one of 7; end.
    const Bytes runs = {2, 5, 0, 3, 1, 2, 3, 0, 0, 0, 0, 2, 1, 0, 1, 7, 0, 1};
    CHECK(gray(bmp({5, 2, 8, 1}, palette_of(256), runs)) == Bytes{0, 7, 0, 0, 0, 5, 5, 1, 2, 3});
    const Bytes nibbles = {3, 0x12, 0, 3, 0x34, 0x50, 0, 1};
    CHECK(gray(bmp({6, 1, 4, 2}, palette_of(16), nibbles)) == Bytes{1, 2, 1, 3, 4, 5});
}

TEST_CASE("BMP: what is missing is an error, or rows and background") {
    const Bytes plain = bmp({1, 2, 8}, palette_of(256), {3, 0, 0, 0});
    CHECK_THROWS_AS(gray(plain), ImageDamagedError);
    DecodeReport report;
    CHECK(decoded(plain, PixelMode::kGray, &report, true) == Bytes{9, 3});
    CHECK(report.damaged);
    CHECK(report.rows_read == 1);
    CHECK(probe_image(view_of(plain), {}).damaged);
    for (const Bytes& runs : {Bytes{2, 3, 0, 0, 2, 3}, Bytes{2, 3, 0, 0, 0, 1, 0, 0},
                              Bytes{2, 3, 0, 0, 3, 3}, Bytes{0, 9, 1}}) {
        const Bytes file = bmp({2, 3, 8, 1}, palette_of(256), runs);
        CHECK_THROWS_AS(gray(file), ImageDamagedError);
        decoded(file, PixelMode::kGray, &report, true);
        CHECK(report.damaged);
    }
}

TEST_CASE("BMP: headers that can't be are refused") {
    CHECK_THROWS_AS(gray(bmp({1, 1, 7}, {}, {0, 0, 0, 0})), ImageDamagedError);
    CHECK_THROWS_AS(gray(bmp({0, 1, 24}, {}, {0, 0, 0, 0})), ImageDamagedError);
    CHECK_THROWS_AS(gray(bmp({1, 0x80000000, 24}, {}, {0, 0, 0, 0})), ImageDamagedError);
    CHECK_THROWS_AS(gray(bmp({1, 1, 24, 4}, {}, {0, 0, 0, 0})), ImageUnsupportedError);
    CHECK_THROWS_AS(gray(bmp({60000, 60000, 24}, {}, {0, 0, 0, 0})), ImageLimitError);
}

} // namespace
} // namespace framejudge::test
