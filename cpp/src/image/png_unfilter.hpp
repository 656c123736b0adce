// Undoes the filters of PNG rows: one table of kernels per instruction tier.
#pragma once

#include <cstddef>
#include <cstdint>

namespace framejudge {

enum PngFilter : std::uint8_t { kNone = 0, kSub = 1, kUp = 2, kAverage = 3, kPaeth = 4 };
constexpr std::size_t kPngFilters = 5;

// Kernels load whole words: this many bytes after the filtered rows must be readable.
constexpr std::size_t kUnfilterSlack = 8;

// Rows of a filter byte and `row_bytes` of data without gaps, and where the data go. That may be in
// place: `rows` one byte after `filtered`, with a stride of row_bytes + 1.
struct UnfilterJob {
    const std::uint8_t* filtered;
    std::uint8_t* rows;
    std::size_t stride;
    std::size_t row_bytes;
    std::size_t count;
    std::size_t pixel_bytes; // 1, 2, 3, 4, 6 or 8; 1 where a pixel is less than a byte
};

// The number of rows done: less than `count` if one names a filter that does not exist.
std::size_t unfilter_rows(const UnfilterJob& job);

// One row: `row[i] = source[i] + prediction(row, prior)[i]`; `row` may be `source`.
using UnfilterFn = void (*)(std::uint8_t* row, const std::uint8_t* source,
                            const std::uint8_t* prior, std::size_t size);

constexpr std::size_t kMaxPixelBytes = 8;

// See NOTE [rows in step].
constexpr std::size_t kRowsInStep = 4;

// kRowsInStep rows from `filtered` on, of at least that many pixels and of filters that exist.
// `prior` is the unfiltered row before them.
struct UnfilterBlock {
    const std::uint8_t* filtered;
    const std::uint8_t* prior;
    std::uint8_t* rows;
    std::size_t stride;
    std::size_t row_bytes;
};
using UnfilterBlockFn = void (*)(const UnfilterBlock& block);

struct UnfilterTable {
    UnfilterFn up;
    UnfilterFn sub[kMaxPixelBytes + 1]; // by pixel_bytes
    UnfilterFn average[kMaxPixelBytes + 1];
    UnfilterFn paeth[kMaxPixelBytes + 1];
    UnfilterBlockFn block[kMaxPixelBytes + 1]; // nullptr where a tier does better row by row
};

const UnfilterTable& unfilter_baseline();
const UnfilterTable& unfilter_avx2();
const UnfilterTable& unfilter_neon();

} // namespace framejudge
