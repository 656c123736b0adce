// resize against the same filters in float64, in every tier.
#include "framejudge/errors.hpp"
#include "framejudge/resize.hpp"
#include "pictures.hpp"
#include "reference.hpp"

#include <algorithm>
#include <doctest.h>

namespace framejudge::test {
namespace {

constexpr Filter kFilters[] = {Filter::kArea, Filter::kBilinear, Filter::kBicubic,
                               Filter::kLanczos};
constexpr double kPi = 3.14159265358979323846;

// The textbook formulas of the four filters, and how far they reach.
double value_of(Filter filter, double x) {
    const double t = std::fabs(x);
    const auto sinc = [](double v) { return v == 0.0 ? 1.0 : std::sin(kPi * v) / (kPi * v); };
    switch (filter) {
    case Filter::kArea:
        return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case Filter::kBilinear:
        return t < 1.0 ? 1.0 - t : 0.0;
    case Filter::kBicubic:
        return t < 1.0   ? 1.5 * t * t * t - 2.5 * t * t + 1.0
               : t < 2.0 ? -0.5 * t * t * t + 2.5 * t * t - 4.0 * t + 2.0
                         : 0.0;
    case Filter::kLanczos:
        break;
    }
    return t < 3.0 ? sinc(t) * sinc(t / 3.0) : 0.0;
}

// Each row holds the weights of all samples in one result.
std::vector<std::vector<double>> matrix_of(Filter filter, std::size_t size, std::size_t count) {
    const double scale = static_cast<double>(size) / static_cast<double>(count);
    const double stretch = std::max(scale, 1.0);
    std::vector<std::vector<double>> matrix(count, std::vector<double>(size));
    for (std::size_t i = 0; i < count; ++i) {
        const double center = (static_cast<double>(i) + 0.5) * scale;
        double sum = 0.0;
        for (std::size_t k = 0; k < size; ++k) {
            matrix[i][k] = value_of(filter, (static_cast<double>(k) + 0.5 - center) / stretch);
            sum += matrix[i][k];
        }
        for (double& weight : matrix[i]) {
            weight /= sum;
        }
    }
    return matrix;
}

double largest_gain(const std::vector<std::vector<double>>& matrix) {
    double largest = 0.0;
    for (const auto& row : matrix) {
        double sum = 0.0;
        for (const double weight : row) {
            sum += std::fabs(weight);
        }
        largest = std::max(largest, sum);
    }
    return largest;
}

// The largest error of `got` over all samples, before any rounding.
double largest_error(const TestPicture& source, const Pixels& got, Filter filter) {
    const auto rows = matrix_of(filter, source.height(), got.height());
    const auto columns = matrix_of(filter, source.width(), got.width());
    double largest = 0.0;
    for (std::size_t y = 0; y < got.height(); ++y) {
        for (std::size_t x = 0; x < got.width(); ++x) {
            for (std::size_t channel = 0; channel < got.channels(); ++channel) {
                double sum = 0.0;
                for (std::size_t v = 0; v < source.height(); ++v) {
                    for (std::size_t u = 0; u < source.width(); ++u) {
                        sum += rows[y][v] * columns[x][u] * source.at(u, v, channel);
                    }
                }
                const double sample = got.row(y)[x * got.channels() + channel];
                largest = std::max(largest, std::fabs(sample - sum));
            }
        }
    }
    return largest;
}

struct Case {
    std::size_t width, height, to_width, to_height;
};

constexpr Case kCases[] = {{40, 30, 13, 7},  {30, 40, 30, 9}, {17, 33, 50, 70},
                           {64, 9, 5, 9},    {1, 1, 4, 3},    {70, 50, 1, 1},
                           {33, 29, 34, 28}, {5, 64, 70, 11}, {128, 20, 65, 19}};

// NOTE [resize tolerance]
// Each pass rounds to a whole level, half a level off at most. The second pass's filter may make
// the first one's error larger, by the sum of its weights' magnitudes, its gain. The rounded
// weights add less than 0.01. The pictures keep to levels 64 to 191, so that nothing is cut off
// between.
TEST_CASE("a resized picture is the filtered one, up to rounding, in every tier") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Case& size : kCases) {
            for (const std::size_t channels : {1U, 3U}) {
                const TestPicture source(size.width, size.height, channels, 7, 64, 191);
                for (const Filter filter : kFilters) {
                    const Pixels got = resize(source.view(), size.to_width, size.to_height, filter);
                    const double gain =
                        std::max(largest_gain(matrix_of(filter, size.width, size.to_width)),
                                 largest_gain(matrix_of(filter, size.height, size.to_height)));
                    CHECK(largest_error(source, got, filter) <= 0.5 + 0.5 * gain + 0.01);
                }
            }
        }
    });
}

