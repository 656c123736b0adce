// Reads IHDR, PLTE, tRNS, acTL, and the orientation of eXIf or XMP.
#include "png_header.hpp"

#include "codecs.hpp"
#include "exif.hpp"

#include "framejudge/errors.hpp"

#include <algorithm>

namespace framejudge {
namespace {

constexpr std::uint32_t kIhdr = png_chunk_type("IHDR");
constexpr std::uint32_t kPlte = png_chunk_type("PLTE");
constexpr std::uint32_t kTrns = png_chunk_type("tRNS");
constexpr std::uint32_t kActl = png_chunk_type("acTL");
constexpr std::uint32_t kExif = png_chunk_type("eXIf");
constexpr std::uint32_t kItxt = png_chunk_type("iTXt");

constexpr std::size_t kIhdrSize = 13;
constexpr std::uint32_t kMaxSide = 0x7FFFFFFF;
constexpr std::size_t kMaxRemarks = 16; // of one file

[[noreturn]] void fail(const PngChunk& chunk, const std::string& what) {
    throw ImageDamagedError("PNG: " + chunk.place() + ": " + what);
}

std::uint16_t read_u16_be(const std::uint8_t* bytes) {
    return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
}

bool is_known_color(int color, int depth) {
    switch (color) {
    case 0:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
    case 3:
        return depth == 1 || depth == 2 || depth == 4 || depth == 8;
    case 2:
    case 4:
    case 6:
        return depth == 8 || depth == 16;
    default:
        return false;
    }
}

void read_ihdr(const PngChunk& chunk, PngHeader& header, const DecodeLimits& limits) {
    if (chunk.type != kIhdr) {
        fail(chunk, "the first chunk must be IHDR");
    }
    if (!chunk.is_intact()) {
        throw ImageDamagedError("PNG: " + chunk.fault());
    }
    if (chunk.data.size != kIhdrSize) {
        fail(chunk, "holds " + std::to_string(chunk.data.size) + " bytes, not 13");
    }
    const std::uint8_t* const data = chunk.data.data;
    const std::uint32_t width = read_u32_be(data);
    const std::uint32_t height = read_u32_be(data + 4);
    if (width == 0 || height == 0 || width > kMaxSide || height > kMaxSide) {
        fail(chunk, "the size is " + std::to_string(width) + " x " + std::to_string(height) +
                        "; both must be 1 to 2147483647");
    }
    const int depth = data[8];
    const int color = data[9];
    if (!is_known_color(color, depth)) {
        fail(chunk, "there is no colour type " + std::to_string(color) + " of " +
                        std::to_string(depth) + " bits");
    }
    if (data[10] != 0 || data[11] != 0 || data[12] > 1) {
        fail(chunk, "compression, filter and interlace are " + std::to_string(data[10]) + ", " +
                        std::to_string(data[11]) + ", " + std::to_string(data[12]) +
                        "; known are 0, 0 and 0 or 1");
    }
    check_limits(width, height, limits);
    header.width = width;
    header.height = height;
    header.bit_depth = depth;
    header.color = static_cast<PngColor>(color);
    header.is_interlaced = data[12] == 1;
}

void read_palette(const PngChunk& chunk, PngHeader& header) {
    const std::size_t count = chunk.data.size / 3;
    if (chunk.data.size % 3 != 0 || count == 0 || count > 256) {
        fail(chunk, "holds " + std::to_string(chunk.data.size) +
                        " bytes, not 3 for each of 1 to "
                        "256 colours");
    }
    for (std::size_t i = 0; i < count; ++i) {
        std::copy_n(chunk.data.data + 3 * i, 3, header.palette[i].begin());
    }
    header.palette_size = count;
}

// Whether the chunk fits the picture.
bool read_transparency(const PngChunk& chunk, PngHeader& header) {
    const ByteView data = chunk.data;
    if (header.color == PngColor::kPalette) {
        if (data.size == 0 || data.size > header.palette_size) {
            return false;
        }
        for (std::size_t i = 0; i < data.size; ++i) {
            header.palette[i][3] = data.data[i];
        }
        header.has_palette_alpha = true;
        return true;
    }
    const bool is_gray = header.color == PngColor::kGray;
    if (!(is_gray && data.size == 2) && !(header.color == PngColor::kRgb && data.size == 6)) {
        return false;
    }
    const auto mask = static_cast<unsigned>((1 << header.bit_depth) - 1);
    std::array<std::uint16_t, 3> key{};
    for (std::size_t i = 0; i < data.size / 2; ++i) {
        key[i] = static_cast<std::uint16_t>(read_u16_be(data.data + 2 * i) & mask);
    }
    header.transparent = key;
    return true;
}

class Reader {
public:
    Reader(PngFile& file, const DecodeLimits& limits) : file_(file), limits_(limits) {
        for (auto& entry : file_.header.palette) {
            entry = {0, 0, 0, 255};
        }
    }

