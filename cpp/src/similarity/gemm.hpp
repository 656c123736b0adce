// Products of normalised rows, block by block.
#pragma once

#include "rows.hpp"

#include <cstddef>
#include <memory>
#include <new>

namespace framejudge {

// Uninitialised memory on a cache line's boundary.
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes)
        : data_(static_cast<std::byte*>(::operator new(bytes, kAlignment))) {}
    [[nodiscard]] std::byte* data() const { return data_.get(); }
    [[nodiscard]] float* floats() const { return reinterpret_cast<float*>(data_.get()); }
    explicit operator bool() const { return data_ != nullptr; }

private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
        void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
    };
    std::unique_ptr<std::byte, Free> data_;
};

// One call's tier, precision and shapes.
//
// NOTE [blocking]
// Rows are normalised and interleaved into panels, as the tile kernel reads them. A group of rows
// of a is packed once and shared by all threads; a block of b, small enough for the second cache,
// is packed by the thread that multiplies it. Memory is bounded by the group and one block a
// thread, whatever n and m. A tile is summed over the whole width in registers, in one order, so
// where an element lies in its tile, and which thread makes it, do not change its bits.
class Product {
public:
    Product(const Rows& a, const Rows& b, Accumulate accumulate);

    // How many rows of a make a group; `bytes_per_row` is what the caller keeps beside it.
    [[nodiscard]] std::size_t group_rows(std::size_t bytes_per_row) const;
    // How many rows of b make a block.
    [[nodiscard]] std::size_t block_rows() const { return block_rows_; }
    // How many rows of a make a panel.
    [[nodiscard]] std::size_t panel_rows() const { return gemm_.mr; }

    // Packs a[begin, begin + count), in parallel.
    [[nodiscard]] Buffer pack_group(std::size_t begin, std::size_t count) const;
    // Packs b[begin, begin + count) into `block`, which is made if empty.
    void pack_block(std::size_t begin, std::size_t count, Buffer& block) const;

    // c[i * stride + j] for `rows` rows from panel `first` of a group, and `columns` of a block.
    void multiply(const Buffer& group, std::size_t first, std::size_t rows, const Buffer& block,
                  std::size_t columns, float* c, std::size_t stride) const;

private:
    void pack(const Rows& rows, std::size_t begin, std::size_t count, bool is_a,
              std::byte* panels) const;
    void edge_tile(const std::byte* a, const std::byte* b, std::size_t rows, std::size_t columns,
                   float* c, std::size_t stride) const;

    const KernelTable& kernels_;
    const Gemm& gemm_;
    Rows a_;
    Rows b_;
    Accumulate accumulate_;
    std::size_t a_panel_bytes_;
    std::size_t b_panel_bytes_;
    std::size_t block_rows_;
};

// With so few rows packing costs more than it saves: the pair kernel is used.
constexpr std::size_t kFewRows = 4;

} // namespace framejudge
