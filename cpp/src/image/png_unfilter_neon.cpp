// The NEON tier of the unfilter.
#include "png_unfilter_template.hpp"

#include <arm_neon.h>

namespace framejudge {
namespace {

struct Lanes {
    using Vector = uint8x8_t;
    using Wide = int16x8_t;
    static constexpr std::size_t kBlock = 16;

    static Vector from_bits(std::uint64_t bits) { return vcreate_u8(bits); }
    static std::uint64_t to_bits(Vector v) { return vget_lane_u64(vreinterpret_u64_u8(v), 0); }
    static Vector add(Vector a, Vector b) { return vadd_u8(a, b); }
    static Vector average(Vector a, Vector b) { return vhadd_u8(a, b); } // rounds down

    static Wide wide_from_bits(std::uint64_t bits) {
        return vreinterpretq_s16_u16(vmovl_u8(from_bits(bits)));
    }
    static std::uint64_t wide_to_bits(Wide v) {
        return to_bits(vmovn_u16(vreinterpretq_u16_s16(v)));
    }
    static Wide add_low_bytes(Wide a, Wide b) {
        return vandq_s16(vaddq_s16(a, b), vdupq_n_s16(0xFF));
    }
    static Wide paeth(Wide a, Wide b, Wide c) {
        const Wide lo = vminq_s16(a, b);
        const Wide hi = vmaxq_s16(a, b);
        const Wide three_c_minus_b = vsubq_s16(vaddq_s16(vaddq_s16(c, c), c), b);
        const Wide t = vsubq_s16(three_c_minus_b, a);
        const Wide low_or_c = vbslq_s16(vcgtq_s16(hi, t), c, lo);
        return vbslq_s16(vcgtq_s16(t, lo), low_or_c, hi);
    }
    static void add_block(std::uint8_t* to, const std::uint8_t* a, const std::uint8_t* b) {
        vst1q_u8(to, vaddq_u8(vld1q_u8(a), vld1q_u8(b)));
    }
};

constexpr UnfilterTable kTable = make_table<Lanes>();

} // namespace

const UnfilterTable& unfilter_neon() { return kTable; }

} // namespace framejudge