TEST_CASE("every tier gives the same samples, of whatever contrast") {
    for (const Case& size : kCases) {
        for (const std::size_t channels : {1U, 3U, 4U}) {
            const TestPicture source(size.width, size.height, channels, 3, 0, 255);
            for (const Filter filter : kFilters) {
                std::vector<std::uint8_t> first;
                in_every_tier([&](const std::string& tier) {
                    CAPTURE(tier);
                    const auto got =
                        samples_of(resize(source.view(), size.to_width, size.to_height, filter));
                    first = first.empty() ? got : first;
                    CHECK(got == first);
                });
            }
        }
    }
}

TEST_CASE("a constant picture stays constant, however long the window") {
    // 27,690 weights of 22 fractional bits are 151.47 units each: rounded, they lose 0.3 per cent.
    for (const Case& size : {Case{27690, 1, 1, 1}, Case{1, 27690, 1, 3}, Case{31, 17, 64, 5}}) {
        for (const std::uint8_t level : {std::uint8_t{1}, std::uint8_t{254}, std::uint8_t{255}}) {
            const TestPicture source(size.width, size.height, 3, 1, level, level);
            for (const Filter filter : kFilters) {
                const auto got =
                    samples_of(resize(source.view(), size.to_width, size.to_height, filter));
                CHECK(std::count(got.begin(), got.end(), level) ==
                      static_cast<std::ptrdiff_t>(got.size()));
            }
        }
    }
}

TEST_CASE("colours that alpha hides don't show in what is resized") {
    // Red that can't be seen beside blue that can.
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < 8; ++i) {
        const bool is_hidden = i % 2 == 0;
        pixels.insert(pixels.end(), {static_cast<std::uint8_t>(is_hidden ? 255 : 0), 0,
                                     static_cast<std::uint8_t>(is_hidden ? 0 : 200),
                                     static_cast<std::uint8_t>(is_hidden ? 0 : 255)});
    }
    const Pixels got = resize({pixels.data(), 8, 1, 4, 32}, 4, 1, Filter::kArea);
    for (std::size_t x = 0; x < 4; ++x) {
        CHECK(got.row(0)[4 * x] == 0);
        CHECK(std::abs(got.row(0)[4 * x + 2] - 200) <= 1);
        CHECK(got.row(0)[4 * x + 3] == 128);
    }
}

TEST_CASE("rows may be apart, and what lies between them is not used") {
    const TestPicture whole(50, 40, 3, 5, 0, 255);
    const PixelView left{whole.view().data, 20, 40, 3, whole.view().stride};
    std::vector<std::uint8_t> copy;
    for (std::size_t y = 0; y < 40; ++y) {
        const std::uint8_t* row = left.data + y * left.stride;
        copy.insert(copy.end(), row, row + 60);
    }
    for (const Filter filter : kFilters) {
        CHECK(samples_of(resize(left, 7, 9, filter)) ==
              samples_of(resize({copy.data(), 20, 40, 3, 60}, 7, 9, filter)));
    }
}

