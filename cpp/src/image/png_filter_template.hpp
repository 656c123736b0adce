// The filter kernels as plain loops: no byte waits for another, so the compiler vectorises them for
// the tier whose file includes this.
#pragma once

#include "png_filter.hpp"

#include <algorithm>
#include <cstring>

namespace framejudge {
// Without a name, so that a tier's code can't be linked in place of another's.
namespace {

void apply_none(const FilterRows& rows, std::uint8_t* to) { std::memcpy(to, rows.row, rows.size); }

void apply_sub(const FilterRows& rows, std::uint8_t* __restrict to) {
    const std::uint8_t* const row = rows.row;
    const std::uint8_t* const left = row - rows.pixel_bytes;
    for (std::size_t i = 0; i < rows.size; ++i) {
        to[i] = static_cast<std::uint8_t>(row[i] - left[i]);
    }
}

void apply_up(const FilterRows& rows, std::uint8_t* __restrict to) {
    const std::uint8_t* const row = rows.row;
    const std::uint8_t* const up = rows.prior;
    for (std::size_t i = 0; i < rows.size; ++i) {
        to[i] = static_cast<std::uint8_t>(row[i] - up[i]);
    }
}

void apply_average(const FilterRows& rows, std::uint8_t* __restrict to) {
    const std::uint8_t* const row = rows.row;
    const std::uint8_t* const left = row - rows.pixel_bytes;
    const std::uint8_t* const up = rows.prior;
    for (std::size_t i = 0; i < rows.size; ++i) {
        to[i] = static_cast<std::uint8_t>(row[i] - ((left[i] + up[i]) >> 1));
    }
}

// See NOTE [Paeth without distances].
void apply_paeth(const FilterRows& rows, std::uint8_t* __restrict to) {
    const std::uint8_t* const row = rows.row;
    const std::uint8_t* const left = row - rows.pixel_bytes;
    const std::uint8_t* const up = rows.prior;
    const std::uint8_t* const up_left = up - rows.pixel_bytes;
    for (std::size_t i = 0; i < rows.size; ++i) {
        const std::int16_t a = left[i];
        const std::int16_t b = up[i];
        const std::int16_t c = up_left[i];
        const std::int16_t lo = std::min(a, b);
        const std::int16_t hi = std::max(a, b);
        const auto t = static_cast<std::int16_t>(3 * c - a - b);
        const std::int16_t low_or_c = hi <= t ? lo : c;
        const std::int16_t nearest = t <= lo ? hi : low_or_c;
        to[i] = static_cast<std::uint8_t>(row[i] - nearest);
    }
}

std::uint64_t magnitude(const std::uint8_t* bytes, std::size_t size) {
    std::uint64_t total = 0;
    constexpr std::size_t kPart = 4096; // its sum fits into 32 bits, which more lanes share
    for (std::size_t begin = 0; begin < size; begin += kPart) {
        const std::size_t end = std::min(begin + kPart, size);
        std::uint32_t sum = 0;
        for (std::size_t i = begin; i < end; ++i) {
            const auto negated = static_cast<std::uint8_t>(-bytes[i]);
            sum += std::min(bytes[i], negated);
        }
        total += sum;
    }
    return total;
}

constexpr FilterTable kFilterTable = {{apply_none, apply_sub, apply_up, apply_average, apply_paeth},
                                      magnitude};

} // namespace
} // namespace framejudge
