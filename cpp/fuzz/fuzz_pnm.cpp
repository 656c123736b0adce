// Any bytes as PNM.
#include "image_target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    framejudge::fuzz::decode_all({data, size}, framejudge::ImageFormat::kPnm);
    return 0;
}
