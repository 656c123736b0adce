// Antialiased resizing, equal to Pillow 13's to the last bit.
//
// NOTE [resize]
// Two passes of a fixed-point filter whose support grows with the reduction, 8-bit samples between
// them, weights of 22 fractional bits. The rows are filtered first, unless the height shrinks by
// more than twice as many samples as the width. Integer arithmetic: every tier gives the same
// samples. Where that much rounding could change a constant picture (some windows of more than
// 8,000 samples), the weights are corrected to add up to 1, which Pillow's are not.
#pragma once

#include "framejudge/pixels.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace framejudge {

enum class Filter : std::uint8_t { kArea, kBilinear, kBicubic, kLanczos };

// Throws InvalidInput for anything but "area", "bilinear", "bicubic" and "lanczos".
Filter parse_filter(std::string_view name);

// The part of a picture that is resized, in samples; edges may fall between them.
struct Box {
    double left;
    double top;
    double right;
    double bottom;
};

// The picture, or the part of it in `box`, at another size. Colours of four channels are weighted
// by their alpha. Throws InvalidInput if a side is 0 or too long, or the box is not inside.
Pixels resize(const PixelView& source, std::size_t width, std::size_t height, Filter filter);
Pixels resize(const PixelView& source, const Box& box, std::size_t width, std::size_t height,
              Filter filter);

// A part of a picture and the size it is to have.
struct ResizeTask {
    Box box;
    std::size_t width;
    std::size_t height;
    Filter filter;
};

// The same for a picture of one or three channels whose rows are made one after another: they are
// filtered while they are in a cache, and the picture as such never is in memory.
class RowResizer {
public:
    // Whether the rows of a picture of that size are filtered first, and so can be taken.
    static bool suits(std::size_t width, std::size_t height, const ResizeTask& task);

    RowResizer(std::size_t width, std::size_t height, std::size_t channels, const ResizeTask& task);
    ~RowResizer();
    RowResizer(const RowResizer&) = delete;
    RowResizer& operator=(const RowResizer&) = delete;
    RowResizer(RowResizer&&) = delete;
    RowResizer& operator=(RowResizer&&) = delete;

    // How many rows may be written next, and where the first of them and those behind it go.
    [[nodiscard]] std::size_t room() const;
    [[nodiscard]] std::uint8_t* row(std::size_t ahead) const;
    // Takes as many rows as were written. Needs no destructor to run: libjpeg may jump over it.
    void take(std::size_t count) noexcept;
    // The picture, after its last row.
    [[nodiscard]] Pixels finish() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

} // namespace framejudge
