// PNG files put together by hand: what their pixels are, and what is said of damaged ones.
#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"
#include "png_files.hpp"
#include "reference.hpp"

#include <doctest.h>
#include <random>

namespace framejudge::test {
namespace {

constexpr PixelMode kModes[] = {PixelMode::kGray, PixelMode::kRgb, PixelMode::kRgba};

Bytes decoded(const Bytes& file, PixelMode mode = PixelMode::kRgb) {
    DecodeOptions options;
    options.mode = mode;
    DecodeReport report;
    const Pixels pixels = decode_image(view_of(file), options, report);
    CHECK_FALSE(report.damaged);
    CHECK(report.rows_read == pixels.height());
    return pixels_in(pixels);
}

struct Partial {
    Bytes pixels;
    DecodeReport report;
};

Partial decoded_partly(const Bytes& file, PixelMode mode = PixelMode::kGray) {
    DecodeOptions options;
    options.mode = mode;
    options.partial = true;
    options.background = {9, 9, 9};
    Partial partial;
    partial.pixels = pixels_in(decode_image(view_of(file), options, partial.report));
    return partial;
}

std::string error_of(const Bytes& file) {
    try {
        decoded(file);
    } catch (const ImageDamagedError& error) {
        return error.what();
    }
    return "no error";
}

TEST_CASE("samples of 1, 2 and 4 bits are spread over 0 to 255") {
    CHECK(decoded(png_of({5, 1, 1, 0}, {0, 0b10110000}), PixelMode::kGray) ==
          Bytes{255, 0, 255, 255, 0});
    CHECK(decoded(png_of({3, 1, 2, 0}, {0, 0b00011011}), PixelMode::kGray) == Bytes{0, 85, 170});
    CHECK(decoded(png_of({3, 1, 4, 0}, {0, 0x0F, 0x70}), PixelMode::kGray) == Bytes{0, 255, 119});
}

TEST_CASE("of 16-bit samples the high byte is kept") {
    CHECK(decoded(png_of({2, 1, 16, 0}, {0, 0x01, 0xFF, 0xAB, 0x00}), PixelMode::kGray) ==
          Bytes{0x01, 0xAB});
    CHECK(decoded(png_of({1, 1, 16, 2}, {0, 1, 255, 2, 255, 3, 255})) == Bytes{1, 2, 3});
    CHECK(decoded(png_of({1, 1, 16, 6}, {0, 1, 0, 2, 0, 3, 0, 4, 0}), PixelMode::kRgba) ==
          Bytes{1, 2, 3, 4});
    CHECK(decoded(png_of({1, 1, 16, 4}, {0, 7, 0, 8, 0}), PixelMode::kRgba) == Bytes{7, 7, 7, 8});
}

TEST_CASE("a palette gives its colours, their alpha, and black beyond its end") {
    Bytes between = chunk("PLTE", {10, 20, 30, 40, 50, 60});
    append(between, chunk("tRNS", {128}));
    const Bytes file = png_of({3, 1, 8, 3}, {0, 0, 1, 2}, between);
    CHECK(decoded(file, PixelMode::kRgba) == Bytes{10, 20, 30, 128, 40, 50, 60, 255, 0, 0, 0, 255});
    CHECK(decoded(file) == Bytes{10, 20, 30, 40, 50, 60, 0, 0, 0});
    DecodeReport report;
    decode_image(view_of(file), {}, report);
    CHECK(report.warnings == std::vector<std::string>{
                                 "PNG: palette indices beyond the palette's 2 colours are black"});
    CHECK(decoded(png_of({3, 1, 1, 3}, {0, 0b01000000}, chunk("PLTE", {1, 2, 3, 4, 5, 6}))) ==
          Bytes{1, 2, 3, 4, 5, 6, 1, 2, 3});
}

TEST_CASE("a transparent colour is compared with all its bits, and keeps its colour") {
    const Bytes rgb = png_of({2, 1}, {0, 1, 2, 3, 1, 2, 4}, chunk("tRNS", {0, 1, 0, 2, 0, 3}));
    CHECK(decoded(rgb, PixelMode::kRgba) == Bytes{1, 2, 3, 0, 1, 2, 4, 255});
    CHECK(decoded(rgb) == Bytes{1, 2, 3, 1, 2, 4});
    const Bytes gray16 = png_of({2, 1, 16, 0}, {0, 5, 1, 5, 2}, chunk("tRNS", {5, 2}));
    CHECK(decoded(gray16, PixelMode::kRgba) == Bytes{5, 5, 5, 255, 5, 5, 5, 0});
    const Bytes gray2 = png_of({3, 1, 2, 0}, {0, 0b00011011}, chunk("tRNS", {0, 1}));
    CHECK(decoded(gray2, PixelMode::kRgba) ==
          Bytes{0, 0, 0, 255, 85, 85, 85, 0, 170, 170, 170, 255});
}

TEST_CASE("gray is BT.601 luma") {
    // 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
    CHECK(decoded(png_of({1, 1}, {0, 200, 100, 50}), PixelMode::kGray) == Bytes{124});
}

// The seven passes of an 8 x 8 picture whose pixels count from 0 to 63.
Bytes adam7_rows() {
    constexpr int kPasses[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                   {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    Bytes rows;
    for (const auto& [first_x, first_y, step_x, step_y] : kPasses) {
        for (int y = first_y; y < 8; y += step_y) {
            rows.push_back(0);
            for (int x = first_x; x < 8; x += step_x) {
                rows.push_back(static_cast<std::uint8_t>(8 * y + x));
            }
        }
    }
    return rows;
}

TEST_CASE("an interlaced picture has its pixels where they belong") {
    Bytes expected;
    for (std::uint8_t i = 0; i < 64; ++i) {
        expected.push_back(i);
    }
    CHECK(decoded(png_of({8, 8, 8, 0, 1}, adam7_rows()), PixelMode::kGray) == expected);
    // Smaller than a pass: passes without pixels have no rows.
    CHECK(decoded(png_of({1, 2, 8, 0, 1}, {0, 7, 0, 8}), PixelMode::kGray) == Bytes{7, 8});
}

TEST_CASE("a cut interlaced picture keeps the passes that are there") {
    const Bytes rows = adam7_rows();
    // 2 + 2 + 3 + 2 * 3 + 2 * 5 + 4 * 5 bytes are passes 1 to 6; then one of four rows of pass 7.
    const Bytes part(rows.begin(), rows.begin() + 43 + 9);
    const Partial partial = decoded_partly(png_of({8, 8, 8, 0, 1}, part));
    CHECK(partial.report.damaged);
    CHECK(partial.report.rows_read == 3);
    for (std::size_t y = 0; y < 8; ++y) {
        for (std::size_t x = 0; x < 8; ++x) {
            const bool is_there = y % 2 == 0 || y == 1;
            CHECK(partial.pixels[8 * y + x] == (is_there ? 8 * y + x : 9));
        }
    }
}

TEST_CASE("image data that end early are an error, or rows and background") {
    const Bytes file = png_of({2, 3, 8, 0}, {0, 1, 2, 0, 3, 4, 0, 5});
    CHECK(error_of(file) == "PNG: the image data (IDAT) end too early: 8 of 9 bytes came out");
    const Partial partial = decoded_partly(file);
    CHECK(partial.pixels == Bytes{1, 2, 3, 4, 9, 9});
    CHECK(partial.report.rows_read == 2);
    CHECK(partial.report.damaged);
    CHECK(partial.report.damage ==
          std::vector<std::string>{
              "PNG: the image data (IDAT) end too early: 8 of 9 bytes came out"});
}

TEST_CASE("a file cut in IDAT names the chunk, and its rows come back if asked for") {
    Bytes file = png_of({2, 3, 8, 0}, {0, 1, 2, 0, 3, 4, 0, 5, 6});
    file.resize(8 + 25 + 8 + 2 + 5 + 7); // signature, IHDR, IDAT's start; zlib; 7 of 9 bytes
    CHECK(error_of(file) ==
          "PNG: IDAT at byte 33: the file ends inside it, 14 bytes of its data are there");
    const Partial partial = decoded_partly(file);
    CHECK(partial.pixels == Bytes{1, 2, 3, 4, 9, 9});
    CHECK(partial.report.rows_read == 2);
}

TEST_CASE("a wrong CRC in IDAT is named with its place; the pixels come back if asked for") {
    Bytes file = png_of({1, 1, 8, 0}, {0, 77});
    file[file.size() - 12 - 1] ^= 1U; // the last byte before IEND
    const std::string error = error_of(file);
    CHECK(error.find("PNG: IDAT at byte 33: its CRC is 0x") == 0);
    const Partial partial = decoded_partly(file);
    CHECK(partial.pixels == Bytes{77});
    CHECK(partial.report.damaged);
}

TEST_CASE("headers that can't be are errors, even where a part would do") {
    for (const Header& header :
         {Header{0, 1}, Header{1, 0}, Header{1, 1, 3, 0}, Header{1, 1, 16, 3}, Header{1, 1, 8, 1},
          Header{1, 1, 8, 5}, Header{1, 1, 8, 0, 2}, Header{0x80000000U, 1}}) {
        const Bytes file = png_of(header, {0, 0});
        CHECK_THROWS_AS(decoded(file), ImageDamagedError);
        CHECK_THROWS_AS(decoded_partly(file), ImageDamagedError);
        CHECK_THROWS_AS(probe_image(view_of(file), {}), ImageDamagedError);
    }
    CHECK(error_of(png_of({1, 1, 8, 3}, {0, 0})) == "PNG: a palette picture without PLTE");
    Bytes file = start_of({1, 1});
    append(file, chunk("IEND", {}));
    CHECK(error_of(file) == "PNG: there is no IDAT");
}

TEST_CASE("a filter that does not exist names its row") {
    const Bytes file = png_of({1, 3, 8, 0}, {0, 1, 7, 2, 0, 3});
    CHECK(error_of(file) == "PNG: row 1 of IDAT names filter 7; there are 0 to 4");
    CHECK(decoded_partly(file).pixels == Bytes{1, 9, 9});
}

TEST_CASE("a picture that IDAT can't hold is refused before memory is taken") {
    // 12,000 x 12,000 of 64 bits are 1.1 GB; the limit of pixels allows them.
    const Bytes file = png_of({12000, 12000, 16, 6}, {0, 0});
    CHECK(error_of(file).find("can't hold") != std::string::npos);
    CHECK_THROWS_AS(decoded(png_of({30000, 30000, 1, 0}, {0, 0})), ImageLimitError);
    CHECK_THROWS_AS(decoded(png_of({0x7FFFFFFF, 0x7FFFFFFF, 16, 6}, {0, 0})), ImageLimitError);
}

TEST_CASE("more image data than the picture has are a warning") {
    Bytes rows(5000);
    const Bytes file = png_of({1, 1, 8, 0}, rows);
    DecodeReport report;
    const Pixels pixels = decode_image(view_of(file), {}, report);
    CHECK(pixels.size() == 3);
    CHECK_FALSE(report.damaged);
    CHECK(report.warnings ==
          std::vector<std::string>{
              "PNG: IDAT holds more than the picture; the rest was not inflated"});
}

TEST_CASE("what is broken beside the pixels is a warning") {
    Bytes text = chunk("tEXt", {65});
    text.back() ^= 1U;
    Bytes file = png_of({1, 1, 8, 0}, {0, 5}, text);
    file.push_back(0);
    DecodeReport report;
    decode_image(view_of(file), {}, report);
    REQUIRE(report.warnings.size() == 2);
    CHECK(report.warnings[0].find("PNG: tEXt at byte 33: its CRC is") == 0);
    CHECK(report.warnings[1].find("PNG: 1 bytes after IEND") == 0);
}

TEST_CASE("image data may lie in any number of chunks, empty ones too") {
    const Bytes stream = stored_zlib({0, 1, 2, 0, 3, 4});
    Bytes file = start_of({2, 2, 8, 0});
    for (const std::uint8_t byte : stream) {
        append(file, chunk("IDAT", {}));
        append(file, chunk("IDAT", {byte}));
    }
    append(file, chunk("IEND", {}));
    CHECK(decoded(file, PixelMode::kGray) == Bytes{1, 2, 3, 4});
}

TEST_CASE("eXIf turns the picture, and so does XMP where there is none") {
    const Bytes exif = {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0,
                        3,   0,   0, 0,  1, 0, 6, 0, 0, 0, 0,    0,    0};
    const Bytes rows = {0, 1, 2, 0, 3, 4};
    const Bytes turned = {3, 1, 4, 2}; // a quarter clockwise
    CHECK(decoded(png_of({2, 2, 8, 0}, rows, chunk("eXIf", exif)), PixelMode::kGray) == turned);
    const std::string xmp = std::string("XML:com.adobe.xmp") + std::string(5, '\0') +
                            "<rdf:Description tiff:Orientation=\"6\"/>";
    const Bytes file = png_of({2, 2, 8, 0}, rows, chunk("iTXt", Bytes(xmp.begin(), xmp.end())));
    CHECK(decoded(file, PixelMode::kGray) == turned);
    CHECK(probe_image(view_of(file), {}).orientation == 6);
}

TEST_CASE("what is encoded is decoded to the same pixels, with the same bytes in every tier") {
    std::mt19937 random(11);
    for (const PixelMode mode : kModes) {
        const auto channels = static_cast<std::size_t>(mode);
        for (const std::size_t width : {1U, 2U, 7U, 33U, 130U}) {
            Pixels pixels(width, 9, channels);
            for (std::size_t i = 0; i < pixels.size(); ++i) {
                pixels.data()[i] = static_cast<std::uint8_t>(random() % 40 + i / 9);
            }
            Bytes first;
            in_every_tier([&](const std::string& tier) {
                CAPTURE(tier);
                const Bytes file = encode_png(pixels.view(), 6);
                first = first.empty() ? file : first;
                CHECK(file == first);
                CHECK(decoded(file, mode) == pixels_in(pixels));
            });
        }
    }
}

TEST_CASE("what can't be a PNG is refused by name") {
    const Pixels pixels(2, 2, 3);
    CHECK_THROWS_AS(encode_png(pixels.view(), 10), InvalidInput);
    CHECK_THROWS_AS(encode_png(pixels.view(), -1), InvalidInput);
    CHECK_THROWS_AS(encode_png({pixels.data(), 0, 2, 3, 6}, 6), InvalidInput);
    CHECK_THROWS_AS(encode_png({pixels.data(), 2, 2, 2, 6}, 6), InvalidInput);
}

} // namespace
} // namespace framejudge::test
