// The libraries that read and write pictures, for build_info() and for reports.
#pragma once

#include <string>

namespace framejudge {

std::string jpeg_codec_name();    // "libjpeg-turbo 3.1.0"
bool jpeg_codec_has_simd();       // built with hand-written vector code
std::string inflate_codec_name(); // "libdeflate 1.14" or "zlib 1.2.13"
std::string webp_codec_name();    // "libwebp 1.2.4", or empty if built without

} // namespace framejudge
