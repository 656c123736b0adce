// Finds the pictures of a Motion-JPEG or multipart stream.
#include "framejudge/jpeg_stream.hpp"

#include "jpeg_scan.hpp"

#include <cstring>

namespace framejudge {
namespace {

constexpr std::size_t kTolerated = 16; // stray bytes between segments

// Where the next picture begins: FF D8 FF.
std::size_t find_start(ByteView bytes, std::size_t at) {
    while (at + 2 < bytes.size) {
        const void* found = std::memchr(bytes.data + at, 0xFF, bytes.size - 2 - at);
        if (found == nullptr) {
            break;
        }
        at = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - bytes.data);
        if (bytes.data[at + 1] == kSoi && bytes.data[at + 2] == 0xFF) {
            return at;
        }
        ++at;
    }
    return bytes.size;
}

// Whether something that can follow a segment is at `at`.
bool leads_on(ByteView bytes, std::size_t at) {
    for (std::size_t i = at; i < bytes.size && i <= at + kTolerated; ++i) {
        if (bytes.data[i] == 0xFF) {
            return true;
        }
    }
    return false;
}

// The picture that begins at `begin`. A thumbnail's markers are inside a segment and don't count; a
// segment whose length leads nowhere is not believed.
JpegFrame frame_at(ByteView bytes, std::size_t begin) {
    JpegWalker walker(bytes, begin + 2);
    JpegSegment segment{};
    while (walker.next(segment)) {
        if (segment.marker == kEoi) {
            return {begin, walker.position() - begin, true};
        }
        if (segment.marker == kSoi) {
            return {begin, segment.begin - begin, false};
        }
        const bool has_payload = segment.payload.size > 0;
        if (has_payload && segment.marker != kSos &&
            !(segment.whole && leads_on(bytes, walker.position()))) {
            walker.seek(segment.begin + 2);
        }
    }
    return {begin, bytes.size - begin, false};
}

} // namespace

std::vector<JpegFrame> split_jpeg_stream(ByteView bytes) {
    std::vector<JpegFrame> frames;
    std::size_t at = find_start(bytes, 0);
    while (at < bytes.size) {
        const JpegFrame frame = frame_at(bytes, at);
        frames.push_back(frame);
        at = find_start(bytes, frame.begin + frame.size);
    }
    return frames;
}

} // namespace framejudge
