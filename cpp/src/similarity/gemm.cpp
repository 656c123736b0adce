// Packing and tiling, see NOTE [blocking].
#include "gemm.hpp"

#include "framejudge/thread_pool.hpp"

#include <algorithm>
#include <vector>

namespace framejudge {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20U; // half of a common second cache
constexpr std::size_t kGroupBytes = std::size_t{1} << 26U;

std::size_t round_up(std::size_t value, std::size_t step) {
    return (value + step - 1) / step * step;
}

// As many panels as the second cache takes, but fewer where threads would finish far apart.
std::size_t choose_block_rows(std::size_t row_count, std::size_t panel_rows,
                              std::size_t panel_bytes) {
    constexpr std::size_t kBlocksPerThread = 8;
    const std::size_t by_cache = kBlockBytes / panel_bytes;
    const std::size_t by_balance =
        row_count / (thread_budget().threads * kBlocksPerThread * panel_rows);
    return std::max<std::size_t>(1, std::min(by_cache, by_balance)) * panel_rows;
}

} // namespace

Product::Product(const Rows& a, const Rows& b, Accumulate accumulate)
    : kernels_(active_kernels()), gemm_(kernels_.gemm[index_of(accumulate)]), a_(a), b_(b),
      accumulate_(accumulate), a_panel_bytes_(gemm_.mr * a.width * gemm_.scalar_size),
      b_panel_bytes_(gemm_.nr * b.width * gemm_.scalar_size),
      block_rows_(choose_block_rows(b.count, gemm_.nr, b_panel_bytes_)) {}

std::size_t Product::group_rows(std::size_t bytes_per_row) const {
    const std::size_t panel_bytes = a_panel_bytes_ + gemm_.mr * bytes_per_row;
    return std::max<std::size_t>(1, kGroupBytes / panel_bytes) * gemm_.mr;
}

void Product::pack(const Rows& rows, std::size_t begin, std::size_t count, bool is_a,
                   std::byte* panels) const {
    const std::size_t lanes = is_a ? gemm_.mr : gemm_.nr;
    const PackFn pack_panel = (is_a ? gemm_.pack_a : gemm_.pack_b)[index_of(rows.dtype)];
    std::vector<double> scales(lanes);
    for (std::size_t at = 0; at < count; at += lanes) {
        const std::size_t in_panel = std::min(lanes, count - at);
        for (std::size_t r = 0; r < in_panel; ++r) {
            scales[r] = inverse_norm(kernels_, accumulate_, rows.dtype,
                                     row_at(rows, begin + at + r), rows.width);
        }
        pack_panel(row_at(rows, begin + at), in_panel, rows.width, scales.data(),
                   panels + at * rows.width * gemm_.scalar_size);
    }
}

Buffer Product::pack_group(std::size_t begin, std::size_t count) const {
    // One panel more than there are rows: multiply() fetches ahead of the last.
    Buffer group((round_up(count, gemm_.mr) + gemm_.mr) * a_.width * gemm_.scalar_size);
    const std::size_t rows_per_task = gemm_.mr * 16;
    parallel_for((count + rows_per_task - 1) / rows_per_task, [&](std::size_t task, std::size_t) {
        const std::size_t at = task * rows_per_task;
        pack(a_, begin + at, std::min(rows_per_task, count - at), true,
             group.data() + at * a_.width * gemm_.scalar_size);
    });
    return group;
}

void Product::pack_block(std::size_t begin, std::size_t count, Buffer& block) const {
    if (!block) {
        block = Buffer(std::min(block_rows_, round_up(b_.count, gemm_.nr)) * b_.width *
                       gemm_.scalar_size);
    }
    pack(b_, begin, count, false, block.data());
}

void Product::edge_tile(const std::byte* a, const std::byte* b, std::size_t rows,
                        std::size_t columns, float* c, std::size_t stride) const {
    alignas(64) float whole[kMaxTile];
    gemm_.tile(a, b, a_.width, whole, gemm_.nr, {a, 0});
    for (std::size_t i = 0; i < rows; ++i) {
        std::copy_n(whole + i * gemm_.nr, columns, c + i * stride);
    }
}

void Product::multiply(const Buffer& group, std::size_t first, std::size_t rows,
                       const Buffer& block, std::size_t columns, float* c,
                       std::size_t stride) const {
    // While the tiles of one panel of a are made, the next panel is fetched, a slice a tile.
    const std::size_t tiles = (columns + gemm_.nr - 1) / gemm_.nr;
    const std::size_t step = gemm_.mr * gemm_.scalar_size / tiles;
    for (std::size_t i = 0; i < rows; i += gemm_.mr) {
        const std::byte* a = group.data() + (first + i / gemm_.mr) * a_panel_bytes_;
        const std::size_t tile_rows = std::min(gemm_.mr, rows - i);
        for (std::size_t j = 0; j < columns; j += gemm_.nr) {
            const std::byte* b = block.data() + j / gemm_.nr * b_panel_bytes_;
            const std::size_t tile_columns = std::min(gemm_.nr, columns - j);
            float* to = c + i * stride + j;
            if (tile_rows == gemm_.mr && tile_columns == gemm_.nr) {
                const std::byte* next = a + a_panel_bytes_ + j / gemm_.nr * step * a_.width;
                gemm_.tile(a, b, a_.width, to, stride, {next, step});
            } else {
                edge_tile(a, b, tile_rows, tile_columns, to, stride);
            }
        }
    }
}

} // namespace framejudge
