// Reads one tag out of metadata that cameras and editors write in every state of repair.
#include "exif.hpp"

#include <string_view>

namespace framejudge {
namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::size_t kEntrySize = 12;

// Numbers of a TIFF block; whatever lies outside reads as 0.
class Tiff {
public:
    explicit Tiff(ByteView bytes) : bytes_(bytes), big_endian_(bytes.size > 0 && byte(0) == 'M') {}

    [[nodiscard]] std::uint32_t byte(std::size_t at) const {
        return at < bytes_.size ? bytes_.data[at] : 0U;
    }
    [[nodiscard]] std::uint32_t u16(std::size_t at) const {
        return big_endian_ ? byte(at) << 8U | byte(at + 1) : byte(at + 1) << 8U | byte(at);
    }
    [[nodiscard]] std::uint32_t u32(std::size_t at) const {
        return big_endian_ ? u16(at) << 16U | u16(at + 2) : u16(at + 2) << 16U | u16(at);
    }
    [[nodiscard]] bool has_header() const {
        return bytes_.size >= 8 && byte(0) == byte(1) && (byte(0) == 'I' || byte(0) == 'M') &&
               u16(2) == 42;
    }

private:
    ByteView bytes_;
    bool big_endian_;
};

std::string_view text_of(ByteView bytes) {
    return {reinterpret_cast<const char*>(bytes.data), bytes.size};
}

int in_range(std::uint32_t value) { return value >= 1 && value <= 8 ? static_cast<int>(value) : 0; }

int value_of(const Tiff& tiff, std::size_t entry) {
    if (tiff.u32(entry + 4) == 0) { // the count
        return 0;
    }
    switch (tiff.u16(entry + 2)) {
    case 1: // BYTE
        return in_range(tiff.byte(entry + 8));
    case 3: // SHORT
        return in_range(tiff.u16(entry + 8));
    case 4: // LONG
        return in_range(tiff.u32(entry + 8));
    default:
        return 0;
    }
}

} // namespace

int exif_orientation(ByteView exif) {
    constexpr std::string_view kPrefix("Exif\0\0", 6);
    if (text_of(exif).substr(0, kPrefix.size()) == kPrefix) {
        exif = {exif.data + kPrefix.size(), exif.size - kPrefix.size()};
    }
    const Tiff tiff(exif);
    if (!tiff.has_header()) {
        return 0;
    }
    const std::size_t directory = tiff.u32(4);
    const std::size_t count = tiff.u16(directory);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t entry = directory + 2 + i * kEntrySize;
        if (entry + kEntrySize > exif.size) {
            break;
        }
        if (tiff.u16(entry) == kOrientationTag) {
            return value_of(tiff, entry);
        }
    }
    return 0;
}

int xmp_orientation(ByteView xmp) {
    constexpr std::string_view kName = "tiff:Orientation";
    const std::string_view text = text_of(xmp);
    std::size_t at = text.find(kName);
    if (at == std::string_view::npos) {
        return 0;
    }
    at += kName.size();
    if (at < text.size() && text[at] == '>') {
        at += 1;
    } else if (text.substr(at, 2) == "=\"" || text.substr(at, 2) == "='") {
        at += 2;
    } else {
        return 0;
    }
    return at < text.size() ? in_range(static_cast<std::uint32_t>(text[at] - '0')) : 0;
}

} // namespace framejudge
