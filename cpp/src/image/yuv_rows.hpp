// What the two ways from planes to pixels share.
#pragma once

#include "framejudge/yuv.hpp"
#include "yuv_coefficients.hpp"

#include <cstddef>
#include <cstdint>

namespace framejudge {

// Nothing shows through: there is no alpha that a background could lie under.
constexpr std::array<std::uint8_t, 3> kNoAlpha = {255, 255, 255};

template <typename Sample>
const Sample* row_of(const YuvFrame& frame, std::size_t plane, std::size_t y) {
    return reinterpret_cast<const Sample*>(frame.planes[plane] + y * frame.strides[plane]);
}

// How far a sample of two bytes is from the top of its 16 bits.
inline int shift_of(const YuvFormat& format) {
    return format.bits > 8 ? 16 - format.bits - format.padding : 0;
}

// Throws InvalidInput for sides or addresses that can't be.
void check_yuv_frame(const YuvFrame& frame);

// RGB, or gray if the mode or the format is; not turned.
Pixels convert_yuv(const YuvFrame& frame, PixelMode mode);

} // namespace framejudge
