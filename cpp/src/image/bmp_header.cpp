// Reads the headers of BMP files.
#include "bmp_header.hpp"

#include "codecs.hpp"

#include "framejudge/errors.hpp"

#include <algorithm>
#include <string>

namespace framejudge {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::size_t kOs2Header = 12;
constexpr std::size_t kInfoHeader = 40;
constexpr std::size_t kOs2LongHeader = 64;
constexpr std::size_t kMasksHeader = 52; // with masks for red, green and blue
constexpr std::size_t kAlphaHeader = 56; // and for alpha
constexpr std::size_t kV5Header = 124;
constexpr std::uint32_t kMaxSide = 0x7FFFFFFF;

[[noreturn]] void fail(std::size_t at, const std::string& what) {
    throw ImageDamagedError("BMP: at byte " + std::to_string(at) + ": " + what);
}

BmpField field_of(std::uint32_t mask) {
    BmpField field;
    if (mask == 0) {
        return field;
    }
    field.shift = static_cast<unsigned>(__builtin_ctz(mask));
    field.max = mask >> field.shift;
    if ((field.max & (field.max + 1)) != 0) {
        throw ImageUnsupportedError("BMP: a colour mask of " + std::to_string(mask) + " has gaps");
    }
    return field;
}

class Reader {
public:
    Reader(ByteView bytes, BmpHeader& header)
        : bytes_(bytes), header_(header), size_(read_u32_le(bytes.data + kFileHeader)) {}

    void run(const DecodeLimits& limits) {
        if (size_ > bytes_.size - kFileHeader) {
            fail(bytes_.size, "the file ends inside the header");
        }
        header_.offset = read_u32_le(bytes_.data + 10);
        size_ == kOs2Header ? read_os2() : read_windows();
        check_limits(header_.width, header_.height, limits);
        if (header_.bits <= 8) {
            read_palette();
        }
        if (header_.offset > bytes_.size) {
            fail(10, "the pixels start at byte " + std::to_string(header_.offset) +
                         ", the file has " + std::to_string(bytes_.size));
        }
    }

private:
    [[nodiscard]] const std::uint8_t* at(std::size_t offset) const {
        return bytes_.data + kFileHeader + offset;
    }

    void read_os2() {
        header_.width = read_u16_le(at(4));
        header_.height = read_u16_le(at(6));
        header_.bits = read_u16_le(at(10));
        check_bits();
        set_coding(0);
    }

    void read_windows() {
        const std::uint32_t width = read_u32_le(at(4));
        const std::uint32_t height = read_u32_le(at(8));
        header_.is_top_down = height > kMaxSide;
        header_.width = width;
        header_.height = header_.is_top_down ? 0U - height : height;
        if (width > kMaxSide || header_.height > kMaxSide) {
            fail(kFileHeader + 4, "the sides are out of range: " + std::to_string(width) + ", " +
                                      std::to_string(height));
        }
        header_.bits = read_u16_le(at(14));
        check_bits();
        const std::uint32_t coding = size_ >= 20 ? read_u32_le(at(16)) : 0;
        colors_used_ = size_ >= 36 ? read_u32_le(at(32)) : 0;
        set_coding(coding);
    }

    void check_bits() const {
        constexpr std::array<unsigned, 7> kKnown = {1, 2, 4, 8, 16, 24, 32};
        if (std::find(kKnown.begin(), kKnown.end(), header_.bits) == kKnown.end()) {
            fail(kFileHeader, std::to_string(header_.bits) +
                                  " bits per pixel; known are 1, 2, 4, 8, 16, 24 and 32");
        }
    }

    void set_coding(std::uint32_t coding) {
        const bool is_os2 = size_ == kOs2LongHeader;
        if (coding == 0) {
            header_.coding = BmpCoding::kPlain;
        } else if (coding == 1 && header_.bits == 8) {
            header_.coding = BmpCoding::kRle8;
        } else if (coding == 2 && header_.bits == 4) {
            header_.coding = BmpCoding::kRle4;
        } else if ((coding == 3 || coding == 6) && !is_os2 &&
                   (header_.bits == 16 || header_.bits == 32)) {
            header_.coding = BmpCoding::kBitFields;
        } else {
            throw ImageUnsupportedError("BMP: compression " + std::to_string(coding) + " of " +
                                        std::to_string(header_.bits) +
                                        " bits is not read; plain, RLE and bit fields are");
        }
        if (header_.bits == 16 || header_.bits == 32) {
            set_fields(coding);
        }
    }

    void set_fields(std::uint32_t coding) {
        std::array<std::uint32_t, 4> masks = {0xFF0000, 0xFF00, 0xFF, 0};
        if (header_.bits == 16) {
            masks = {0x7C00, 0x3E0, 0x1F, 0};
        }
        if (header_.coding == BmpCoding::kBitFields) {
            // Behind the short header they are beside it rather than part of it.
            const bool has_alpha = size_ >= kAlphaHeader || coding == 6;
            const std::size_t count = has_alpha ? 4 : 3;
            if (kFileHeader + kInfoHeader + 4 * count > bytes_.size) {
                fail(bytes_.size, "the file ends inside the colour masks");
            }
            for (std::size_t i = 0; i < count; ++i) {
                masks[i] = read_u32_le(at(kInfoHeader + 4 * i));
            }
            extra_ = size_ < kMasksHeader ? 4 * count : 0;
        }
        for (std::size_t i = 0; i < masks.size(); ++i) {
            header_.fields[i] = field_of(masks[i]);
        }
    }

    void read_palette() {
        const std::size_t start = kFileHeader + size_ + extra_;
        const std::size_t entry = size_ == kOs2Header ? 3 : 4;
        const std::size_t most = std::size_t{1} << header_.bits;
        const std::size_t wanted =
            colors_used_ == 0 ? most : std::min<std::size_t>(colors_used_, most);
        // Some writers count too many: the palette ends where the pixels start.
        const std::size_t end = std::min(header_.offset, bytes_.size);
        const std::size_t there = end > start ? (end - start) / entry : 0;
        for (std::size_t i = 0; i < std::min(wanted, there); ++i) {
            const std::uint8_t* const color = bytes_.data + start + i * entry;
            header_.palette.push_back({color[2], color[1], color[0]});
        }
        header_.palette.resize(most, {0, 0, 0});
    }

    ByteView bytes_;
    BmpHeader& header_;
    std::size_t size_;
    std::size_t extra_ = 0; // bytes of masks behind the header
    std::size_t colors_used_ = 0;
};

} // namespace

std::uint32_t read_u16_le(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8U;
}

std::uint32_t read_u32_le(const std::uint8_t* bytes) {
    return read_u16_le(bytes) | read_u16_le(bytes + 2) << 16U;
}

bool has_bmp_signature(ByteView bytes) {
    if (bytes.size < kFileHeader + kOs2Header || bytes.data[0] != 'B' || bytes.data[1] != 'M') {
        return false;
    }
    const std::uint32_t size = read_u32_le(bytes.data + kFileHeader);
    return size == kOs2Header || (size >= 16 && size <= kV5Header);
}

BmpHeader read_bmp_header(ByteView bytes, const DecodeLimits& limits) {
    BmpHeader header;
    Reader(bytes, header).run(limits);
    return header;
}

} // namespace framejudge
