// Walks the RIFF chunks of a WebP file.
#include "webp_container.hpp"

#include "exif.hpp"

#include "framejudge/errors.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace framejudge {
namespace {

constexpr std::size_t kRiffHeader = 12; // RIFF, size, WEBP
constexpr std::size_t kChunkHeader = 8;
constexpr std::size_t kFrameHeader = 16;
constexpr std::size_t kCanvasHeader = 10;

std::size_t read_le(const std::uint8_t* bytes, std::size_t count) {
    std::size_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        value |= std::size_t{bytes[i]} << (8 * i);
    }
    return value;
}

struct Chunk {
    std::string_view name;
    std::size_t offset = 0; // of its name
    ByteView data{nullptr, 0};
    std::size_t missing = 0; // bytes that the file does not have

    [[nodiscard]] std::string place() const {
        return "WebP: " + std::string(name) + " at byte " + std::to_string(offset);
    }
};

class Walker {
public:
    Walker(ByteView file, std::size_t begin, std::size_t end)
        : file_(file), next_(begin), end_(end) {}

    bool next(Chunk& chunk) {
        if (end_ - next_ < kChunkHeader) {
            return false;
        }
        const std::uint8_t* const at = file_.data + next_;
        const std::size_t size = read_le(at + 4, 4);
        const std::size_t available = end_ - next_ - kChunkHeader;
        chunk.name = {reinterpret_cast<const char*>(at), 4};
        chunk.offset = next_;
        chunk.data = {at + kChunkHeader, std::min(size, available)};
        chunk.missing = size - chunk.data.size;
        next_ += kChunkHeader + std::min(size + size % 2, available);
        return true;
    }

private:
    ByteView file_;
    std::size_t next_;
    std::size_t end_;
};

class Reader {
public:
    Reader(ByteView file, WebpContainer& found) : file_(file), found_(found) {}

    void run() {
        const std::size_t end = end_of_riff();
        Walker walker(file_, kRiffHeader, end);
        Chunk chunk;
        while (walker.next(chunk)) {
            read(chunk, end);
        }
        if (found_.image.size == 0) {
            throw ImageDamagedError("WebP: there is no picture in its " +
                                    std::to_string(file_.size) + " bytes");
        }
        if (exif_ != 0 || xmp_ != 0) {
            found_.orientation = exif_ != 0 ? exif_ : xmp_;
        }
    }

private:
    std::size_t end_of_riff() {
        const std::size_t claimed = 8 + read_le(file_.data + 4, 4);
        if (claimed < kRiffHeader) {
            throw ImageDamagedError("WebP: RIFF at byte 0 claims " + std::to_string(claimed - 8) +
                                    " bytes");
        }
        if (claimed < file_.size) {
            found_.warnings.push_back("WebP: " + std::to_string(file_.size - claimed) +
                                      " bytes after the end of RIFF at byte " +
                                      std::to_string(claimed));
        } else if (claimed > file_.size) {
            found_.warnings.push_back("WebP: RIFF claims " + std::to_string(claimed) +
                                      " bytes, the file has " + std::to_string(file_.size));
        }
        return std::min(claimed, file_.size);
    }

    void read(const Chunk& chunk, std::size_t end) {
        if (chunk.name == "VP8X") {
            read_canvas(chunk);
        } else if (chunk.name == "ANMF") {
            if (found_.image.size == 0) {
                read_frame(chunk);
            }
        } else if (chunk.name == "ALPH" || chunk.name == "VP8 " || chunk.name == "VP8L") {
            read_still(chunk, end);
        } else if (chunk.name == "EXIF" && exif_ == 0) {
            exif_ = exif_orientation(chunk.data);
        } else if (chunk.name == "XMP " && xmp_ == 0) {
            xmp_ = xmp_orientation(chunk.data);
        }
    }

    void read_canvas(const Chunk& chunk) {
        if (chunk.data.size < kCanvasHeader) {
            throw ImageDamagedError(chunk.place() + ": holds " + std::to_string(chunk.data.size) +
                                    " bytes, not 10");
        }
        const std::uint8_t* const data = chunk.data.data;
        found_.has_canvas = true;
        found_.is_animated = (data[0] & 0x02) != 0;
        found_.has_alpha = (data[0] & 0x10) != 0;
        found_.canvas_width = read_le(data + 4, 3) + 1;
        found_.canvas_height = read_le(data + 7, 3) + 1;
    }

    void read_frame(const Chunk& chunk) {
        if (chunk.data.size <= kFrameHeader) {
            throw ImageDamagedError(chunk.place() + ": the file ends inside it");
        }
        found_.frame_x = 2 * read_le(chunk.data.data, 3);
        found_.frame_y = 2 * read_le(chunk.data.data + 3, 3);
        set_image(chunk, chunk.data.data + kFrameHeader, chunk.data.size - kFrameHeader);
    }

    // A still picture's chunks are consecutive, ALPH first.
    void read_still(const Chunk& chunk, std::size_t end) {
        const bool is_alpha = chunk.name == "ALPH";
        if (found_.image.size == 0 && !found_.is_animated) {
            set_image(chunk, file_.data + chunk.offset, end - chunk.offset);
        } else if (!is_alpha && chunk.missing != 0 && found_.damage.empty()) {
            note_damage(chunk);
        }
    }

    void set_image(const Chunk& chunk, const std::uint8_t* data, std::size_t size) {
        found_.image = {data, size};
        found_.image_offset = static_cast<std::size_t>(data - file_.data);
        if (chunk.missing != 0) {
            note_damage(chunk);
        }
    }

    void note_damage(const Chunk& chunk) {
        found_.damage = chunk.place() + ": the file ends " + std::to_string(chunk.missing) +
                        " bytes before its end";
    }

    ByteView file_;
    WebpContainer& found_;
    int exif_ = 0; // as exif.hpp gives them
    int xmp_ = 0;
};

} // namespace

bool has_webp_signature(ByteView bytes) {
    return bytes.size >= kRiffHeader && std::memcmp(bytes.data, "RIFF", 4) == 0 &&
           std::memcmp(bytes.data + 8, "WEBP", 4) == 0;
}

WebpContainer read_webp_container(ByteView bytes) {
    WebpContainer found;
    Reader(bytes, found).run();
    return found;
}

} // namespace framejudge
