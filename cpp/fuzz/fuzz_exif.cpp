// Any bytes as EXIF and as XMP: an orientation of 0 to 8.
#include "image/exif.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const int orientation :
         {framejudge::exif_orientation({data, size}), framejudge::xmp_orientation({data, size})}) {
        if (orientation < 0 || orientation > 8) {
            std::abort();
        }
    }
    return 0;
}
