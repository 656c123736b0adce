// Every row of a against every row of b.
#include "framejudge/thread_pool.hpp"
#include "gemm.hpp"

#include <algorithm>
#include <vector>

namespace framejudge {
namespace {

void few_rows(const Rows& a, const Rows& b, Accumulate accumulate, float* out) {
    const KernelTable& kernels = active_kernels();
    constexpr std::size_t kElementsPerTask = std::size_t{1} << 18U;
    // The longer side is cut into tasks.
    const bool cut_a = a.count > b.count;
    const std::size_t longer = cut_a ? a.count : b.count;
    const std::size_t shorter = cut_a ? b.count : a.count;
    const std::size_t step = std::max<std::size_t>(1, kElementsPerTask / (a.width * shorter));
    parallel_for((longer + step - 1) / step, [&](std::size_t task, std::size_t) {
        const std::size_t begin = task * step;
        const std::size_t end = std::min(longer, begin + step);
        for (std::size_t i = begin; i < end; ++i) {
            for (std::size_t j = 0; j < shorter; ++j) {
                const std::size_t row = cut_a ? i : j;
                const std::size_t column = cut_a ? j : i;
                out[row * b.count + column] = cosine_of(kernels, accumulate, a.dtype,
                                                        row_at(a, row), row_at(b, column), a.width);
            }
        }
    });
}

// One group of a's rows against all of b.
void multiply_group(const Product& product, const Rows& b, std::size_t begin, std::size_t count,
                    float* out, std::vector<Buffer>& blocks) {
    const Buffer group = product.pack_group(begin, count);
    const std::size_t block_rows = product.block_rows();
    const std::size_t block_count = (b.count + block_rows - 1) / block_rows;
    // Enough tasks that threads finish together, even where b is one block.
    const std::size_t wanted = blocks.size() * 4;
    const std::size_t panels = (count + product.panel_rows() - 1) / product.panel_rows();
    const std::size_t cuts =
        std::clamp<std::size_t>((wanted + block_count - 1) / block_count, 1, panels);
    const std::size_t step = (panels + cuts - 1) / cuts;
    parallel_for(
        block_count * cuts,
        [&](std::size_t task, std::size_t worker) {
            const std::size_t first = task % cuts * step;
            if (first >= panels) {
                return;
            }
            const std::size_t row = first * product.panel_rows();
            const std::size_t rows = std::min(step * product.panel_rows(), count - row);
            const std::size_t column = task / cuts * block_rows;
            const std::size_t columns = std::min(block_rows, b.count - column);
            product.pack_block(column, columns, blocks[worker]);
            product.multiply(group, first, rows, blocks[worker], columns,
                             out + (begin + row) * b.count + column, b.count);
        },
        blocks.size());
}

} // namespace

void cosine_matrix(const Rows& a, const Rows& b, Accumulate accumulate, float* out) {
    require_comparable(a, b);
    if (a.count == 0 || b.count == 0) {
        return;
    }
    if (a.count < kFewRows || b.count < kFewRows) {
        few_rows(a, b, accumulate, out);
        return;
    }
    const Product product(a, b, accumulate);
    std::vector<Buffer> blocks(thread_budget().threads);
    const std::size_t step = product.group_rows(0);
    for (std::size_t begin = 0; begin < a.count; begin += step) {
        multiply_group(product, b, begin, std::min(step, a.count - begin), out, blocks);
    }
}

} // namespace framejudge
