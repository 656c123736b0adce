// From a PNG's unfiltered rows to 8-bit pixels in the asked mode.
#pragma once

#include "png_header.hpp"

#include "framejudge/image.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace framejudge {

class PngExpander {
public:
    // `max_width` is that of the widest row.
    PngExpander(const PngHeader& header, PixelMode mode, std::size_t max_width);

    // Whether unfiltered rows already are what is asked for.
    [[nodiscard]] bool is_identity() const { return is_identity_; }
    void expand(const std::uint8_t* row, std::uint8_t* to, std::size_t width);
    // Whether a row had a palette index beyond the palette; such a pixel is black.
    [[nodiscard]] bool has_bad_index() const { return has_bad_index_; }

private:
    void expand_palette(const std::uint8_t* row, std::uint8_t* to, std::size_t width);
    void clear_transparent(const std::uint8_t* row, std::uint8_t* to, std::size_t width) const;
    const std::uint8_t* to_bytes(const std::uint8_t* row, std::size_t width);

    const PngHeader& header_;
    PixelMode mode_;
    bool is_identity_;
    bool has_bad_index_ = false;
    std::vector<std::uint8_t> bytes_;                       // a row of 8-bit samples
    std::array<std::array<std::uint8_t, 4>, 256> colors_{}; // the palette in the asked mode
};

} // namespace framejudge
