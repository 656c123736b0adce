// Row i of a against row i of b.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "rows.hpp"

#include <algorithm>
#include <string>

namespace framejudge {
namespace {

// About a hundred microseconds of work: what waking a thread costs is small beside it.
constexpr std::size_t kElementsPerTask = std::size_t{1} << 19U;

} // namespace

void cosine_paired(const Rows& a, const Rows& b, Accumulate accumulate, float* out) {
    require_comparable(a, b);
    if (a.count != b.count) {
        throw InvalidInput("a and b must have the same number of rows, got shapes (" +
                           std::to_string(a.count) + ", " + std::to_string(a.width) + ") and (" +
                           std::to_string(b.count) + ", " + std::to_string(b.width) + ")");
    }
    const KernelTable& kernels = active_kernels();
    const auto run = [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            out[i] = cosine_of(kernels, accumulate, a.dtype, row_at(a, i), row_at(b, i), a.width);
        }
    };
    const std::size_t rows_per_task = std::max<std::size_t>(1, kElementsPerTask / a.width);
    if (a.count <= rows_per_task) {
        run(0, a.count);
        return;
    }
    const std::size_t tasks = (a.count + rows_per_task - 1) / rows_per_task;
    parallel_for(tasks, [&](std::size_t task, std::size_t) {
        run(task * rows_per_task, std::min(a.count, (task + 1) * rows_per_task));
    });
}

} // namespace framejudge
