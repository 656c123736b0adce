// Walks a JPEG's markers.
#include "jpeg_scan.hpp"

#include "exif.hpp"

#include <algorithm>
#include <bitset>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace framejudge {
namespace {

bool stands_alone(std::uint8_t marker) {
    return (marker >= kRst0 && marker <= kEoi) || marker == kTem;
}

bool is_restart(std::uint8_t marker) { return marker >= kRst0 && marker <= kRst7; }

bool is_frame(std::uint8_t marker) {
    return marker >= kSof0 && marker <= kSof15 && marker != kDht && marker != kJpg &&
           marker != kDac;
}

std::size_t u16(const std::uint8_t* at) { return static_cast<std::size_t>(at[0]) << 8U | at[1]; }

std::string hex(std::uint8_t marker) {
    char text[5];
    std::snprintf(text, sizeof text, "0x%02X", marker);
    return text;
}

void read_frame(const JpegSegment& segment, JpegHeader& header) {
    const ByteView payload = segment.payload;
    if (payload.size < 6) {
        throw ImageDamagedError("JPEG: the frame header at byte " + std::to_string(segment.begin) +
                                " is cut off");
    }
    header.frame = segment.marker;
    header.precision = payload.data[0];
    header.height = u16(payload.data + 1);
    header.width = u16(payload.data + 3);
    header.component_count = payload.data[5];
    for (std::size_t i = 0; i < header.components.size(); ++i) {
        const std::size_t at = 6 + i * 3 + 1;
        if (i < payload.data[5] && at < payload.size) {
            header.components[i] = {payload.data[at] >> 4, payload.data[at] & 15};
        }
    }
}

void check_frame(const JpegHeader& header) {
    if (header.frame == 0) {
        throw ImageDamagedError("JPEG: no frame header (SOF) before the first scan or the end");
    }
    if (header.frame != 0xC0 && header.frame != 0xC1 && header.frame != 0xC2 &&
        header.frame != 0xC9 && header.frame != 0xCA) {
        throw ImageUnsupportedError(
            "JPEG: expected a baseline, extended or progressive frame (SOF 0xC0, 0xC1, 0xC2, 0xC9, "
            "0xCA), got " +
            std::string(header.frame == 0xC3 ? "a lossless one, " : "") + hex(header.frame));
    }
    if (header.precision != 8) {
        throw ImageUnsupportedError("JPEG: expected 8 bits a sample, got " +
                                    std::to_string(header.precision));
    }
    if (header.component_count != 1 && header.component_count != 3 && header.component_count != 4) {
        throw ImageUnsupportedError("JPEG: expected 1, 3 or 4 components, got " +
                                    std::to_string(header.component_count));
    }
}

// 0 if the segment says nothing of it.
int orientation_in(ByteView payload) {
    const std::string_view text(reinterpret_cast<const char*>(payload.data), payload.size);
    if (text.substr(0, 4) == "Exif") {
        return exif_orientation(payload);
    }
    if (text.substr(0, 28) == "http://ns.adobe.com/xap/1.0/") {
        return xmp_orientation(payload);
    }
    return 0;
}

// Whether the numbered chunks of an ICC profile are all there, each once.
class ProfileChunks {
public:
    void add(ByteView payload) {
        constexpr std::string_view kName("ICC_PROFILE\0", 12);
        const std::string_view text(reinterpret_cast<const char*>(payload.data), payload.size);
        if (text.size() < kName.size() + 2 || text.substr(0, kName.size()) != kName) {
            return;
        }
        const std::size_t number = payload.data[kName.size()];
        const std::size_t total = payload.data[kName.size() + 1];
        broken_ = broken_ || number == 0 || number > total || seen_.test(number) ||
                  (total_ != 0 && total != total_);
        seen_.set(number);
        total_ = total;
    }
    [[nodiscard]] bool broken() const { return broken_ || seen_.count() != total_; }

private:
    std::bitset<256> seen_;
    std::size_t total_ = 0;
    bool broken_ = false;
};

} // namespace

