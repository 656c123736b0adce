// The PNG filters of every tier against the definition in the PNG specification.
#include "image/png_filter.hpp"
#include "image/png_unfilter.hpp"
#include "reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <doctest.h>

namespace framejudge::test {
namespace {

// Section 9.4 of the specification, word by word.
std::uint8_t paeth_by_definition(int a, int b, int c) {
    const int p = a + b - c;
    const int pa = std::abs(p - a);
    const int pb = std::abs(p - b);
    const int pc = std::abs(p - c);
    if (pa <= pb && pa <= pc) {
        return static_cast<std::uint8_t>(a);
    }
    return static_cast<std::uint8_t>(pb <= pc ? b : c);
}

std::uint8_t prediction(int filter, int a, int b, int c) {
    switch (filter) {
    case kSub:
        return static_cast<std::uint8_t>(a);
    case kUp:
        return static_cast<std::uint8_t>(b);
    case kAverage:
        return static_cast<std::uint8_t>((a + b) / 2);
    case kPaeth:
        return paeth_by_definition(a, b, c);
    default:
        return 0;
    }
}

struct Rows {
    std::size_t size;
    std::size_t pixel_bytes;
    std::vector<std::uint8_t> filtered; // with the slack that kernels may read
    std::vector<std::uint8_t> expected;

    [[nodiscard]] std::size_t count() const { return expected.size() / size; }
};

// Random rows with the filters in turn, and what they stand for.
Rows random_rows(std::size_t pixels, std::size_t pixel_bytes, std::size_t count, unsigned seed,
                 int only_filter = -1) {
    std::mt19937 random(seed);
    Rows rows{pixels * pixel_bytes, pixel_bytes, {}, {}};
    rows.expected.resize(count * rows.size);
    for (std::size_t y = 0; y < count; ++y) {
        const int filter = only_filter >= 0 ? only_filter : static_cast<int>(random() % 5);
        rows.filtered.push_back(static_cast<std::uint8_t>(filter));
        for (std::size_t i = 0; i < rows.size; ++i) {
            const auto at = [&](std::size_t row, std::size_t column) -> int {
                return rows.expected[row * rows.size + column];
            };
            const int a = i >= pixel_bytes ? at(y, i - pixel_bytes) : 0;
            const int b = y > 0 ? at(y - 1, i) : 0;
            const int c = y > 0 && i >= pixel_bytes ? at(y - 1, i - pixel_bytes) : 0;
            const auto residual = static_cast<std::uint8_t>(random());
            rows.filtered.push_back(residual);
            rows.expected[y * rows.size + i] =
                static_cast<std::uint8_t>(residual + prediction(filter, a, b, c));
        }
    }
    rows.filtered.resize(rows.filtered.size() + kUnfilterSlack);
    return rows;
}

std::vector<std::uint8_t> unfiltered(const Rows& rows) {
    std::vector<std::uint8_t> out(rows.expected.size());
    const std::size_t done = unfilter_rows(
        {rows.filtered.data(), out.data(), rows.size, rows.size, rows.count(), rows.pixel_bytes});
    CHECK(done == rows.count());
    return out;
}

std::vector<std::uint8_t> unfiltered_in_place(Rows rows) {
    const std::size_t stride = rows.size + 1;
    const std::size_t done = unfilter_rows({rows.filtered.data(), rows.filtered.data() + 1, stride,
                                            rows.size, rows.count(), rows.pixel_bytes});
    CHECK(done == rows.count());
    std::vector<std::uint8_t> out;
    for (std::size_t y = 0; y < rows.count(); ++y) {
        const auto begin = rows.filtered.begin() + static_cast<std::ptrdiff_t>(y * stride + 1);
        out.insert(out.end(), begin, begin + static_cast<std::ptrdiff_t>(rows.size));
    }
    return out;
}

TEST_CASE("rows come out as the PNG specification defines, at every width and pixel size") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const std::size_t pixel_bytes : {1U, 2U, 3U, 4U, 6U, 8U}) {
            for (std::size_t pixels = 1; pixels <= 70; ++pixels) {
                CAPTURE(pixel_bytes);
                CAPTURE(pixels);
                const auto seed = static_cast<unsigned>(pixels * 10 + pixel_bytes);
                const Rows rows = random_rows(pixels, pixel_bytes, 19, seed);
                CHECK(unfiltered(rows) == rows.expected);
                CHECK(unfiltered_in_place(rows) == rows.expected);
            }
        }
    });
}

TEST_CASE("runs of one filter come out right, whatever the number of rows") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (int filter = 0; filter < 5; ++filter) {
            for (std::size_t count = 1; count <= 13; ++count) {
                for (const std::size_t pixel_bytes : {3U, 4U}) {
                    const Rows rows =
                        random_rows(37, pixel_bytes, count, static_cast<unsigned>(count), filter);
                    CHECK(unfiltered(rows) == rows.expected);
                    CHECK(unfiltered_in_place(rows) == rows.expected);
                }
            }
        }
    });
}

