// Instruction tiers: which there are, which this machine runs, which one is in use.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace framejudge {

enum class Isa : std::uint8_t { kBaseline, kAvx2, kAvx512, kNeon };

std::string_view isa_name(Isa isa);

// The tiers that were compiled in and that this machine can run, slowest first.
std::vector<Isa> supported_isas();

// The tier in use. The first call chooses it: FRAMEJUDGE_ISA if set, else the fastest supported.
// Throws ConfigurationError if FRAMEJUDGE_ISA names a tier that can't run here.
Isa active_isa();

// Uses another tier from now on; for tests and benchmarks. Throws ConfigurationError like the
// environment variable does.
void set_isa(std::string_view name);

} // namespace framejudge
