// The markers of a JPEG file, without decoding it.
#pragma once

#include "framejudge/image.hpp"

#include <array>

namespace framejudge {

enum JpegMarker : std::uint8_t {
    kSof0 = 0xC0,
    kDht = 0xC4,
    kJpg = 0xC8,
    kDac = 0xCC,
    kSof15 = 0xCF,
    kRst0 = 0xD0,
    kRst7 = 0xD7,
    kSoi = 0xD8,
    kEoi = 0xD9,
    kSos = 0xDA,
    kApp1 = 0xE1,
    kApp2 = 0xE2,
    kTem = 0x01,
};

struct JpegSegment {
    std::uint8_t marker;
    std::size_t begin;     // of its 0xFF
    ByteView payload;      // empty for markers that stand alone
    bool whole;            // the payload is as long as it claims
    std::size_t stray = 0; // bytes before it that belong to nothing
};

// Walks from marker to marker; entropy-coded data are skipped, other bytes that belong to nothing
// are counted.
class JpegWalker {
public:
    explicit JpegWalker(ByteView bytes, std::size_t at = 0) : bytes_(bytes), at_(at) {}

    // False at the end of the bytes.
    bool next(JpegSegment& segment);
    // Goes on from here, as if after no scan.
    void seek(std::size_t at) {
        at_ = at;
        in_scan_ = false;
    }
    [[nodiscard]] std::size_t position() const { return at_; }

private:
    ByteView bytes_;
    std::size_t at_;
    bool in_scan_ = false;
};

struct JpegComponent {
    int horizontal;
    int vertical;
};

struct JpegHeader {
    std::uint8_t frame = 0; // the SOF marker, or 0 if there is none before the first scan
    int precision = 0;
    std::size_t width = 0;
    std::size_t height = 0;
    int component_count = 0;
    std::array<JpegComponent, 4> components{};
    int orientation = 1;
    bool broken_profile = false; // the chunks of its ICC profile don't add up
    std::size_t scan_begin = 0;  // where the first scan's marker is, or the end of the bytes

    [[nodiscard]] bool progressive() const { return (frame & 3U) == 2; }
    [[nodiscard]] bool arithmetic() const { return frame >= 0xC9; }
    // 8x8 blocks of all components, or of the first one.
    [[nodiscard]] std::size_t blocks(bool all) const;
};

// Reads up to the first scan. Throws ImageDamagedError without a frame header that makes sense,
// ImageUnsupportedError for a coding that is not read.
JpegHeader read_jpeg_header(ByteView bytes);

// How many scans there are up to the end of the picture; stops counting above `most`.
int count_jpeg_scans(ByteView bytes, int most);

// Whether the picture ends with its end marker.
bool has_jpeg_end(ByteView bytes);

// Where the last marker at or before `offset` begins; 0 if there is none.
std::size_t last_marker_before(ByteView bytes, std::size_t offset);

} // namespace framejudge