// Pairs of rows of two pixels, C B over A X: the first residuals make A, and where X's are zero X
// is the prediction from A, B and C. A pixel's bytes are that many triples.
std::size_t wrong_predictions(std::uint8_t a, std::size_t pixel_bytes) {
    const std::size_t size = 2 * pixel_bytes;
    std::vector<std::uint8_t> filtered;
    std::vector<std::uint8_t> expected;
    for (unsigned pair = 0; pair < 65536; pair += static_cast<unsigned>(pixel_bytes)) {
        const std::size_t start = filtered.size();
        filtered.resize(start + 2 * (size + 1));
        std::uint8_t* const above = filtered.data() + start;
        std::uint8_t* const row = above + size + 1;
        above[0] = kNone;
        row[0] = kPaeth;
        for (std::size_t i = 1; i <= pixel_bytes; ++i) {
            const auto b = static_cast<std::uint8_t>(pair + i - 1);
            const auto c = static_cast<std::uint8_t>((pair + i - 1) >> 8);
            above[i] = c;
            above[pixel_bytes + i] = b;
            row[i] = static_cast<std::uint8_t>(a - c); // with nothing on the left b is nearest
            expected.push_back(paeth_by_definition(a, b, c));
        }
    }
    const std::size_t count = filtered.size() / (size + 1);
    filtered.resize(filtered.size() + kUnfilterSlack);
    std::vector<std::uint8_t> out(count * size);
    unfilter_rows({filtered.data(), out.data(), size, size, count, pixel_bytes});
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const std::size_t pair = i / pixel_bytes;
        const std::size_t x = (2 * pair + 1) * size + pixel_bytes + i % pixel_bytes;
        wrong += out[x] != expected[i] ? 1 : 0;
    }
    return wrong;
}

TEST_CASE("the Paeth predictor is the specification's for all 2^24 triples") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        std::size_t wrong = 0;
        for (unsigned a = 0; a < 256; ++a) {
            for (const std::size_t pixel_bytes : {1U, 4U}) {
                wrong += wrong_predictions(static_cast<std::uint8_t>(a), pixel_bytes);
            }
        }
        CHECK(wrong == 0);
    });
}

TEST_CASE("a filter that does not exist stops at its row") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        Rows rows = random_rows(5, 3, 4, 1);
        rows.filtered[2 * (rows.size + 1)] = 5;
        std::vector<std::uint8_t> out(rows.expected.size());
        CHECK(unfilter_rows({rows.filtered.data(), out.data(), rows.size, rows.size, 4, 3}) == 2);
    });
}

TEST_CASE("filtering and undoing it give the row back, and every tier filters alike") {
    for (const std::size_t pixel_bytes : {1U, 3U, 4U}) {
        for (const std::size_t pixels : {1U, 2U, 31U, 100U, 1000U}) {
            const Rows source = random_rows(pixels, pixel_bytes, 2, 7, kNone);
            const std::size_t size = source.size;
            std::vector<std::uint8_t> up(pixel_bytes + size);
            std::vector<std::uint8_t> row(pixel_bytes + size);
            std::copy_n(source.expected.begin(), size, up.begin() + static_cast<int>(pixel_bytes));
            std::copy_n(source.expected.begin() + static_cast<std::ptrdiff_t>(size), size,
                        row.begin() + static_cast<int>(pixel_bytes));
            for (std::uint8_t filter = 0; filter < kPngFilters; ++filter) {
                std::vector<std::uint8_t> first;
                in_every_tier([&](const std::string& tier) {
                    CAPTURE(tier);
                    std::vector<std::uint8_t> filtered(1 + size);
                    filtered[0] = kNone;
                    std::copy_n(up.begin() + static_cast<int>(pixel_bytes), size,
                                filtered.begin() + 1);
                    filtered.push_back(filter);
                    filtered.resize(2 * (1 + size) + kUnfilterSlack);
                    std::uint8_t* const to = filtered.data() + size + 2;
                    const FilterTable& table = active_filter_table();
                    table.apply[filter](
                        {row.data() + pixel_bytes, up.data() + pixel_bytes, size, pixel_bytes}, to);
                    std::uint64_t magnitude = 0;
                    for (std::size_t i = 0; i < size; ++i) {
                        magnitude += static_cast<std::uint64_t>(to[i] < 128 ? to[i] : 256 - to[i]);
                    }
                    CHECK(table.magnitude(to, size) == magnitude);
                    std::vector<std::uint8_t> out(2 * size);
                    unfilter_rows({filtered.data(), out.data(), size, size, 2, pixel_bytes});
                    CHECK(out == source.expected);
                    first = first.empty() ? filtered : first;
                    CHECK(filtered == first);
                });
            }
        }
    }
}

} // namespace
} // namespace framejudge::test
