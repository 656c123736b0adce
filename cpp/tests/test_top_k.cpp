// cosine_top_k against a full sort of the float64 cosines.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "reference.hpp"

#include <algorithm>
#include <doctest.h>

namespace framejudge::test {
namespace {

struct Found {
    std::vector<float> scores;
    std::vector<std::int64_t> indices;
};

Found top_k(const TestRows& a, const TestRows& b, std::size_t k, Accumulate accumulate) {
    Found found;
    found.scores.resize(a.rows().count * k);
    found.indices.resize(a.rows().count * k);
    cosine_top_k(a.rows(), b.rows(), k, accumulate, found.scores.data(), found.indices.data());
    return found;
}

TEST_CASE("the best are found, best first, and each score is its own pair's") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const Dtype dtype : kDtypes) {
            for (const Accumulate accumulate : kAccumulates) {
                for (const std::size_t n : {1U, 3U, 4U, 31U}) {
                    const std::size_t m = 900;
                    const std::size_t k = 10;
                    const TestRows a(n, 40, dtype, 1);
                    const TestRows b(m, 40, dtype, 2);
                    const Found found = top_k(a, b, k, accumulate);
                    const double allowed = tolerance(accumulate, 40);
                    for (std::size_t i = 0; i < n; ++i) {
                        std::vector<double> all;
                        all.reserve(m);
                        for (std::size_t j = 0; j < m; ++j) {
                            all.push_back(reference_cosine(a, i, b, j));
                        }
                        const std::vector<double> by_index = all;
                        std::sort(all.rbegin(), all.rend());
                        for (std::size_t r = 0; r < k; ++r) {
                            const double score = found.scores[i * k + r];
                            const auto index = static_cast<std::size_t>(found.indices[i * k + r]);
                            CHECK(std::fabs(score - all[r]) <= allowed);
                            CHECK(std::fabs(score - by_index[index]) <= allowed);
                        }
                    }
                }
            }
        }
    });
}

TEST_CASE("equal scores are in order of index, whatever the number of threads") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const std::size_t n : {2U, 20U}) {
            const TestRows a(n, 16, Dtype::kFloat32, 3);
            TestRows b(5000, 16, Dtype::kFloat32, 4);
            for (std::size_t row = 0; row < 5000; ++row) {
                b.fill_row(row, 1.0F + static_cast<float>(row % 2)); // all the same direction
            }
            for (const std::size_t threads : {1U, 3U}) {
                set_threads(threads);
                const Found found = top_k(a, b, 7, Accumulate::kFloat64);
                for (std::size_t i = 0; i < n * 7; ++i) {
                    CHECK(found.indices[i] == static_cast<std::int64_t>(i % 7));
                }
            }
        }
    });
}

TEST_CASE("NaN is never ranked, and missing places say so") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const std::size_t n : {2U, 20U}) {
            TestRows a(n, 9, Dtype::kFloat32, 5);
            TestRows b(6, 9, Dtype::kFloat32, 6);
            b.fill_row(0, 0.0F);
            b.set(std::size_t{2} * 9 + 8, NAN);
            a.fill_row(1, 0.0F);
            const Found found = top_k(a, b, 8, Accumulate::kFloat32);
            for (std::size_t r = 0; r < 8; ++r) {
                CHECK((found.indices[r] == -1) == (r >= 4)); // rows 1, 3, 4 and 5 are left
                CHECK(std::isnan(found.scores[r]) == (r >= 4));
                CHECK(found.indices[8 + r] == -1);
                CHECK(std::isnan(found.scores[8 + r]));
            }
            for (std::size_t r = 0; r < 4; ++r) {
                CHECK(found.indices[r] != 0);
                CHECK(found.indices[r] != 2);
            }
        }
    });
}

TEST_CASE("no candidates, no queries, and k = 0") {
    const TestRows none(0, 5, Dtype::kFloat32, 1);
    const TestRows some(5, 5, Dtype::kFloat32, 1);
    CHECK(top_k(none, some, 2, Accumulate::kFloat32).indices.empty());
    CHECK(top_k(some, none, 2, Accumulate::kFloat32).indices == std::vector<std::int64_t>(10, -1));
    CHECK_THROWS_WITH_AS(top_k(some, some, 0, Accumulate::kFloat32), "k must be at least 1, got 0",
                         InvalidInput);
}

} // namespace
} // namespace framejudge::test
