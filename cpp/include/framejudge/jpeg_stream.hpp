// Motion JPEG: pictures one after the other, with or without a multipart protocol between them.
#pragma once

#include "framejudge/image.hpp"

#include <vector>

namespace framejudge {

struct JpegFrame {
    std::size_t begin;
    std::size_t size;
    bool complete; // it ends with its end marker, not with the next picture or the stream
};

// Where each picture of the stream lies. Whatever is between them (protocol headers, padding,
// garbage) is skipped.
std::vector<JpegFrame> split_jpeg_stream(ByteView bytes);

} // namespace framejudge
