// Memory for pixels: aligned, in huge pages where it is big, and used again.
#include "framejudge/pixels.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sys/mman.h>
#include <utility>
#include <vector>

namespace framejudge {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kPage = std::size_t{64} << 10; // a multiple of every page size in use
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPooledFrom = std::size_t{256} << 10; // below it malloc is as good
constexpr std::size_t kLargestSize = std::numeric_limits<std::size_t>::max() / 4;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

bool is_pooled(std::size_t capacity) { return capacity >= kPooledFrom; }

// Fresh pages, which are zero; nullptr if there are none.
std::uint8_t* map_pages(std::size_t capacity) {
    const std::size_t alignment = capacity >= kHugePage ? kHugePage : kPage;
    const std::size_t mapped = capacity + alignment;
    void* memory =
        mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    auto* begin = static_cast<std::uint8_t*>(memory);
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(begin) % alignment;
    const std::size_t before = misaligned == 0 ? 0 : alignment - misaligned;
    if (before != 0) {
        munmap(begin, before);
    }
    munmap(begin + before + capacity, alignment - before);
#ifdef MADV_HUGEPAGE
    if (capacity >= kHugePage) {
        madvise(begin + before, capacity, MADV_HUGEPAGE); // advice: refusal changes nothing
    }
#endif
    return begin + before;
}

// NOTE [pixel pool]
// A fresh page costs more than decoding into it: a 4K picture takes 1.5 times as long when its
// memory is new. So buffers come back here and the one that was used last goes out first. What
// lies idle is bounded in bytes; the oldest go first. The lock is held across fork(), so the
// child's copy is whole.
class Pool {
public:
    struct Block {
        std::uint8_t* memory;
        std::size_t capacity;
    };

    // The idle buffer that fits and was used last, or {nullptr, 0}.
    Block take(std::size_t capacity) {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = idle_.size(); i-- > 0;) {
            const Block block = idle_[i];
            if (block.capacity >= capacity && block.capacity <= capacity + capacity / 4) {
                idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(i));
                idle_bytes_ -= block.capacity;
                return block;
            }
        }
        return {nullptr, 0};
    }

    void give(Block block) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            if (block.capacity <= limit_ && idle_.size() < idle_.capacity()) {
                idle_.push_back(block);
                idle_bytes_ += block.capacity;
                block = {nullptr, 0};
            }
            shrink(limit_);
        }
        if (block.memory != nullptr) {
            munmap(block.memory, block.capacity);
        }
    }

    void set_limit(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        limit_ = bytes;
        shrink(bytes);
    }

    void clear() {
        const std::scoped_lock lock(mutex_);
        shrink(0);
    }

    PixelPoolState state() {
        const std::scoped_lock lock(mutex_);
        return {limit_, idle_bytes_, idle_.size()};
    }

    static Pool& instance() {
        static Pool* const pool = [] {
            auto* created = new Pool; // lives as long as the process: arrays may outlive statics
            pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                           [] { instance().mutex_.unlock(); });
            return created;
        }();
        return *pool;
    }

private:
    static constexpr std::size_t kMostIdle = 256;

    Pool() { idle_.reserve(kMostIdle); }

    void shrink(std::size_t bytes) noexcept {
        while (idle_bytes_ > bytes) {
            const Block oldest = idle_.front();
            munmap(oldest.memory, oldest.capacity);
            idle_bytes_ -= oldest.capacity;
            idle_.erase(idle_.begin());
        }
    }

    std::mutex mutex_;
    std::vector<Block> idle_; // oldest first
    std::size_t idle_bytes_ = 0;
    std::size_t limit_ = kDefaultPixelPoolBytes;
};

struct Allocation {
    std::uint8_t* memory;
    std::size_t capacity;
    bool is_zero;
};

Allocation allocate(std::size_t size) {
    const std::size_t small = round_up(std::max(size, kAlignment), kAlignment);
    if (!is_pooled(small)) {
        auto* memory = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, small));
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        return {memory, small, false};
    }
    const std::size_t capacity = round_up(size, kPage);
    const Pool::Block block = Pool::instance().take(capacity);
    if (block.memory != nullptr) {
        return {block.memory, block.capacity, false};
    }
    std::uint8_t* memory = map_pages(capacity);
    if (memory == nullptr) {
        Pool::instance().clear(); // what lies idle may be what is missing
        memory = map_pages(capacity);
    }
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    return {memory, capacity, true};
}

std::size_t checked_size(std::size_t width, std::size_t height, std::size_t channels) {
    std::size_t row = 0;
    std::size_t size = 0;
    if (__builtin_mul_overflow(width, channels, &row) ||
        __builtin_mul_overflow(row, height, &size) || size > kLargestSize) {
        throw std::bad_alloc();
    }
    return size;
}

} // namespace

void PixelRelease::operator()(std::uint8_t* memory) const noexcept {
    if (is_pooled(capacity)) {
        Pool::instance().give({memory, capacity});
    } else {
        std::free(memory);
    }
}

Pixels Pixels::uninitialized(std::size_t width, std::size_t height, std::size_t channels) {
    Pixels pixels;
    const Allocation allocation = allocate(checked_size(width, height, channels));
    pixels.memory_ = {allocation.memory, PixelRelease{allocation.capacity}};
    pixels.width_ = width;
    pixels.height_ = height;
    pixels.channels_ = channels;
    return pixels;
}

Pixels::Pixels(std::size_t width, std::size_t height, std::size_t channels)
    : width_(width), height_(height), channels_(channels) {
    const Allocation allocation = allocate(checked_size(width, height, channels));
    memory_ = {allocation.memory, PixelRelease{allocation.capacity}};
    if (!allocation.is_zero) {
        std::memset(memory_.get(), 0, size());
    }
}

std::unique_ptr<std::uint8_t, PixelRelease> Pixels::release() {
    width_ = 0;
    height_ = 0;
    channels_ = 0;
    return std::move(memory_);
}

PixelPoolState pixel_pool_state() { return Pool::instance().state(); }

void set_pixel_pool_limit(std::size_t bytes) { Pool::instance().set_limit(bytes); }

void clear_pixel_pool() { Pool::instance().clear(); }

} // namespace framejudge
