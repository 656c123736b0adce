// Asks CPUID: compilers' own __builtin_cpu_supports know different names, and need a runtime
// library that not every tool chain has.
#include "cpu_features.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <cstdint>
#include <immintrin.h>
#endif

namespace framejudge {

#if defined(__x86_64__)

namespace {

struct Registers {
    unsigned eax = 0;
    unsigned ebx = 0;
    unsigned ecx = 0;
    unsigned edx = 0;
};

Registers cpuid(unsigned leaf) {
    Registers found;
    __get_cpuid_count(leaf, 0, &found.eax, &found.ebx, &found.ecx, &found.edx);
    return found;
}

bool has_bit(unsigned value, unsigned bit) { return (value >> bit & 1U) != 0; }

// The registers that the operating system saves (XCR0).
__attribute__((target("xsave"))) std::uint64_t saved_registers() {
    return static_cast<std::uint64_t>(_xgetbv(0));
}

} // namespace

CpuFeatures cpu_features() {
    const Registers basic = cpuid(1);
    const Registers extended = cpuid(7);
    CpuFeatures features;
    features.has_sha = has_bit(extended.ebx, 29) && has_bit(basic.ecx, 19);
    const bool can_ask = has_bit(basic.ecx, 27); // OSXSAVE
    const std::uint64_t saved = can_ask ? saved_registers() : 0;
    constexpr std::uint64_t kYmm = 0x6;  // SSE and AVX state
    constexpr std::uint64_t kZmm = 0xE6; // and masks, and the upper halves of ZMM
    const bool has_fma_and_f16c = has_bit(basic.ecx, 12) && has_bit(basic.ecx, 29);
    features.has_avx2 = (saved & kYmm) == kYmm && has_fma_and_f16c && has_bit(basic.ecx, 28) &&
                        has_bit(extended.ebx, 5);
    features.has_avx512 = features.has_avx2 && (saved & kZmm) == kZmm &&
                          has_bit(extended.ebx, 16) && has_bit(extended.ebx, 30) &&
                          has_bit(extended.ebx, 31);
    return features;
}

#else

CpuFeatures cpu_features() { return {}; }

#endif

} // namespace framejudge
