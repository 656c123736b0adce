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

// Whether the next rows go faster in step: they do from two with Paeth's long predictor on.
bool are_worth_steps(const UnfilterJob& job, std::size_t y) {
    std::size_t slow = 0;
    for (std::size_t k = 0; k < kRowsInStep; ++k) {
        const std::uint8_t filter = job.filtered[(y + k) * (job.row_bytes + 1)];
        if (filter >= kPngFilters) {
            return false;
        }
        slow += filter == kPaeth ? 1 : 0;
    }
    return slow >= 2;
}

// False if the filter does not exist.
bool unfilter_row(const UnfilterTable& table, const UnfilterJob& job, std::size_t y,
                  const std::uint8_t* prior) {
    const std::uint8_t* const filtered = job.filtered + y * (job.row_bytes + 1);
    const std::uint8_t* const source = filtered + 1;
    std::uint8_t* const row = job.rows + y * job.stride;
    switch (*filtered) {
    case kNone:
        if (row != source) {
            std::memcpy(row, source, job.row_bytes);
        }
        return true;
    case kSub:
        table.sub[job.pixel_bytes](row, source, prior, job.row_bytes);
        return true;
    case kUp:
        table.up(row, source, prior, job.row_bytes);
        return true;
    case kAverage:
        table.average[job.pixel_bytes](row, source, prior, job.row_bytes);
        return true;
    case kPaeth:
        table.paeth[job.pixel_bytes](row, source, prior, job.row_bytes);
        return true;
    default:
        return false;
    }
}

} // namespace

std::size_t unfilter_rows(const UnfilterJob& job) {
    const UnfilterTable& table = active_table();
    const UnfilterBlockFn block = table.block[job.pixel_bytes];
    const bool has_blocks = block != nullptr && job.row_bytes >= kRowsInStep * job.pixel_bytes;
    const std::vector<std::uint8_t> zeros(job.row_bytes + kUnfilterSlack);
    const std::uint8_t* prior = zeros.data();
    std::size_t y = 0;
    while (y < job.count) {
        std::size_t done = 1;
        if (has_blocks && job.count - y >= kRowsInStep && are_worth_steps(job, y)) {
            block({job.filtered + y * (job.row_bytes + 1), prior, job.rows + y * job.stride,
                   job.stride, job.row_bytes});
            done = kRowsInStep;
        } else if (!unfilter_row(table, job, y, prior)) {
            return y;
        }
        y += done;
        prior = job.rows + (y - 1) * job.stride;
    }
    return y;
}

} // namespace framejudge
