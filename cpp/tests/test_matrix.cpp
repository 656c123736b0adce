// cosine_matrix in every tier, dtype and precision against float64.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "reference.hpp"

#include <doctest.h>

namespace framejudge::test {
namespace {

std::vector<float> matrix(const TestRows& a, const TestRows& b, Accumulate accumulate) {
    std::vector<float> out(a.rows().count * b.rows().count);
    cosine_matrix(a.rows(), b.rows(), accumulate, out.data());
    return out;
}

void check_against_reference(std::size_t n, std::size_t m, std::size_t width, Dtype dtype,
                             Accumulate accumulate) {
    CAPTURE(n);
    CAPTURE(m);
    CAPTURE(width);
    const TestRows a(n, width, dtype, 1, width % 4);
    const TestRows b(m, width, dtype, 2, width % 3);
    const auto got = matrix(a, b, accumulate);
    double worst = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < m; ++j) {
            worst = std::fmax(worst, std::fabs(got[i * m + j] - reference_cosine(a, i, b, j)));
        }
    }
    CHECK(worst <= tolerance(accumulate, width));
}

TEST_CASE("every element is float64's, with every shape of edge tile") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Dtype dtype : kDtypes) {
            for (const Accumulate accumulate : kAccumulates) {
                for (const std::size_t n : {1U, 3U, 4U, 5U, 14U, 15U, 33U}) {
                    for (const std::size_t m : {1U, 3U, 4U, 17U, 32U, 33U, 70U}) {
                        check_against_reference(n, m, 1 + (7 * n + 5 * m) % 71, dtype, accumulate);
                    }
                }
            }
        }
    });
}

TEST_CASE("several blocks and wide rows are put together right") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        check_against_reference(37, 700, 768, Dtype::kFloat32, Accumulate::kFloat32);
        check_against_reference(9, 75, 9001, Dtype::kBfloat16, Accumulate::kFloat32);
    });
}

TEST_CASE("rows without direction are NaN across, and others are not touched") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Accumulate accumulate : kAccumulates) {
            TestRows a(20, 50, Dtype::kFloat32, 3);
            TestRows b(40, 50, Dtype::kFloat32, 4);
            a.fill_row(3, 0.0F);
            a.set(std::size_t{7} * 50 + 49, NAN);
            b.set(std::size_t{11} * 50, INFINITY);
            b.fill_row(39, 1e-30F);
            a.fill_row(19, 1e30F);
            const auto got = matrix(a, b, accumulate);
            for (std::size_t i = 0; i < 20; ++i) {
                for (std::size_t j = 0; j < 40; ++j) {
                    if (i == 3 || i == 7 || j == 11) {
                        CHECK(std::isnan(got[i * 40 + j]));
                    } else {
                        CHECK(std::fabs(got[i * 40 + j] - reference_cosine(a, i, b, j)) <=
                              tolerance(accumulate, 50));
                    }
                }
            }
        }
    });
}

TEST_CASE("the number of threads doesn't change a bit of a matrix") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        const TestRows a(150, 96, Dtype::kFloat32, 5);
        const TestRows b(6000, 96, Dtype::kFloat32, 6);
        set_threads(1);
        const auto one = matrix(a, b, Accumulate::kFloat32);
        set_threads(3);
        CHECK(matrix(a, b, Accumulate::kFloat32) == one);
    });
}

TEST_CASE("no rows give no results") {
    const TestRows none(0, 5, Dtype::kFloat32, 1);
    const TestRows some(6, 5, Dtype::kFloat32, 1);
    CHECK(matrix(none, some, Accumulate::kFloat32).empty());
    CHECK(matrix(some, none, Accumulate::kFloat32).empty());
}

} // namespace
} // namespace framejudge::test
