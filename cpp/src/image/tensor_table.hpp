// The portable forms of the kernels, and what a tier leaves over at the end of a row. Included by
// one file per tier: everything here has internal linkage.
#pragma once

#include "frame_kernels.hpp"
#include "luma.hpp"

namespace framejudge {
namespace {

template <typename Number>
void single_by_table(const std::uint8_t* from, std::size_t count, const Normalization& norm,
                     Number* out) {
    const auto* table = static_cast<const Number*>(norm.table);
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = table[from[i]];
    }
}

template <typename Number>
void planar_by_table(const std::uint8_t* from, std::size_t count, const Normalization& norm,
                     Number* out, std::size_t plane) {
    const auto* table = static_cast<const Number*>(norm.table);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            out[channel * plane + i] = table[256 * channel + from[3 * i + channel]];
        }
    }
}

template <typename Number>
void interleaved_by_table(const std::uint8_t* from, std::size_t count, const Normalization& norm,
                          Number* out) {
    const auto* table = static_cast<const Number*>(norm.table);
    for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t channel = 0; channel < 3; ++channel) {
            out[3 * i + channel] = table[256 * channel + from[3 * i + channel]];
        }
    }
}

inline void luma_by_sample(const std::uint8_t* from, std::size_t count, std::uint8_t* to) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = luma_of(from[3 * i], from[3 * i + 1], from[3 * i + 2]);
    }
}

} // namespace
} // namespace framejudge
