// The chunks of a PNG file: what they are called, where they lie, whether their CRC is right.
#pragma once

#include "framejudge/image.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace framejudge {

constexpr std::uint32_t png_chunk_type(const char (&name)[5]) {
    std::uint32_t type = 0;
    for (int i = 0; i < 4; ++i) {
        type = type << 8U | static_cast<std::uint8_t>(name[i]);
    }
    return type;
}

constexpr std::size_t kPngSignatureSize = 8;
bool has_png_signature(ByteView bytes);

struct PngChunk {
    std::uint32_t type = 0;
    std::size_t offset = 0; // of the chunk's length field
    ByteView data{nullptr, 0};
    bool is_cut = false; // the file ends inside it; `data` is what is there
    std::uint32_t stored_crc = 0;

    [[nodiscard]] bool is_critical() const { return (type & 0x20000000U) == 0; }
    [[nodiscard]] std::uint32_t computed_crc() const;
    [[nodiscard]] bool is_intact() const { return !is_cut && computed_crc() == stored_crc; }
    // "IDAT at byte 41"
    [[nodiscard]] std::string place() const;
    // Why it is not intact.
    [[nodiscard]] std::string fault() const;
};

// Walks the chunks in order, from the first after the signature.
class PngChunks {
public:
    explicit PngChunks(ByteView file) : file_(file) {}

    // False at the end of the file.
    bool next(PngChunk& chunk);
    [[nodiscard]] std::size_t offset() const { return next_; }

private:
    ByteView file_;
    std::size_t next_ = kPngSignatureSize;
};

std::uint32_t read_u32_be(const std::uint8_t* bytes);

} // namespace framejudge
