// What the kernels multiply by; see NOTE [yuv arithmetic].
#pragma once

#include "framejudge/yuv.hpp"
#include "yuv_kernels.hpp"

namespace framejudge {

YuvCoefficients yuv_coefficients(YuvMatrix matrix, bool is_full_range, int bits);

} // namespace framejudge
