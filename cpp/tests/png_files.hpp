// PNG files put together by hand, with a CRC and an Adler-32 from their definitions.
#pragma once

#include "framejudge/image.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace framejudge::test {

using Bytes = std::vector<std::uint8_t>;

inline ByteView view_of(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }

inline void append(Bytes& to, const Bytes& from) { to.insert(to.end(), from.begin(), from.end()); }

inline Bytes big_endian(std::size_t value, int bytes = 4) {
    Bytes result;
    for (int i = bytes - 1; i >= 0; --i) {
        result.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
    }
    return result;
}

// ISO 3309, bit by bit.
inline std::uint32_t crc_by_definition(const Bytes& bytes) {
    std::uint32_t crc = 0xFFFFFFFFU;
    for (const std::uint8_t byte : bytes) {
        crc ^= byte;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1U) != 0 ? crc >> 1U ^ 0xEDB88320U : crc >> 1U;
        }
    }
    return ~crc;
}

inline std::uint32_t adler_by_definition(const Bytes& bytes) {
    std::uint32_t a = 1;
    std::uint32_t b = 0;
    for (const std::uint8_t byte : bytes) {
        a = (a + byte) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16U | a;
}

// A zlib stream of stored blocks.
inline Bytes stored_zlib(const Bytes& bytes) {
    Bytes stream = {0x78, 0x01};
    std::size_t at = 0;
    do {
        const std::size_t size = bytes.size() - at < 65535 ? bytes.size() - at : 65535;
        stream.push_back(at + size == bytes.size() ? 1 : 0);
        for (const std::size_t field : {size, ~size}) {
            stream.push_back(static_cast<std::uint8_t>(field));
            stream.push_back(static_cast<std::uint8_t>(field >> 8U));
        }
        for (std::size_t i = 0; i < size; ++i) {
            stream.push_back(bytes[at + i]);
        }
        at += size;
    } while (at < bytes.size());
    append(stream, big_endian(adler_by_definition(bytes)));
    return stream;
}

inline Bytes chunk(const std::string& name, const Bytes& data) {
    Bytes named(name.begin(), name.end());
    append(named, data);
    Bytes result = big_endian(data.size());
    append(result, named);
    append(result, big_endian(crc_by_definition(named)));
    return result;
}

struct Header {
    std::size_t width;
    std::size_t height;
    std::uint8_t depth = 8;
    std::uint8_t color = 2;
    std::uint8_t interlace = 0;
};

inline Bytes start_of(const Header& header) {
    Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    Bytes data = big_endian(header.width);
    append(data, big_endian(header.height));
    append(data, {header.depth, header.color, 0, 0, header.interlace});
    append(file, chunk("IHDR", data));
    return file;
}

// A whole file: the chunks of `between`, one IDAT of the filtered rows, and IEND.
inline Bytes png_of(const Header& header, const Bytes& filtered_rows, const Bytes& between = {}) {
    Bytes file = start_of(header);
    append(file, between);
    append(file, chunk("IDAT", stored_zlib(filtered_rows)));
    append(file, chunk("IEND", {}));
    return file;
}

inline Bytes pixels_in(const Pixels& pixels) {
    return {pixels.data(), pixels.data() + pixels.size()};
}

} // namespace framejudge::test
