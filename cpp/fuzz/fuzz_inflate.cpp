// Any bytes as a zlib stream: the decoder for damaged ones agrees with the library on whole ones.
#include "image/inflate.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace framejudge;
    if (size < 2) {
        return 0;
    }
    const std::size_t wanted = 256 * data[0] + std::size_t{data[1]};
    std::vector<std::uint8_t> one(wanted);
    std::vector<std::uint8_t> other(wanted);
    const ByteView stream{data + 2, size - 2};
    const Inflated fast = inflate_zlib(stream, one.data(), wanted);
    const Inflated slow = inflate_damaged_zlib(stream, other.data(), wanted);
    const auto count = static_cast<std::ptrdiff_t>(fast.written);
    if (fast.end != slow.end || fast.written != slow.written || slow.written > wanted ||
        !std::equal(one.begin(), one.begin() + count, other.begin())) {
        std::abort();
    }
    return 0;
}
