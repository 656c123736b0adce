// zlib streams, whole and damaged.
#include "image/inflate.hpp"
#include "png_files.hpp"

#include <algorithm>
#include <doctest.h>
#include <random>
#include <tuple>

namespace framejudge::test {
namespace {

// Bytes with matches, literals and runs.
Bytes sample(std::size_t size) {
    std::mt19937 random(3);
    Bytes bytes;
    while (bytes.size() < size) {
        if (random() % 3 == 0 && bytes.size() > 300) {
            const std::size_t from = bytes.size() - 1 - random() % 300;
            for (std::size_t i = 0; i < 40; ++i) {
                bytes.push_back(bytes[from + i]);
            }
        } else {
            bytes.push_back(static_cast<std::uint8_t>(random() % 90));
        }
    }
    bytes.resize(size);
    return bytes;
}

Bytes deflated(const Bytes& bytes, int level) {
    Bytes stream;
    deflate_zlib(view_of(bytes), level, stream);
    return stream;
}

using Inflate = Inflated (*)(ByteView, std::uint8_t*, std::size_t);
constexpr Inflate kBoth[] = {inflate_zlib,
                             [](ByteView stream, std::uint8_t* out, std::size_t size) {
                                 return inflate_damaged_zlib(stream, out, size);
                             }};

TEST_CASE("a stream gives its bytes back at every level") {
    for (const std::size_t size : {1U, 2U, 1000U, 70000U, 300000U}) {
        const Bytes bytes = sample(size);
        for (int level = 0; level <= 9; ++level) {
            const Bytes stream = deflated(bytes, level);
            for (const Inflate inflate : kBoth) {
                Bytes out(size);
                const Inflated result = inflate(view_of(stream), out.data(), size);
                CHECK(result.end == InflateEnd::kComplete);
                CHECK(result.written == size);
                CHECK(result.consumed == stream.size());
                CHECK(out == bytes);
            }
        }
    }
}

TEST_CASE("a stream cut anywhere gives a prefix and says so") {
    const Bytes bytes = sample(3000);
    for (const int level : {0, 6}) {
        const Bytes stream = deflated(bytes, level);
        std::size_t before = 0;
        for (std::size_t cut = 0; cut < stream.size(); ++cut) {
            Bytes out(bytes.size());
            const Bytes part(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(cut));
            const Inflated result = inflate_zlib(view_of(part), out.data(), out.size());
            CHECK(result.end == InflateEnd::kTruncated);
            CHECK(result.written >= before);
            CHECK(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(result.written),
                             bytes.begin()));
            before = result.written;
        }
        CHECK(before == bytes.size()); // without the checksum every byte is there
    }
}

TEST_CASE("what is more than asked for is not looked at") {
    const Bytes bytes = sample(5000);
    for (const int level : {0, 1, 9}) {
        Bytes stream = deflated(bytes, level);
        stream.resize(stream.size() - 9); // whatever is wrong behind the place
        for (const std::size_t size : {0U, 1U, 2500U, 4000U}) {
            Bytes out(size);
            const Inflated result = inflate_zlib(view_of(stream), out.data(), size);
            CHECK(result.end == InflateEnd::kSurplus);
            CHECK(result.written == size);
            CHECK(std::equal(out.begin(), out.end(), bytes.begin()));
        }
    }
}

TEST_CASE("a wrong checksum is told from broken codes") {
    const Bytes bytes = sample(5000);
    Bytes stream = deflated(bytes, 6);
    stream.back() ^= 1U;
    Bytes out(bytes.size());
    CHECK(inflate_zlib(view_of(stream), out.data(), out.size()).end == InflateEnd::kChecksum);
    CHECK(out == bytes);
    // A header of another method, a dictionary, a block type that does not exist, a stored block
    // whose length does not match its complement.
    for (const Bytes& broken : {Bytes{0x79, 0x9C, 3, 0}, Bytes{0x78, 0xBB, 3, 0},
                                Bytes{0x78, 0x9C, 7, 0}, Bytes{0x78, 0x9C, 1, 1, 0, 1, 0, 65}}) {
        const Inflated result = inflate_zlib(view_of(broken), out.data(), out.size());
        CHECK(result.end == InflateEnd::kCorrupt);
        CHECK(result.written == 0);
    }
}

TEST_CASE("both decoders agree on streams with flipped bits") {
    const Bytes bytes = sample(4000);
    const Bytes stream = deflated(bytes, 6);
    std::mt19937 random(9);
    for (int round = 0; round < 2000; ++round) {
        Bytes flipped = stream;
        const std::size_t bit = random() % (8 * stream.size());
        flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ 1U << bit % 8);
        Bytes one(bytes.size() + 100);
        Bytes other(bytes.size() + 100);
        const Inflated fast = inflate_zlib(view_of(flipped), one.data(), one.size());
        const Inflated slow = inflate_damaged_zlib(view_of(flipped), other.data(), other.size());
        CHECK(fast.end == slow.end);
        CHECK(fast.written == slow.written);
        const auto size = static_cast<std::ptrdiff_t>(slow.written);
        CHECK(std::equal(one.begin(), one.begin() + size, other.begin()));
    }
}

TEST_CASE("CRC-32 and Adler-32 are those of their definitions") {
    const Bytes bytes = sample(10000);
    CHECK(crc32(0, view_of(bytes)) == crc_by_definition(bytes));
    CHECK(adler32(1, view_of(bytes)) == adler_by_definition(bytes));
    CHECK(crc32(0, {nullptr, 0}) == 0);
}

} // namespace
} // namespace framejudge::test
