// cosine_paired in every tier, dtype and precision against float64.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "reference.hpp"

#include <doctest.h>
#include <limits>

namespace framejudge::test {
namespace {

float pair(const TestRows& a, const TestRows& b, Accumulate accumulate) {
    float cosine = 0.0F;
    cosine_paired(a.rows(), b.rows(), accumulate, &cosine);
    return cosine;
}

// Around one, two and four vectors of every tier, with every tail; around the carry-over to
// float64; and the width of the embeddings this is for.
std::vector<std::size_t> widths() {
    std::vector<std::size_t> all;
    for (std::size_t width = 1; width <= 83; ++width) {
        all.push_back(width);
    }
    for (const std::size_t width : {127, 128, 129, 384, 767, 768, 769, 4095, 4096, 4097, 8200}) {
        all.push_back(width);
    }
    return all;
}

TEST_CASE("a pair's cosine is float64's at every width and misalignment") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Dtype dtype : kDtypes) {
            for (const Accumulate accumulate : kAccumulates) {
                for (const std::size_t width : widths()) {
                    CAPTURE(width);
                    const TestRows a(1, width, dtype, 1, width % 4);
                    const TestRows b(1, width, dtype, 2, (width + 1) % 3);
                    const double error = pair(a, b, accumulate) - reference_cosine(a, 0, b, 0);
                    CHECK(std::fabs(error) <= tolerance(accumulate, width));
                }
            }
        }
    });
}

TEST_CASE("rows without direction give NaN, wherever the bad element is") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Dtype dtype : kDtypes) {
            for (const Accumulate accumulate : kAccumulates) {
                for (const std::size_t at : {0U, 17U, 63U, 64U, 99U}) {
                    for (const float bad : {std::numeric_limits<float>::quiet_NaN(),
                                            std::numeric_limits<float>::infinity(),
                                            -std::numeric_limits<float>::infinity()}) {
                        TestRows a(1, 100, dtype, 3);
                        const TestRows b(1, 100, dtype, 4);
                        a.set(at, bad);
                        CHECK(std::isnan(pair(a, b, accumulate)));
                        CHECK(std::isnan(pair(b, a, accumulate)));
                    }
                }
                TestRows zero(1, 100, dtype, 5);
                zero.fill_row(0, 0.0F);
                CHECK(std::isnan(pair(zero, TestRows(1, 100, dtype, 6), accumulate)));
                CHECK(std::isnan(pair(zero, zero, accumulate)));
            }
        }
    });
}

TEST_CASE("squares that leave float32's range don't matter") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Accumulate accumulate : kAccumulates) {
            for (const float scale : {1e30F, 1e38F, 1e-25F, 1e-38F, 1e-44F}) {
                CAPTURE(scale);
                TestRows a(1, 7, Dtype::kFloat32, 7);
                TestRows b(1, 7, Dtype::kFloat32, 8);
                for (std::size_t k = 0; k < 7; ++k) {
                    a.set(k, scale * static_cast<float>(k % 3));
                    b.set(k, scale * static_cast<float>(k % 2));
                }
                const double error = pair(a, b, accumulate) - reference_cosine(a, 0, b, 0);
                CHECK(std::fabs(error) <= tolerance(accumulate, 7));
            }
        }
    });
}

TEST_CASE("every half number is read as its format says") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        // With b = (1, 0) the cosine of (x, 1) is x / sqrt(x^2 + 1): different for different x.
        for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
            TestRows a(1, 2, Dtype::kFloat16, 9);
            TestRows b(1, 2, Dtype::kFloat16, 9);
            a.set_bits(0, static_cast<std::uint16_t>(bits));
            a.set_bits(1, 0x3c00); // 1
            b.set_bits(0, 0x3c00);
            b.set_bits(1, 0);
            const float got = pair(a, b, Accumulate::kFloat64);
            const double x = a.row(0)[0];
            if (!std::isfinite(x)) {
                REQUIRE(std::isnan(got));
            } else {
                const double expected = x / std::sqrt(x * x + 1.0);
                REQUIRE(std::fabs(got - expected) <= 0x1.02p-24 * std::fabs(expected));
            }
        }
    });
}

TEST_CASE("a result is never outside [-1, 1]") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (unsigned seed = 0; seed < 200; ++seed) {
            const TestRows a(1, 37, Dtype::kFloat32, seed);
            const float same = pair(a, a, Accumulate::kFloat32);
            CHECK(same <= 1.0F);
            CHECK(same >= 1.0F - 0x1p-22F);
        }
    });
}

TEST_CASE("the number of threads doesn't change a bit") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        const TestRows a(3000, 768, Dtype::kFloat32, 10);
        const TestRows b(3000, 768, Dtype::kFloat32, 11);
        std::vector<float> one(3000);
        std::vector<float> four(3000);
        set_threads(1);
        cosine_paired(a.rows(), b.rows(), Accumulate::kFloat32, one.data());
        set_threads(4);
        cosine_paired(a.rows(), b.rows(), Accumulate::kFloat32, four.data());
        CHECK(one == four);
    });
}

TEST_CASE("shapes and dtypes that don't fit are refused with both in the text") {
    const TestRows a(2, 3, Dtype::kFloat32, 1);
    const TestRows narrower(2, 2, Dtype::kFloat32, 1);
    const TestRows longer(4, 3, Dtype::kFloat32, 1);
    const TestRows half(2, 3, Dtype::kFloat16, 1);
    const TestRows empty(2, 0, Dtype::kFloat32, 1);
    float out[4] = {};
    const auto call = [&](const TestRows& b) {
        cosine_paired(a.rows(), b.rows(), Accumulate::kFloat32, out);
    };
    CHECK_THROWS_WITH_AS(call(narrower),
                         "a and b must have the same width, got shapes (2, 3) and (2, 2)",
                         InvalidInput);
    CHECK_THROWS_WITH_AS(call(longer),
                         "a and b must have the same number of rows, got shapes (2, 3) and (4, 3)",
                         InvalidInput);
    CHECK_THROWS_WITH_AS(call(half), "a and b must have the same dtype, got float32 and float16",
                         InvalidInput);
    CHECK_THROWS_WITH_AS(cosine_paired(empty.rows(), empty.rows(), Accumulate::kFloat32, out),
                         "vectors need at least one element, got shapes (2, 0) and (2, 0)",
                         InvalidInput);
    CHECK_THROWS_WITH_AS(parse_accumulate("float16"),
                         "accumulate must be 'float32' or 'float64', got 'float16'", InvalidInput);
}

} // namespace
} // namespace framejudge::test
