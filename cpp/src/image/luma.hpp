// The gray of a colour. Tiers include it: everything here has internal linkage.
#pragma once

#include <cstdint>

namespace framejudge {
namespace {

// ITU-R BT.601: 0.299, 0.587 and 0.114 in 16 fractional bits. They add up to 1.
constexpr std::int32_t kRedWeight = 19595;
constexpr std::int32_t kGreenWeight = 38470;
constexpr std::int32_t kBlueWeight = 7471;

// Rounded.
constexpr std::uint8_t luma_of(std::int32_t red, std::int32_t green, std::int32_t blue) {
    return static_cast<std::uint8_t>(
        (red * kRedWeight + green * kGreenWeight + blue * kBlueWeight + (1 << 15)) >> 16);
}

} // namespace
} // namespace framejudge
