// Which tiers there are and how one is chosen.
#include "framejudge/errors.hpp"
#include "framejudge/isa.hpp"

#include <doctest.h>

namespace framejudge::test {
namespace {

TEST_CASE("the baseline always runs and comes first") {
    REQUIRE_FALSE(supported_isas().empty());
    CHECK(supported_isas().front() == Isa::kBaseline);
}

TEST_CASE("a tier that can't run here is refused with those that can") {
    const Isa before = active_isa();
    const auto refused = [] { set_isa("mmx"); };
    CHECK_THROWS_AS(refused(), ConfigurationError);
    try {
        refused();
    } catch (const ConfigurationError& error) {
        const std::string text = error.what();
        CHECK(text.find("'mmx'") != std::string::npos);
        CHECK(text.find("baseline") != std::string::npos);
    }
    CHECK(active_isa() == before);
}

TEST_CASE("a tier that was set is the one in use") {
    const Isa before = active_isa();
    set_isa("baseline");
    CHECK(active_isa() == Isa::kBaseline);
    set_isa(isa_name(before));
    CHECK(active_isa() == before);
}

} // namespace
} // namespace framejudge::test
