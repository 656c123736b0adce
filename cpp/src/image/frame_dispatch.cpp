// The frame path's table of the tier in use.
#include "frame_kernels.hpp"

#include "framejudge/isa.hpp"

namespace framejudge {

const FrameKernels& active_frame_kernels() {
    switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::kAvx2:
        return avx2_frame_kernels();
    case Isa::kAvx512:
        return avx512_frame_kernels();
#elif defined(__aarch64__)
    case Isa::kNeon:
        return neon_frame_kernels();
#endif
    default:
        return baseline_frame_kernels();
    }
}

} // namespace framejudge
