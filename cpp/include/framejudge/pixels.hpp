// A rectangle of 8-bit pixels that owns its memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace framejudge {

// A rectangle of interleaved 8-bit samples that somebody else owns; rows may be apart.
struct PixelView {
    const std::uint8_t* data;
    std::size_t width;
    std::size_t height;
    std::size_t channels; // 1, 3 or 4
    std::size_t stride;   // bytes from a row to the next
};

// Gives memory back to the pool of pixel buffers.
struct PixelRelease {
    std::size_t capacity;
    void operator()(std::uint8_t* memory) const noexcept;
};

// Rows without gaps, aligned to 64 bytes. The contents of a new one are zero unless it is made
// with `Pixels::uninitialized`, whose caller must write every sample.
class Pixels {
public:
    Pixels() = default;
    Pixels(std::size_t width, std::size_t height, std::size_t channels);
    static Pixels uninitialized(std::size_t width, std::size_t height, std::size_t channels);

    std::uint8_t* data() { return memory_.get(); }
    [[nodiscard]] const std::uint8_t* data() const { return memory_.get(); }
    std::uint8_t* row(std::size_t y) { return memory_.get() + y * stride(); }
    [[nodiscard]] const std::uint8_t* row(std::size_t y) const {
        return memory_.get() + y * stride();
    }
    [[nodiscard]] std::size_t width() const { return width_; }
    [[nodiscard]] std::size_t height() const { return height_; }
    [[nodiscard]] std::size_t channels() const { return channels_; }
    [[nodiscard]] std::size_t stride() const { return width_ * channels_; }
    [[nodiscard]] std::size_t size() const { return height_ * stride(); }
    [[nodiscard]] PixelView view() const { return {data(), width_, height_, channels_, stride()}; }
    // The memory itself, for an owner elsewhere; this object is empty afterwards.
    std::unique_ptr<std::uint8_t, PixelRelease> release();

private:
    std::unique_ptr<std::uint8_t, PixelRelease> memory_{nullptr, PixelRelease{0}};
    std::size_t width_ = 0;
    std::size_t height_ = 0;
    std::size_t channels_ = 0;
};

// Idle buffers are kept for the next picture, up to so many bytes; see NOTE [pixel pool].
constexpr std::size_t kDefaultPixelPoolBytes = std::size_t{128} << 20U;

struct PixelPoolState {
    std::size_t limit_bytes;
    std::size_t idle_bytes;
    std::size_t idle_buffers;
};

PixelPoolState pixel_pool_state();
void set_pixel_pool_limit(std::size_t bytes);
void clear_pixel_pool();

} // namespace framejudge