    void run(ByteView bytes) {
        PngChunks chunks(bytes);
        PngChunk chunk;
        if (!chunks.next(chunk)) {
            throw ImageDamagedError("PNG: the file ends after the signature");
        }
        read_ihdr(chunk, file_.header, limits_);
        bool has_end = false;
        while (!has_end && chunks.next(chunk)) {
            has_end = chunk.type == kPngEnd && !chunk.is_cut;
            read(chunk);
        }
        if (!has_end && file_.damage.empty()) {
            warn("the file ends at byte " + std::to_string(bytes.size) + " without IEND");
        } else if (has_end && chunks.offset() < bytes.size) {
            warn(std::to_string(bytes.size - chunks.offset()) + " bytes after IEND at byte " +
                 std::to_string(chunks.offset()));
        }
        check_needed();
        if (orientation_ != 0) {
            file_.header.orientation = orientation_;
        } else if (xmp_orientation_ != 0) {
            file_.header.orientation = xmp_orientation_;
        }
    }

private:
    static void add(std::vector<std::string>& to, const std::string& what) {
        if (to.size() < kMaxRemarks) {
            to.push_back("PNG: " + what);
        }
    }
    void warn(const std::string& what) { add(file_.warnings, what); }
    void damage(const std::string& what) { add(file_.damage, what); }

    void read(const PngChunk& chunk) {
        if (chunk.type == kPngImageData) {
            read_image_data(chunk);
            return;
        }
        if (chunk.is_cut) {
            damage(chunk.fault());
            return;
        }
        if (!chunk.is_intact()) {
            if (chunk.is_critical()) {
                damage(chunk.fault());
            } else {
                warn(chunk.fault() + "; it was skipped");
                return;
            }
        }
        read_other(chunk);
    }

    void read_image_data(const PngChunk& chunk) {
        if (file_.image_chunks != 0 && has_gap_) {
            warn(chunk.place() + ": other chunks lie between it and the IDAT before");
        }
        has_gap_ = false;
        ++file_.image_chunks;
        file_.image_data_bytes += chunk.data.size;
        if (chunk.is_cut) {
            damage(chunk.fault());
        }
    }

    void read_other(const PngChunk& chunk) {
        has_gap_ = true;
        PngHeader& header = file_.header;
        switch (chunk.type) {
        case kPlte:
            // In the other colour types it is a suggestion.
            if (header.color == PngColor::kPalette && header.palette_size == 0) {
                read_palette(chunk, header);
            }
            break;
        case kTrns:
            if (!read_transparency(chunk, header)) {
                warn(chunk.place() + ": does not fit the picture; it was skipped");
            }
            break;
        case kActl:
            header.is_animated = header.is_animated || file_.image_chunks == 0;
            break;
        case kExif:
            orientation_ = exif_orientation(chunk.data);
            break;
        case kItxt:
            if (xmp_orientation_ == 0) {
                xmp_orientation_ = xmp_of(chunk.data);
            }
            break;
        case kPngEnd:
            break;
        default:
            if (chunk.is_critical()) {
                warn(chunk.place() + ": an unknown critical chunk; it was skipped");
            }
        }
    }

    // The packet of an uncompressed iTXt; a compressed one is never inflated.
    static int xmp_of(ByteView data) {
        constexpr std::string_view kKeyword("XML:com.adobe.xmp\0\0", 19);
        const std::string_view text(reinterpret_cast<const char*>(data.data), data.size);
        if (text.substr(0, kKeyword.size()) != kKeyword) {
            return 0;
        }
        return xmp_orientation({data.data + kKeyword.size(), data.size - kKeyword.size()});
    }

    void check_needed() const {
        if (file_.header.color == PngColor::kPalette && file_.header.palette_size == 0) {
            throw ImageDamagedError("PNG: a palette picture without PLTE");
        }
        if (file_.image_chunks == 0) {
            throw ImageDamagedError(file_.damage.empty() ? "PNG: there is no IDAT"
                                                         : file_.damage.front());
        }
    }

    PngFile& file_;
    const DecodeLimits& limits_;
    bool has_gap_ = false;
    int orientation_ = 0; // of eXIf, as exif.hpp gives it
    int xmp_orientation_ = 0;
};

} // namespace

std::size_t PngHeader::samples() const {
    switch (color) {
    case PngColor::kGray:
    case PngColor::kPalette:
        return 1;
    case PngColor::kGrayAlpha:
        return 2;
    case PngColor::kRgb:
        return 3;
    case PngColor::kRgba:
        return 4;
    }
    return 0;
}

bool PngHeader::has_alpha() const {
    return color == PngColor::kGrayAlpha || color == PngColor::kRgba || has_palette_alpha ||
           transparent.has_value();
}

int PngHeader::channels() const {
    if (color == PngColor::kPalette) {
        return has_palette_alpha ? 4 : 3;
    }
    return static_cast<int>(samples());
}

PngFile read_png_chunks(ByteView bytes, const DecodeLimits& limits) {
    PngFile file;
    Reader(file, limits).run(bytes);
    return file;
}

} // namespace framejudge
