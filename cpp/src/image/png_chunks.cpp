// Walks the chunks of a PNG file.
#include "png_chunks.hpp"

#include "inflate.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace framejudge {
namespace {

constexpr std::size_t kHeaderSize = 8; // length and type
constexpr std::size_t kCrcSize = 4;

std::string hexadecimal(std::uint32_t value) {
    char text[11];
    std::snprintf(text, sizeof text, "0x%08X", static_cast<unsigned>(value));
    return text;
}

} // namespace

std::uint32_t read_u32_be(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
           std::uint32_t{bytes[2]} << 8U | std::uint32_t{bytes[3]};
}

bool has_png_signature(ByteView bytes) {
    constexpr std::uint8_t kSignature[kPngSignatureSize] = {0x89, 'P',  'N',  'G',
                                                            '\r', '\n', 0x1A, '\n'};
    return bytes.size >= kPngSignatureSize &&
           std::memcmp(bytes.data, kSignature, kPngSignatureSize) == 0;
}

std::uint32_t PngChunk::computed_crc() const {
    std::uint8_t name[4];
    for (unsigned i = 0; i < 4; ++i) {
        name[i] = static_cast<std::uint8_t>(type >> (24U - 8U * i));
    }
    return crc32(crc32(0, {name, sizeof name}), data);
}

std::string PngChunk::place() const {
    std::string name;
    for (unsigned i = 0; i < 4; ++i) {
        const auto letter = static_cast<std::uint8_t>(type >> (24U - 8U * i));
        const bool is_printable = letter >= 0x20 && letter < 0x7F;
        name += is_printable ? static_cast<char>(letter) : '?';
    }
    return name + " at byte " + std::to_string(offset);
}

std::string PngChunk::fault() const {
    if (is_cut) {
        return place() + ": the file ends inside it, " + std::to_string(data.size) +
               " bytes of its data are there";
    }
    return place() + ": its CRC is " + hexadecimal(stored_crc) + ", its contents' " +
           hexadecimal(computed_crc());
}

bool PngChunks::next(PngChunk& chunk) {
    const std::size_t left = file_.size - next_;
    if (left == 0) {
        return false;
    }
    chunk = PngChunk{};
    chunk.offset = next_;
    const std::uint8_t* const at = file_.data + next_;
    if (left < kHeaderSize) {
        chunk.is_cut = true;
        chunk.data = {at + left, 0};
        next_ = file_.size;
        return true;
    }
    const std::size_t length = read_u32_be(at);
    chunk.type = read_u32_be(at + 4);
    const std::size_t available = left - kHeaderSize;
    chunk.data = {at + kHeaderSize, std::min(length, available)};
    if (available < length || available - length < kCrcSize) {
        chunk.is_cut = true;
        next_ = file_.size;
        return true;
    }
    chunk.stored_crc = read_u32_be(at + kHeaderSize + length);
    next_ += kHeaderSize + length + kCrcSize;
    return true;
}

} // namespace framejudge