bool JpegWalker::next(JpegSegment& segment) {
    const std::uint8_t* const data = bytes_.data;
    segment.stray = 0;
    while (at_ < bytes_.size) {
        const void* found = std::memchr(data + at_, 0xFF, bytes_.size - at_);
        const std::size_t begin =
            found == nullptr
                ? bytes_.size
                : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data);
        segment.stray += in_scan_ ? 0 : begin - at_;
        at_ = begin + 1;
        if (at_ >= bytes_.size) {
            break;
        }
        const std::uint8_t marker = data[at_];
        if (marker == 0xFF) {
            continue; // fill
        }
        ++at_;
        if (marker == 0 || (in_scan_ && is_restart(marker))) {
            segment.stray += in_scan_ ? 0 : 2;
            continue;
        }
        segment.marker = marker;
        segment.begin = begin;
        segment.payload = {data + at_, 0};
        segment.whole = true;
        in_scan_ = marker == kSos;
        if (stands_alone(marker)) {
            return true;
        }
        const std::size_t left = bytes_.size - at_;
        const std::size_t claimed = left < 2 ? 2 : std::max<std::size_t>(2, u16(data + at_));
        const std::size_t size = std::min(claimed, left);
        segment.whole = left >= 2 && claimed <= left;
        segment.payload = {data + at_ + std::min<std::size_t>(2, size), size < 2 ? 0 : size - 2};
        at_ += size;
        return true;
    }
    at_ = bytes_.size;
    return false;
}

std::size_t JpegHeader::blocks(bool all) const {
    int most_h = 1;
    int most_v = 1;
    for (int i = 0; i < component_count && i < 4; ++i) {
        most_h = std::max(most_h, components[static_cast<std::size_t>(i)].horizontal);
        most_v = std::max(most_v, components[static_cast<std::size_t>(i)].vertical);
    }
    std::size_t count = 0;
    for (int i = 0; i < (all ? std::min(component_count, 4) : 1); ++i) {
        const JpegComponent component = components[static_cast<std::size_t>(i)];
        const auto size = [](std::size_t side, int factor, int most) {
            const std::size_t unit = static_cast<std::size_t>(most) * 8;
            return (side * static_cast<std::size_t>(factor) + unit - 1) / unit;
        };
        count +=
            size(width, component.horizontal, most_h) * size(height, component.vertical, most_v);
    }
    return count;
}

JpegHeader read_jpeg_header(ByteView bytes) {
    JpegHeader header;
    header.scan_begin = bytes.size;
    int found_orientation = 0;
    ProfileChunks profile;
    JpegWalker walker(bytes);
    JpegSegment segment{};
    while (walker.next(segment)) {
        if (segment.marker == kSos || segment.marker == kEoi) {
            header.scan_begin = segment.begin;
            break;
        }
        if (is_frame(segment.marker) && header.frame == 0) {
            read_frame(segment, header);
        } else if (segment.marker == kApp1 && found_orientation == 0) {
            found_orientation = orientation_in(segment.payload);
        } else if (segment.marker == kApp2) {
            profile.add(segment.payload);
        }
    }
    check_frame(header);
    header.broken_profile = profile.broken();
    header.orientation = found_orientation == 0 ? 1 : found_orientation;
    return header;
}

int count_jpeg_scans(ByteView bytes, int most) {
    int count = 0;
    JpegWalker walker(bytes);
    JpegSegment segment{};
    while (count <= most && walker.next(segment) && segment.marker != kEoi) {
        count += segment.marker == kSos ? 1 : 0;
    }
    return count;
}

bool has_jpeg_end(ByteView bytes) {
    JpegWalker walker(bytes);
    JpegSegment segment{};
    while (walker.next(segment)) {
        if (segment.marker == kEoi) {
            return true;
        }
    }
    return false;
}

std::size_t last_marker_before(ByteView bytes, std::size_t offset) {
    std::size_t last = 0;
    JpegWalker walker(bytes);
    JpegSegment segment{};
    while (walker.next(segment) && segment.begin <= offset) {
        last = segment.begin;
    }
    return last;
}

} // namespace framejudge
