// Any bytes as a stream of JPEG pictures: they follow each other, within the bytes.
#include "framejudge/jpeg_stream.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::size_t end = 0;
    for (const framejudge::JpegFrame& frame : framejudge::split_jpeg_stream({data, size})) {
        if (frame.begin < end || frame.size < 2 || frame.begin + frame.size > size) {
            std::abort();
        }
        end = frame.begin + frame.size;
    }
    return 0;
}
