// What an instruction tier provides to the frame path: one table of function pointers.
#pragma once

#include "resize_weights.hpp"

#include <cstddef>
#include <cstdint>

namespace framejudge {

// Bytes that may be read behind the end of a row given to `horizontal`.
constexpr std::size_t kRowPadding = 64;
constexpr std::size_t kRowsAtOnce = 4;
constexpr std::size_t kXxh3Stripe = 64;

struct RowGroup {
    const std::uint8_t* in[kRowsAtOnce];
    std::uint8_t* out[kRowsAtOnce];
};

// How samples become numbers; see NOTE [normalise].
struct Normalization {
    float scale[3];
    float offset[3];
    bool streams;      // whether the numbers go past the cache: many are written, few read soon
    const void* table; // of all results: float or std::uint16_t [3][256]
};

// `count` pixels of three samples to three rows that are `plane` elements apart.
using PlanarFn = void (*)(const std::uint8_t* from, std::size_t count, const Normalization& norm,
                          void* to, std::size_t plane);
// The same pixels, interleaved.
using InterleavedFn = void (*)(const std::uint8_t* from, std::size_t count,
                               const Normalization& norm, void* to);

struct FrameKernels {
    // One row out of `used` rows that are `stride` bytes apart, `count` bytes each.
    void (*vertical)(const std::uint8_t* rows, std::size_t stride, const Weights& weights,
                     std::size_t index, std::size_t count, std::uint8_t* out);
    // Four rows at once, of 1, 3 or 4 channels.
    void (*horizontal1)(const RowGroup& rows, const Weights& weights);
    void (*horizontal3)(const RowGroup& rows, const Weights& weights);
    void (*horizontal4)(const RowGroup& rows, const Weights& weights);
    // Y of ITU-R BT.601 of `count` pixels of three samples.
    void (*luma)(const std::uint8_t* from, std::size_t count, std::uint8_t* to);
    // Pixels of one sample, normalised as the first channel.
    InterleavedFn single_float;
    InterleavedFn single_half;
    PlanarFn planar_float;
    PlanarFn planar_half;
    InterleavedFn interleaved_float;
    InterleavedFn interleaved_half;
    // Bits that differ between a[i * a_step] and b[i * words], hashes of `words` words each.
    void (*distances)(const std::uint64_t* a, std::size_t a_step, const std::uint64_t* b,
                      std::size_t count, std::size_t words, std::uint32_t* out);
    // Which of `many` hashes differ from `one` by at most `max_distance` bits; how many these are.
    std::size_t (*find_near)(const std::uint64_t* one, const std::uint64_t* many, std::size_t count,
                             std::size_t words, std::uint32_t max_distance, std::uint32_t* out);
    // XXH3's eight sums over `count` stripes, each under eight bytes more of the secret.
    void (*xxh3_stripes)(std::uint64_t* sums, const std::uint8_t* from, const std::uint8_t* secret,
                         std::size_t count);
};

// One per tier that may be compiled in.
const FrameKernels& baseline_frame_kernels();
const FrameKernels& avx2_frame_kernels();
const FrameKernels& avx512_frame_kernels();
const FrameKernels& neon_frame_kernels();

// The table of the tier in use; see isa.hpp.
const FrameKernels& active_frame_kernels();

} // namespace framejudge