TEST_CASE("a box of whole cells is the cells' means") {
    const TestPicture source(12, 8, 1, 5, 0, 255);
    const Pixels got = resize(source.view(), Box{4, 2, 8, 6}, 2, 2, Filter::kArea);
    for (std::size_t y = 0; y < 2; ++y) {
        for (std::size_t x = 0; x < 2; ++x) {
            double sum = 0;
            for (std::size_t i = 0; i < 4; ++i) {
                sum += source.at(4 + 2 * x + i % 2, 2 + 2 * y + i / 2, 0);
            }
            CHECK(std::fabs(got.row(y)[x] - sum / 4) <= 1.0);
        }
    }
}

TEST_CASE("rows that are taken as they come give the same picture, in every tier") {
    for (const Case& size : {Case{140, 300, 13, 150}, Case{97, 65, 40, 64}, Case{33, 29, 70, 80},
                             Case{64, 64, 5, 63}, Case{5, 3, 4, 2}}) {
        for (const std::size_t channels : {1U, 3U}) {
            const TestPicture source(size.width, size.height, channels, 9, 0, 255);
            const auto right = static_cast<double>(size.width);
            const auto bottom = static_cast<double>(size.height);
            for (const Box& box : {Box{0, 0, right, bottom}, Box{1.25, 0.5, right, bottom - 0.75},
                                   Box{0.5, bottom / 3, right - 1, bottom}}) {
                const ResizeTask task{box, size.to_width, size.to_height, Filter::kBilinear};
                REQUIRE(RowResizer::suits(size.width, size.height, task));
                in_every_tier([&](const std::string& tier) {
                    CAPTURE(tier);
                    RowResizer resizer(size.width, size.height, channels, task);
                    std::size_t made = 0;
                    for (std::size_t step = 1; made < size.height; step = step % 11 + 1) {
                        const std::size_t count =
                            std::min({step, resizer.room(), size.height - made});
                        for (std::size_t i = 0; i < count; ++i, ++made) {
                            std::copy_n(source.view().data + made * source.view().stride,
                                        source.view().stride, resizer.row(i));
                        }
                        resizer.take(count);
                    }
                    CHECK(samples_of(resizer.finish()) ==
                          samples_of(
                              resize(source.view(), box, task.width, task.height, task.filter)));
                });
            }
        }
    }
    const Box whole{0, 0, 40, 400};
    CHECK_FALSE(RowResizer::suits(40, 400, {whole, 30, 10, Filter::kArea})); // columns come first
    CHECK_FALSE(RowResizer::suits(40, 400, {whole, 40, 10, Filter::kArea})); // no rows to filter
    CHECK_THROWS_AS(RowResizer(40, 400, 3, {whole, 0, 10, Filter::kArea}), InvalidInput);
}

TEST_CASE("what can't be resized is refused with what was given") {
    const TestPicture source(4, 3, 1, 1, 0, 255);
    CHECK_THROWS_AS(resize(source.view(), 0, 3, Filter::kArea), InvalidInput);
    CHECK_THROWS_AS(resize(source.view(), std::size_t{1} << 40U, 1, Filter::kArea), InvalidInput);
    CHECK_THROWS_AS(
        resize(source.view(), std::size_t{1} << 20U, std::size_t{1} << 20U, Filter::kArea),
        InvalidInput);
    CHECK_THROWS_AS(resize(source.view(), Box{0, 0, 5, 3}, 1, 1, Filter::kArea), InvalidInput);
    CHECK_THROWS_AS(resize(source.view(), Box{2, 0, 2, 3}, 1, 1, Filter::kArea), InvalidInput);
    CHECK_THROWS_AS(resize({source.view().data, 0, 3, 1, 0}, 1, 1, Filter::kArea), InvalidInput);
    CHECK_THROWS_WITH_AS(parse_filter("nearest"),
                         "filter must be area, bilinear, bicubic or lanczos, got 'nearest'",
                         InvalidInput);
}

} // namespace
} // namespace framejudge::test
