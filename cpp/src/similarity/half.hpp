// The 16-bit element types as the kernels see them.
#pragma once

#include <cstdint>

namespace framejudge {

struct Half {
    std::uint16_t bits;
};

struct Bfloat16 {
    std::uint16_t bits;
};

} // namespace framejudge
