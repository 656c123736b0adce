// Normalised numbers against float64, in every tier; and straight from encoded bytes.
#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/tensor.hpp"
#include "pictures.hpp"
#include "reference.hpp"

#include <algorithm>
#include <doctest.h>

namespace framejudge::test {
namespace {

const MeanStd kMeanStd = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};

double expected(std::uint8_t sample, std::size_t channel) {
    return (sample / 255.0 - kMeanStd.mean[channel]) / kMeanStd.std[channel];
}

// NOTE [normalise tolerance]
// Both constants and the result are rounded to float32: three errors of 2^-24 of numbers that are
// below 5 here.
constexpr double kTolerance = 3 * 5 * 0x1p-24;

std::vector<float> floats_of(const TestPicture& picture, Layout layout) {
    std::vector<float> out(picture.width() * picture.height() * picture.view().channels);
    to_tensor({picture.view()}, kMeanStd, NumberType::kFloat32, layout, out.data());
    return out;
}

TEST_CASE("each sample becomes its number, in both layouts, in every tier") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const std::size_t width : {1U, 15U, 16U, 17U, 100U}) {
            const std::size_t height = 5;
            const TestPicture picture(width, height, 3, 2, 0, 255);
            const auto planar = floats_of(picture, Layout::kPlanar);
            const auto interleaved = floats_of(picture, Layout::kInterleaved);
            double worst = 0.0;
            for (std::size_t i = 0; i < 3 * width * height; ++i) {
                const std::size_t pixel = i / 3;
                const std::uint8_t sample = picture.at(pixel % width, pixel / width, i % 3);
                const double number = expected(sample, i % 3);
                worst = std::max(worst, std::fabs(interleaved[i] - number));
                worst = std::max(worst, std::fabs(planar[i % 3 * width * height + pixel] - number));
            }
            CHECK(worst <= kTolerance);
        }
    });
}

TEST_CASE("float16 is the float32 rounded to nearest, in every tier") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        const TestPicture picture(33, 7, 3, 2, 0, 255);
        for (const Layout layout : {Layout::kPlanar, Layout::kInterleaved}) {
            const auto floats = floats_of(picture, layout);
            std::vector<std::uint16_t> halves(floats.size());
            to_tensor({picture.view()}, kMeanStd, NumberType::kFloat16, layout, halves.data());
            for (std::size_t i = 0; i < floats.size(); ++i) {
                // Half of the last of 11 bits.
                const double allowed =
                    std::max(std::fabs(static_cast<double>(floats[i])) * 0x1p-11, 0x1p-25);
                CHECK(std::fabs(half_value(halves[i]) - static_cast<double>(floats[i])) <= allowed);
            }
        }
    });
}

TEST_CASE("every tier gives the same numbers, streamed past the cache or not") {
    // 3 * 860,001 float32 are more than the 8 MiB from which they are streamed; the odd count puts
    // each plane at another place in its cache line.
    for (const std::size_t width : {301U, 860001U}) {
        const TestPicture picture(width, 1, 3, 4, 0, 255);
        for (const Layout layout : {Layout::kPlanar, Layout::kInterleaved}) {
            std::vector<float> first;
            in_every_tier([&](const std::string& tier) {
                CAPTURE(tier);
                const auto numbers = floats_of(picture, layout);
                first = first.empty() ? numbers : first;
                CHECK(numbers == first);
            });
        }
    }
}

TEST_CASE("interleaved numbers are streamed to wherever they are to begin") {
    const std::size_t width = 1'500'000; // as float16 more than 8 MiB
    const TestPicture picture(width, 1, 3, 4, 0, 255);
    std::vector<std::uint16_t> whole(3 * width);
    to_tensor({picture.view()}, kMeanStd, NumberType::kFloat16, Layout::kInterleaved, whole.data());
    for (const std::size_t sample : {std::size_t{0}, 3 * width / 2, 3 * width - 1}) {
        const double number = expected(picture.at(sample / 3, 0, sample % 3), sample % 3);
        CHECK(std::fabs(half_value(whole[sample]) - number) <= 5 * 0x1p-11);
    }
    for (const std::size_t shift : {1U, 7U, 32U}) {
        std::vector<std::uint16_t> shifted(3 * width + shift + 1, 0x7e01);
        to_tensor({picture.view()}, kMeanStd, NumberType::kFloat16, Layout::kInterleaved,
                  shifted.data() + shift);
        CHECK(std::equal(whole.begin(), whole.end(),
                         shifted.begin() + static_cast<std::ptrdiff_t>(shift)));
        CHECK(shifted[shift - 1] == 0x7e01);
        CHECK(shifted.back() == 0x7e01);
    }
}

