// zlib streams: inflating into memory of a known size, deflating, and the CRC that PNG uses.
#pragma once

#include "framejudge/image.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace framejudge {

enum class InflateEnd : std::uint8_t {
    kComplete,  // the stream ended as it should; it may hold less than was asked for
    kSurplus,   // the memory is full, and the stream goes on
    kTruncated, // the stream stops before its end
    kCorrupt,   // the stream is no valid zlib stream from some point on
    kChecksum,  // the stream is complete, and its checksum contradicts its contents
};

struct Inflated {
    InflateEnd end;
    std::size_t written;  // bytes that came out, from the first on
    std::size_t consumed; // bytes of the stream that were read
};

// Inflates at most `size` bytes; what comes after them is never looked at.
Inflated inflate_zlib(ByteView stream, std::uint8_t* out, std::size_t size);

class Deadline;

// The same, by a decoder that keeps what came out of a damaged stream, and that looks at the clock
// where there is a deadline: then it throws ImageLimitError. Slower.
Inflated inflate_damaged_zlib(ByteView stream, std::uint8_t* out, std::size_t size,
                              const Deadline* deadline = nullptr);

// Appends a zlib stream of `bytes`. `level` is 0 (stored) to 9 (smallest).
void deflate_zlib(ByteView bytes, int level, std::vector<std::uint8_t>& to);

// Continues a CRC-32 (0 at the start) and an Adler-32 (1 at the start).
std::uint32_t crc32(std::uint32_t crc, ByteView bytes);
std::uint32_t adler32(std::uint32_t adler, ByteView bytes);

} // namespace framejudge
