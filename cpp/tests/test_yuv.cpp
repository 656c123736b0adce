// Video frames against the definitions of BT.601, BT.709 and BT.2020 in float64, in every tier.
#include "framejudge/isa.hpp"
#include "framejudge/yuv.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <doctest.h>
#include <random>
#include <string>

namespace framejudge::test {
namespace {

// Rounding to a level, and the arithmetic of NOTE [yuv arithmetic]: luma's product and factor are
// off by 0.73 / 64 of a level at most, each of two chroma products by 1 / 64.
constexpr double kTolerance = 0.5 + 2.73 / 64.0;

constexpr YuvMatrix kMatrices[] = {YuvMatrix::kBt601, YuvMatrix::kBt709, YuvMatrix::kBt2020};

struct TestFrame {
    std::vector<std::uint8_t> bytes[3];
    YuvFrame frame;

    // The stored number of a sample, component 0 to 2, that covers the pixel (x, y).
    [[nodiscard]] int sample(std::size_t component, std::size_t x, std::size_t y) const {
        const YuvFormat& format = frame.format;
        const bool is_chroma = component != 0;
        const std::size_t column = is_chroma ? x >> format.shift_x : x;
        const std::size_t row = is_chroma ? y >> format.shift_y : y;
        std::size_t plane = component;
        std::size_t index = column;
        if (is_chroma && format.chroma != Chroma::kPlanar) {
            plane = 1;
            const bool is_second = (component == 2) == (format.chroma == Chroma::kUv);
            index = column * 2 + (is_second ? 1 : 0);
        }
        const std::uint8_t* from = bytes[plane].data() + row * frame.strides[plane];
        if (format.bits == 8) {
            return from[index];
        }
        return (from[index * 2] | from[index * 2 + 1] << 8) >> format.padding;
    }
};

// Random samples, or all of a component the same if `flat` says so.
TestFrame make_frame(const YuvFormat& format, std::size_t width, std::size_t height,
                     YuvMatrix matrix, bool is_full_range, const int* flat = nullptr) {
    std::mt19937 random(static_cast<unsigned>(width * 7919 + height));
    TestFrame made;
    made.frame = {{}, {}, width, height, format, matrix, is_full_range};
    for (std::size_t plane = 0; plane < format.plane_count(); ++plane) {
        const PlaneSize size = yuv_plane_size(format, width, height, plane);
        const std::size_t stride = size.row_bytes + 2 * plane; // rows that lie apart
        made.bytes[plane].resize(stride * (size.rows - 1) + size.row_bytes);
        const std::size_t step = format.sample_bytes();
        for (std::size_t y = 0; y < size.rows; ++y) {
            for (std::size_t x = 0; x < size.row_bytes; x += step) {
                const unsigned number = flat == nullptr
                                            ? static_cast<unsigned>(random()) %
                                                  (1U << static_cast<unsigned>(format.bits))
                                            : static_cast<unsigned>(flat[plane]);
                const unsigned stored = number << static_cast<unsigned>(format.padding);
                std::uint8_t* to = made.bytes[plane].data() + y * stride + x;
                to[0] = static_cast<std::uint8_t>(stored);
                if (step == 2) {
                    to[1] = static_cast<std::uint8_t>(stored >> 8U);
                }
            }
        }
        made.frame.planes[plane] = made.bytes[plane].data();
        made.frame.strides[plane] = stride;
    }
    return made;
}

struct Rgb {
    double value[3];
};

// The equations of the recommendations, from numbers to levels.
Rgb exact(const YuvFrame& frame, int luma, int blue, int red) {
    const double step = std::ldexp(1.0, frame.format.bits - 8);
    const double full = std::ldexp(1.0, frame.format.bits) - 1.0;
    const double y = frame.is_full_range ? luma / full : (luma - 16 * step) / (219 * step);
    const double range = frame.is_full_range ? full : 224 * step;
    const double u = (blue - 128 * step) / range;
    const double v = (red - 128 * step) / range;
    const double kr = frame.matrix == YuvMatrix::kBt601   ? 0.299
                      : frame.matrix == YuvMatrix::kBt709 ? 0.2126
                                                          : 0.2627;
    const double kb = frame.matrix == YuvMatrix::kBt601   ? 0.114
                      : frame.matrix == YuvMatrix::kBt709 ? 0.0722
                                                          : 0.0593;
    const double r = y + 2 * (1 - kr) * v;
    const double b = y + 2 * (1 - kb) * u;
    const double g = (y - kr * r - kb * b) / (1 - kr - kb);
    const auto level = [](double part) { return std::clamp(part, 0.0, 1.0) * 255.0; };
    return {{level(r), level(g), level(b)}};
}

double worst_error(const TestFrame& made, const Pixels& pixels) {
    double worst = 0.0;
    const bool is_gray = made.frame.format.chroma == Chroma::kNone;
    const int neutral = 1 << (made.frame.format.bits - 1);
    for (std::size_t y = 0; y < pixels.height(); ++y) {
        for (std::size_t x = 0; x < pixels.width(); ++x) {
            const Rgb expected =
                exact(made.frame, made.sample(0, x, y), is_gray ? neutral : made.sample(1, x, y),
                      is_gray ? neutral : made.sample(2, x, y));
            for (std::size_t c = 0; c < 3; ++c) {
                worst = std::max(worst, std::abs(expected.value[c] - pixels.row(y)[x * 3 + c]));
            }
        }
    }
    return worst;
}

bool same(const Pixels& a, const Pixels& b) {
    return a.width() == b.width() && a.height() == b.height() && a.channels() == b.channels() &&
           std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// Calls `check` with every tier in use, and puts back the one that was.
template <typename Check> void in_every_tier(Check check) {
    const Isa before = active_isa();
    for (const Isa isa : supported_isas()) {
        set_isa(isa_name(isa));
        CAPTURE(isa_name(isa));
        check();
    }
    set_isa(isa_name(before));
}

} // namespace

TEST_CASE("every layout, matrix and range is converted as its definition says") {
    in_every_tier([] {
        for (const YuvFormat& format : yuv_formats()) {
            CAPTURE(format.name);
            for (const auto& [width, height] :
                 {std::pair{1U, 1U}, {3U, 5U}, {33U, 2U}, {130U, 3U}}) {
                for (const YuvMatrix matrix : kMatrices) {
                    for (const bool is_full_range : {false, true}) {
                        const TestFrame made =
                            make_frame(format, width, height, matrix, is_full_range);
                        const Pixels pixels = yuv_to_pixels(made.frame, PixelMode::kRgb, 0);
                        CHECK(worst_error(made, pixels) <= kTolerance);
                    }
                }
            }
        }
    });
}

TEST_CASE("white, black and the primaries come out as themselves") {
    // BT.709's studio-range numbers of 100 % colour bars.
    const int bars[][6] = {{235, 128, 128, 255, 255, 255},
                           {16, 128, 128, 0, 0, 0},
                           {63, 102, 240, 255, 0, 0},
                           {173, 42, 26, 0, 255, 0},
                           {32, 240, 118, 0, 0, 255}};
    in_every_tier([&] {
        for (const auto& bar : bars) {
            const TestFrame made =
                make_frame(yuv_format_named("yuv420p"), 64, 4, YuvMatrix::kBt709, false, bar);
            const Pixels pixels = yuv_to_pixels(made.frame, PixelMode::kRgb, 0);
            for (std::size_t c = 0; c < 3; ++c) { // a step of the numbers is 1.8 levels of blue
                CHECK(std::abs(pixels.data()[c] - bar[3 + c]) <= 1);
            }
        }
    });
}

TEST_CASE("tiers agree to the bit, whole and resized") {
    const std::string before(isa_name(active_isa()));
    for (const char* name : {"yuv420p", "yuv422p10le", "nv21", "p010le", "yuv444p", "gray"}) {
        const TestFrame made =
            make_frame(yuv_format_named(name), 101, 67, YuvMatrix::kBt601, false);
        set_isa("baseline");
        const Pixels whole = yuv_to_pixels(made.frame, PixelMode::kRgb, 0);
        const Pixels small =
            yuv_to_resized(made.frame, PixelMode::kRgb, 37, 23, Filter::kBilinear, 90);
        in_every_tier([&] {
            CHECK(same(whole, yuv_to_pixels(made.frame, PixelMode::kRgb, 0)));
            CHECK(same(small,
                       yuv_to_resized(made.frame, PixelMode::kRgb, 37, 23, Filter::kBilinear, 90)));
        });
        set_isa(before);
    }
}

TEST_CASE("a frame of one colour keeps it at every size and turn") {
    const int flat[] = {120, 90, 200};
    const TestFrame made =
        make_frame(yuv_format_named("yuv420p"), 75, 41, YuvMatrix::kBt601, false, flat);
    const Pixels whole = yuv_to_pixels(made.frame, PixelMode::kRgb, 0);
    for (const int rotation : {0, 90, 180, 270}) {
        for (const auto& [width, height] : {std::pair{1U, 1U}, {16U, 9U}, {200U, 33U}}) {
            const Pixels small =
                yuv_to_resized(made.frame, PixelMode::kRgb, width, height, Filter::kArea, rotation);
            REQUIRE(small.width() == width);
            REQUIRE(small.height() == height);
            for (std::size_t i = 0; i < small.size(); ++i) {
                CHECK(small.data()[i] == whole.data()[i % 3]);
            }
        }
    }
}

TEST_CASE("resizing planes comes within four levels of the exact mean") {
    // A plane is rounded twice, so off by one number at most: 1.164 levels of luma and 2.017 of
    // blue; then the pixel is rounded. Nothing is clipped here, as clipping and filtering can't
    // change places.
    constexpr double kPlanes = 1.164 + 2.017 + kTolerance;
    TestFrame made = make_frame(yuv_format_named("yuv444p"), 96, 64, YuvMatrix::kBt601, false);
    for (std::size_t plane = 0; plane < 3; ++plane) {
        for (std::uint8_t& sample : made.bytes[plane]) {
            sample = static_cast<std::uint8_t>((plane == 0 ? 118 : 120) + sample / 16);
        }
    }
    const Pixels small = yuv_to_resized(made.frame, PixelMode::kRgb, 32, 16, Filter::kArea, 0);
    for (std::size_t y = 0; y < 16; ++y) {
        for (std::size_t x = 0; x < 32; ++x) {
            Rgb mean = {{0.0, 0.0, 0.0}};
            for (std::size_t i = 0; i < 12; ++i) {
                const std::size_t column = x * 3 + i % 3;
                const std::size_t row = y * 4 + i / 3;
                const Rgb pixel = exact(made.frame, made.sample(0, column, row),
                                        made.sample(1, column, row), made.sample(2, column, row));
                for (std::size_t c = 0; c < 3; ++c) {
                    mean.value[c] += pixel.value[c] / 12.0;
                }
            }
            for (std::size_t c = 0; c < 3; ++c) {
                CHECK(std::abs(small.row(y)[x * 3 + c] - mean.value[c]) <= kPlanes);
            }
        }
    }
}

TEST_CASE("turning a resized frame is resizing it and turning the result") {
    const TestFrame made = make_frame(yuv_format_named("nv12"), 50, 34, YuvMatrix::kBt709, false);
    const Pixels upright = yuv_to_resized(made.frame, PixelMode::kRgb, 20, 12, Filter::kArea, 0);
    const Pixels left = yuv_to_resized(made.frame, PixelMode::kRgb, 12, 20, Filter::kArea, 90);
    const Pixels over = yuv_to_resized(made.frame, PixelMode::kRgb, 20, 12, Filter::kArea, 180);
    const Pixels right = yuv_to_resized(made.frame, PixelMode::kRgb, 12, 20, Filter::kArea, 270);
    for (std::size_t y = 0; y < 12; ++y) {
        for (std::size_t x = 0; x < 20; ++x) {
            const std::uint8_t* pixel = upright.row(y) + x * 3;
            CHECK(std::memcmp(pixel, left.row(19 - x) + y * 3, 3) == 0);
            CHECK(std::memcmp(pixel, over.row(11 - y) + (19 - x) * 3, 3) == 0);
            CHECK(std::memcmp(pixel, right.row(x) + (11 - y) * 3, 3) == 0);
        }
    }
}

TEST_CASE("gray is the stretched luma, and alpha is opaque") {
    const TestFrame made = make_frame(yuv_format_named("yuv420p"), 40, 8, YuvMatrix::kBt601, false);
    const Pixels gray = yuv_to_pixels(made.frame, PixelMode::kGray, 0);
    const Pixels rgba = yuv_to_pixels(made.frame, PixelMode::kRgba, 0);
    REQUIRE(gray.channels() == 1);
    REQUIRE(rgba.channels() == 4);
    for (std::size_t x = 0; x < 40; ++x) {
        const double level = std::clamp((made.sample(0, x, 3) - 16) * 255.0 / 219.0, 0.0, 255.0);
        CHECK(std::abs(gray.row(3)[x] - level) <= 0.5 + 0.73 / 64.0);
        CHECK(rgba.row(3)[x * 4 + 3] == 255);
    }
}

TEST_CASE("what can't be converted is refused by name") {
    CHECK_THROWS_WITH_AS(yuv_format_named("yuv9p"), doctest::Contains("got 'yuv9p'"), InvalidInput);
    CHECK_THROWS_WITH_AS(parse_yuv_matrix("rgb"), doctest::Contains("got 'rgb'"), InvalidInput);
    CHECK_THROWS_WITH_AS(orientation_of_rotation(45), doctest::Contains("got 45"), InvalidInput);
    TestFrame made = make_frame(yuv_format_named("p010le"), 4, 4, YuvMatrix::kBt601, false);
    CHECK_THROWS_AS(yuv_to_resized(made.frame, PixelMode::kRgb, 0, 4, Filter::kArea, 0),
                    InvalidInput);
    ++made.frame.planes[1];
    CHECK_THROWS_WITH_AS(yuv_to_pixels(made.frame, PixelMode::kRgb, 0),
                         doctest::Contains("odd address"), InvalidInput);
    made.frame.width = 0;
    CHECK_THROWS_WITH_AS(yuv_to_pixels(made.frame, PixelMode::kRgb, 0),
                         doctest::Contains("got 0 x 4"), InvalidInput);
}

} // namespace framejudge::test
