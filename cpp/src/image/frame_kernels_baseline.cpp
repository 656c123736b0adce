// Baseline tier of the frame path: what every machine of the architecture runs.
#include "hash_kernels.hpp"
#include "resize_portable.hpp"
#include "tensor_table.hpp"

namespace framejudge {
namespace {

template <typename Number>
void single(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    single_by_table<Number>(from, count, norm, static_cast<Number*>(to));
}

template <typename Number>
void planar(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to,
            std::size_t plane) {
    planar_by_table<Number>(from, count, norm, static_cast<Number*>(to), plane);
}

template <typename Number>
void interleaved(const std::uint8_t* from, std::size_t count, const Normalization& norm, void* to) {
    interleaved_by_table<Number>(from, count, norm, static_cast<Number*>(to));
}

} // namespace

const FrameKernels& baseline_frame_kernels() {
    static constexpr FrameKernels kTable = {portable_vertical,
                                            portable_horizontal<1>,
                                            portable_horizontal<3>,
                                            portable_horizontal<4>,
                                            luma_by_sample,
                                            single<float>,
                                            single<std::uint16_t>,
                                            planar<float>,
                                            planar<std::uint16_t>,
                                            interleaved<float>,
                                            interleaved<std::uint16_t>,
                                            distances,
                                            find_near,
                                            xxh3_stripes};
    return kTable;
}

} // namespace framejudge
