// Any bytes as filtered rows of a PNG: every tier comes to the same, out of place and in place.
#include "framejudge/isa.hpp"
#include "image/png_unfilter.hpp"

#include <cstdlib>
#include <vector>

namespace framejudge::fuzz {
namespace {

struct Rows {
    std::size_t pixel_bytes;
    std::size_t size;
    std::size_t count;
    std::vector<std::uint8_t> filtered;
};

// The rows, and how many there are before a filter that does not exist.
std::vector<std::uint8_t> unfilter(const Rows& rows) {
    std::vector<std::uint8_t> out(rows.size * rows.count);
    const std::size_t done = unfilter_rows(
        {rows.filtered.data(), out.data(), rows.size, rows.size, rows.count, rows.pixel_bytes});
    out.resize(rows.size * done);
    return out;
}

std::vector<std::uint8_t> unfilter_in_place(Rows rows) {
    const std::size_t done =
        unfilter_rows({rows.filtered.data(), rows.filtered.data() + 1, rows.size + 1, rows.size,
                       rows.count, rows.pixel_bytes});
    std::vector<std::uint8_t> out;
    for (std::size_t y = 0; y < done; ++y) {
        const auto row =
            rows.filtered.begin() + static_cast<std::ptrdiff_t>(y * (rows.size + 1) + 1);
        out.insert(out.end(), row, row + static_cast<std::ptrdiff_t>(rows.size));
    }
    return out;
}

} // namespace
} // namespace framejudge::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace framejudge;
    constexpr std::size_t kPixelBytes[] = {1, 2, 3, 4, 6, 8};
    if (size < 3) {
        return 0;
    }
    fuzz::Rows rows{kPixelBytes[data[0] % 6], 0, 0, {}};
    rows.size = rows.pixel_bytes * (data[1] + std::size_t{1});
    rows.count = (size - 2) / (rows.size + 1);
    rows.filtered.assign(data + 2, data + size);
    rows.filtered.resize(rows.filtered.size() + kUnfilterSlack);
    set_isa("baseline");
    const std::vector<std::uint8_t> expected = fuzz::unfilter(rows);
    for (const Isa isa : supported_isas()) {
        set_isa(isa_name(isa));
        if (fuzz::unfilter(rows) != expected || fuzz::unfilter_in_place(rows) != expected) {
            std::abort();
        }
    }
    return 0;
}
