// Applies PNG's filters to rows: one table of kernels per instruction tier.
#pragma once

#include "png_unfilter.hpp"

#include <cstddef>
#include <cstdint>

namespace framejudge {

// The row before `row` and the pixel before the first are zero where there are none: `prior` always
// has `size` bytes, and both rows have `pixel_bytes` zeros in front of them.
struct FilterRows {
    const std::uint8_t* row;
    const std::uint8_t* prior;
    std::size_t size;
    std::size_t pixel_bytes;
};

struct FilterTable {
    // By PngFilter; `to` does not overlap the rows.
    void (*apply[kPngFilters])(const FilterRows& rows, std::uint8_t* to);
    // The sum of the absolute values of signed bytes.
    std::uint64_t (*magnitude)(const std::uint8_t* bytes, std::size_t size);
};

const FilterTable& filter_baseline();
const FilterTable& filter_avx2();

const FilterTable& active_filter_table();

} // namespace framejudge