TEST_CASE("what isn't alike, or has no size, is refused") {
    const TestPicture a(4, 3, 3, 1, 0, 255);
    const TestPicture b(3, 4, 3, 1, 0, 255);
    const TestPicture c(4, 3, 4, 1, 0, 255);
    float out[200];
    const auto run = [&](const std::vector<PixelView>& views, const MeanStd& mean_std) {
        to_tensor(views, mean_std, NumberType::kFloat32, Layout::kPlanar, out);
    };
    CHECK_THROWS_AS(run({a.view(), b.view()}, kMeanStd), InvalidInput);
    CHECK_THROWS_AS(run({c.view()}, kMeanStd), InvalidInput);
    CHECK_THROWS_AS(run({a.view()}, {{0, 0, 0}, {1, 0, 1}}), InvalidInput);
    CHECK_THROWS_AS(run({a.view()}, {{0, NAN, 0}, {1, 1, 1}}), InvalidInput);
    CHECK_THROWS_AS(parse_layout("HWC"), InvalidInput);
    CHECK_THROWS_AS(parse_number_type("int8"), InvalidInput);
    CHECK_THROWS_AS(parse_fit("fill"), InvalidInput);
}

TensorOptions options_for(std::size_t width, std::size_t height, Fit fit) {
    TensorOptions options{};
    options.width = width;
    options.height = height;
    options.fit = fit;
    options.mean_std = {{0, 0, 0}, {1.0 / 255, 1.0 / 255, 1.0 / 255}}; // numbers are levels
    return options;
}

std::vector<float> tensor_of(const TensorSource& source, const TensorOptions& options) {
    std::vector<float> out(3 * options.width * options.height);
    const auto results = decode_to_tensor({source}, options, 1, out.data());
    CHECK(results.front().error == nullptr);
    return out;
}

// Four columns of one level each, and as many rows.
std::vector<std::uint8_t> bars() {
    std::vector<std::uint8_t> pixels;
    for (std::size_t i = 0; i < std::size_t{80} * 20; ++i) {
        pixels.insert(pixels.end(), 3, static_cast<std::uint8_t>(i % 80 / 20 * 60));
    }
    return pixels;
}

TEST_CASE("other proportions are stretched, cut or padded") {
    const auto pixels = bars();
    const TensorSource source{{nullptr, 0}, {pixels.data(), 80, 20, 3, 240}};
    const auto at = [](const std::vector<float>& tensor, std::size_t x, std::size_t y) {
        return static_cast<double>(tensor[y * 40 + x]);
    };
    const auto stretched = tensor_of(source, options_for(40, 40, Fit::kStretch));
    CHECK(at(stretched, 5, 20) == doctest::Approx(0));
    CHECK(at(stretched, 35, 20) == doctest::Approx(180));
    const auto cut = tensor_of(source, options_for(40, 40, Fit::kCrop)); // columns 30 to 50
    CHECK(at(cut, 5, 20) == doctest::Approx(60));
    CHECK(at(cut, 35, 20) == doctest::Approx(120));
    TensorOptions padding = options_for(40, 40, Fit::kPad);
    padding.pad_color = {7, 8, 9};
    const auto padded = tensor_of(source, padding); // rows 15 to 25
    CHECK(at(padded, 20, 14) == doctest::Approx(7));
    CHECK(at(padded, 20, 25) == doctest::Approx(7));
    CHECK(at(padded, 5, 15) == doctest::Approx(0));
    CHECK(at(padded, 35, 24) == doctest::Approx(180));
    CHECK(static_cast<double>(padded[std::size_t{40} * 40]) == doctest::Approx(8));
}

TEST_CASE("a JPEG is decoded small, and one bad item spoils no other") {
    const TestPicture noise(64, 48, 3, 3, 100, 110);
    const auto jpeg = encode_jpeg(noise.view(), 95);
    const std::uint8_t junk[] = {1, 2, 3, 4};
    const TensorOptions options = options_for(16, 12, Fit::kStretch);
    std::vector<float> out(std::size_t{3} * 3 * 16 * 12, -1.0F);
    const auto results = decode_to_tensor({{{jpeg.data(), jpeg.size()}, {}},
                                           {{junk, sizeof(junk)}, {}},
                                           {{jpeg.data(), jpeg.size()}, {}}},
                                          options, 2, out.data());
    CHECK(results[0].report.scale_denominator == 4);
    CHECK(results[0].error == nullptr);
    CHECK_THROWS_AS(std::rethrow_exception(results[1].error), ImageUnsupportedError);
    const std::size_t size = out.size() / 3;
    for (std::size_t i = 0; i < size; ++i) {
        CHECK(std::fabs(out[i] - 105.0F) < 6.0F); // within the noise
        CHECK(std::isnan(out[size + i]));
        CHECK(out[2 * size + i] == out[i]);
    }
}

} // namespace
} // namespace framejudge::test
