// The k best rows of b for each row of a, without the matrix.
#include "framejudge/errors.hpp"
#include "framejudge/thread_pool.hpp"
#include "gemm.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace framejudge {
namespace {

struct Candidate {
    float score;
    std::int64_t index;
};

// A total order, so that the result doesn't depend on who found what first.
bool is_better(const Candidate& x, const Candidate& y) {
    return x.score != y.score ? x.score > y.score : x.index < y.index;
}

// The k best candidates of each of some rows, as one worker has seen them. Each row is a heap whose
// top is its worst.
class Leaders {
public:
    Leaders(std::size_t rows, std::size_t k) : k_(k), heaps_(rows) {}

    // Offers values[j] as index first + j; a worker offers ascending indices, so an equal score
    // that comes later is not better.
    void offer(const KernelTable& kernels, std::size_t row, const float* values, std::size_t count,
               std::size_t first) {
        auto& heap = heaps_[row];
        float bar = threshold(heap);
        for (std::size_t j = kernels.find_above(values, 0, count, bar); j < count;
             j = kernels.find_above(values, j + 1, count, bar)) {
            if (heap.size() == k_) {
                std::pop_heap(heap.begin(), heap.end(), is_better);
                heap.pop_back();
            }
            heap.push_back({values[j], static_cast<std::int64_t>(first + j)});
            std::push_heap(heap.begin(), heap.end(), is_better);
            bar = threshold(heap);
        }
    }

    [[nodiscard]] const std::vector<Candidate>& of(std::size_t row) const { return heaps_[row]; }

private:
    [[nodiscard]] float threshold(const std::vector<Candidate>& heap) const {
        return heap.size() < k_ ? -std::numeric_limits<float>::infinity() : heap.front().score;
    }

    std::size_t k_;
    std::vector<std::vector<Candidate>> heaps_;
};

// What one worker needs; made by the first task it runs.
struct Scratch {
    Buffer block;
    Buffer scores;
    std::unique_ptr<Leaders> leaders;
};

// Everything about one call that its steps share.
struct Search {
    const Rows& a;
    const Rows& b;
    std::size_t k;
    Accumulate accumulate;
    const KernelTable& kernels;
    float* scores;
    std::int64_t* indices;
};

void write_row(const Search& search, std::size_t row, std::vector<Candidate>& found) {
    const std::size_t count = std::min(search.k, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(count),
                      found.end(), is_better);
    float* scores = search.scores + row * search.k;
    std::int64_t* indices = search.indices + row * search.k;
    for (std::size_t i = 0; i < count; ++i) {
        scores[i] = found[i].score;
        indices[i] = found[i].index;
    }
    std::fill(scores + count, scores + search.k, std::numeric_limits<float>::quiet_NaN());
    std::fill(indices + count, indices + search.k, std::int64_t{-1});
}

// Joins what the workers found for rows [begin, begin + count) of a.
void write_group(const Search& search, std::size_t begin, std::size_t count,
                 const std::vector<Scratch>& scratch) {
    constexpr std::size_t kRowsPerTask = 256;
    parallel_for((count + kRowsPerTask - 1) / kRowsPerTask, [&](std::size_t task, std::size_t) {
        std::vector<Candidate> found;
        const std::size_t end = std::min(count, (task + 1) * kRowsPerTask);
        for (std::size_t row = task * kRowsPerTask; row < end; ++row) {
            found.clear();
            for (const Scratch& one : scratch) {
                if (one.leaders) {
                    const auto& part = one.leaders->of(row);
                    found.insert(found.end(), part.begin(), part.end());
                }
            }
            write_row(search, begin + row, found);
        }
    });
}

// Few queries: b is read once, row by row, without packing.
void search_few(const Search& search, std::vector<Scratch>& scratch) {
    constexpr std::size_t kRowsPerTask = 256;
    const Rows& a = search.a;
    const Rows& b = search.b;
    parallel_for((b.count + kRowsPerTask - 1) / kRowsPerTask,
                 [&](std::size_t task, std::size_t worker) {
                     Scratch& mine = scratch[worker];
                     if (!mine.leaders) {
                         mine.leaders = std::make_unique<Leaders>(a.count, search.k);
                     }
                     const std::size_t first = task * kRowsPerTask;
                     const std::size_t count = std::min(kRowsPerTask, b.count - first);
                     float scores[kFewRows][kRowsPerTask];
                     for (std::size_t j = 0; j < count; ++j) {
                         for (std::size_t i = 0; i < a.count; ++i) {
                             scores[i][j] = cosine_of(search.kernels, search.accumulate, a.dtype,
                                                      row_at(a, i), row_at(b, first + j), a.width);
                         }
                     }
                     for (std::size_t i = 0; i < a.count; ++i) {
                         mine.leaders->offer(search.kernels, i, scores[i], count, first);
                     }
                 },
                 scratch.size());
    write_group(search, 0, a.count, scratch);
}

// One group of a's rows against all of b.
void search_group(const Search& search, const Product& product, std::size_t begin,
                  std::size_t count, std::vector<Scratch>& scratch) {
    const Buffer group = product.pack_group(begin, count);
    const std::size_t block_rows = product.block_rows();
    const std::size_t panel_rows = product.panel_rows();
    for (Scratch& one : scratch) {
        one.leaders.reset();
    }
    const auto run = [&](std::size_t task, std::size_t worker) {
        Scratch& mine = scratch[worker];
        if (!mine.leaders) {
            mine.leaders = std::make_unique<Leaders>(count, search.k);
        }
        if (!mine.scores) {
            mine.scores = Buffer(panel_rows * block_rows * sizeof(float));
        }
        const std::size_t first = task * block_rows;
        const std::size_t columns = std::min(block_rows, search.b.count - first);
        product.pack_block(first, columns, mine.block);
        for (std::size_t row = 0; row < count; row += panel_rows) {
            const std::size_t rows = std::min(panel_rows, count - row);
            product.multiply(group, row / panel_rows, rows, mine.block, columns,
                             mine.scores.floats(), block_rows);
            for (std::size_t i = 0; i < rows; ++i) {
                mine.leaders->offer(search.kernels, row + i, mine.scores.floats() + i * block_rows,
                                    columns, first);
            }
        }
    };
    parallel_for((search.b.count + block_rows - 1) / block_rows, run, scratch.size());
    write_group(search, begin, count, scratch);
}

} // namespace

void cosine_top_k(const Rows& a, const Rows& b, std::size_t k, Accumulate accumulate, float* scores,
                  std::int64_t* indices) {
    require_comparable(a, b);
    if (k == 0) {
        throw InvalidInput("k must be at least 1, got 0");
    }
    const Search search = {a, b, k, accumulate, active_kernels(), scores, indices};
    const std::size_t workers = thread_budget().threads;
    std::vector<Scratch> scratch(workers);
    if (a.count < kFewRows) {
        search_few(search, scratch);
        return;
    }
    const Product product(a, b, accumulate);
    const std::size_t step = product.group_rows(workers * std::min(k, b.count) * sizeof(Candidate));
    for (std::size_t begin = 0; begin < a.count; begin += step) {
        search_group(search, product, begin, std::min(step, a.count - begin), scratch);
    }
}

} // namespace framejudge
