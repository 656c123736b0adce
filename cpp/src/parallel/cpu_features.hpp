// What an x86-64 processor can run, and the operating system lets it.
#pragma once

namespace framejudge {

struct CpuFeatures {
    bool has_sha = false;    // SHA extensions and SSE 4.1
    bool has_avx2 = false;   // AVX2, FMA and F16C
    bool has_avx512 = false; // AVX-512 F, BW and VL, beside these
};

// Nothing elsewhere than on x86-64.
CpuFeatures cpu_features();

} // namespace framejudge
