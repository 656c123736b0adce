// Names the libraries this build uses.
#include "framejudge/codec_info.hpp"

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#ifdef FRAMEJUDGE_HAVE_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif
#ifdef FRAMEJUDGE_HAVE_WEBP
#include <webp/decode.h>
#endif

namespace framejudge {

std::string jpeg_codec_name() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
    constexpr int kVersion = LIBJPEG_TURBO_VERSION_NUMBER;
    static_assert(kVersion >= 2'000'000, "libjpeg-turbo 2.0 or newer is needed");
    char text[40];
    std::snprintf(text, sizeof text, "libjpeg-turbo %d.%d.%d", kVersion / 1'000'000,
                  kVersion / 1000 % 1000, kVersion % 1000);
    return text;
#else
#error "framejudge needs libjpeg-turbo: apt-get install -y libjpeg-dev"
#endif
}

bool jpeg_codec_has_simd() {
#if defined(WITH_SIMD) && WITH_SIMD
    return true;
#else
    return false;
#endif
}

std::string inflate_codec_name() { // NOLINT(modernize-use-string-view): zlib's is made here
#ifdef FRAMEJUDGE_HAVE_LIBDEFLATE
    return "libdeflate " LIBDEFLATE_VERSION_STRING;
#else
    return std::string("zlib ") + zlibVersion();
#endif
}

std::string webp_codec_name() {
#ifdef FRAMEJUDGE_HAVE_WEBP
    const int version = WebPGetDecoderVersion();
    char text[40];
    std::snprintf(text, sizeof text, "libwebp %d.%d.%d", version >> 16, version >> 8 & 255,
                  version & 255);
    return text;
#else
    return "";
#endif
}

} // namespace framejudge
