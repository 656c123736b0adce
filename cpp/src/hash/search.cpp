// Distances between hashes, one pair at a time and all pairs.
#include "framejudge/hash.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "image/frame_kernels.hpp"

#include <algorithm>
#include <string>

namespace framejudge {
namespace {

constexpr std::size_t kRowsPerTask = 64;
constexpr std::size_t kRowsPerBlock = 2048; // these stay in the first cache, or the second

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

// The pairs of rows `begin` to `end` with all that come later, by blocks of these.
Pairs pairs_of(const HashRows& hashes, std::size_t begin, std::size_t end,
               std::uint32_t max_distance) {
    const FrameKernels& kernels = active_frame_kernels();
    Pairs pairs;
    std::vector<std::uint32_t> near(kRowsPerBlock);
    for (std::size_t block = begin; block < hashes.count; block += kRowsPerBlock) {
        const std::size_t block_end = std::min(hashes.count, block + kRowsPerBlock);
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t first = std::max(block, i + 1);
            if (first >= block_end) {
                continue;
            }
            const std::size_t found = kernels.find_near(
                hashes.data + i * hashes.words, hashes.data + first * hashes.words,
                block_end - first, hashes.words, max_distance, near.data());
            for (std::size_t k = 0; k < found; ++k) {
                pairs.emplace_back(i, first + near[k]);
            }
        }
    }
    std::sort(pairs.begin(), pairs.end());
    return pairs;
}

} // namespace

void hamming(const HashRows& a, const HashRows& b, std::uint32_t* out) {
    if (a.words != b.words || (a.count != b.count && a.count != 1)) {
        throw InvalidInput("hashes must be as many and as long, got " + std::to_string(a.count) +
                           " of " + std::to_string(64 * a.words) + " bits and " +
                           std::to_string(b.count) + " of " + std::to_string(64 * b.words));
    }
    active_frame_kernels().distances(a.data, a.count == 1 ? 0 : a.words, b.data, b.count, b.words,
                                     out);
}

Pairs find_duplicates(const HashRows& hashes, std::uint32_t max_distance) {
    const std::size_t tasks = (hashes.count + kRowsPerTask - 1) / kRowsPerTask;
    std::vector<Pairs> found(tasks);
    parallel_for(tasks, [&](std::size_t task, std::size_t) {
        const std::size_t begin = task * kRowsPerTask;
        found[task] =
            pairs_of(hashes, begin, std::min(hashes.count, begin + kRowsPerTask), max_distance);
    });
    Pairs all;
    for (const Pairs& pairs : found) {
        all.insert(all.end(), pairs.begin(), pairs.end());
    }
    return all;
}

} // namespace framejudge
