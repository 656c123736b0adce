// Undoes the filters of PNG rows with the kernels of the tier in use.
#include "png_unfilter.hpp"

#include "framejudge/isa.hpp"

#include <cstring>
#include <vector>

namespace framejudge {
namespace {

const UnfilterTable& active_table() {
    switch (active_isa()) {
#if defined(__x86_64__)
    case Isa::kAvx2:
    case Isa::kAvx512: // a row waits for the pixel on the left; wider vectors would idle
        return unfilter_avx2();
#elif defined(__aarch64__)
    case Isa::kNeon:
        return unfilter_neon();
#endif
    default:
        return unfilter_baseline();
    }
}

} // namespace

std::size_t unfilter_rows(const UnfilterJob& job) {
    const UnfilterTable& table = active_table();
    const std::vector<std::uint8_t> zeros(job.row_bytes + kUnfilterSlack);
    const std::uint8_t* prior = zeros.data();
    for (std::size_t y = 0; y < job.count; ++y) {
        const std::uint8_t* const filtered = job.filtered + y * (job.row_bytes + 1);
        const std::uint8_t* const source = filtered + 1;
        std::uint8_t* const row = job.rows + y * job.stride;
        switch (*filtered) {
        case kNone:
            if (row != source) {
                std::memcpy(row, source, job.row_bytes);
            }
            break;
        case kSub:
            table.sub[job.pixel_bytes](row, source, prior, job.row_bytes);
            break;
        case kUp:
            table.up(row, source, prior, job.row_bytes);
            break;
        case kAverage:
            table.average[job.pixel_bytes](row, source, prior, job.row_bytes);
            break;
        case kPaeth:
            table.paeth[job.pixel_bytes](row, source, prior, job.row_bytes);
            break;
        default:
            return y;
        }
        prior = row;
    }
    return job.count;
}

} // namespace framejudge
