// The orientation tag, in metadata of every state of repair.
#include "image/exif.hpp"
#include "jpeg_files.hpp"

#include <doctest.h>

#include <string>

namespace framejudge::test {
namespace {

Bytes tiff(bool big_endian, int type, int value) {
    const auto number_of = [&](int number, std::size_t size) {
        Bytes bytes(size);
        for (std::size_t i = 0; i < size; ++i) {
            const auto byte = static_cast<std::uint8_t>(number >> (8 * i) & 255);
            bytes[big_endian ? size - 1 - i : i] = byte;
        }
        return bytes;
    };
    const auto u16 = [&](int number) { return number_of(number, 2); };
    const auto u32 = [&](int number) { return number_of(number, 4); };
    const std::uint8_t mark = big_endian ? 'M' : 'I';
    Bytes bytes = {mark, mark};
    Bytes stored = type == 4   ? u32(value)
                   : type == 3 ? u16(value)
                               : Bytes{static_cast<std::uint8_t>(value)};
    stored.resize(4);
    for (const Bytes& part : {u16(42), u32(8), u16(2),             // one other entry first
                              u16(0x010F), u16(2), u32(1), u32(0), //
                              u16(0x0112), u16(type), u32(1), stored, u32(0)}) {
        bytes = joined(bytes, part);
    }
    return bytes;
}

int orientation_of(const Bytes& bytes) { return exif_orientation(view_of(bytes)); }

TEST_CASE("the orientation is read in both byte orders and as byte, short or long") {
    for (const bool big_endian : {false, true}) {
        for (const int type : {1, 3, 4}) {
            for (int value = 1; value <= 8; ++value) {
                CHECK(orientation_of(tiff(big_endian, type, value)) == value);
            }
        }
    }
}

TEST_CASE("the prefix of JPEG's segment may be there or not") {
    CHECK(orientation_of(joined({'E', 'x', 'i', 'f', 0, 0}, tiff(true, 3, 6))) == 6);
}

TEST_CASE("a value out of range, an odd type or another signature is no orientation") {
    for (const int value : {0, 9, 65535}) {
        CHECK(orientation_of(tiff(false, 3, value)) == 0);
    }
    CHECK(orientation_of(tiff(false, 2, 6)) == 0);
    Bytes wrong = tiff(false, 3, 6);
    wrong[2] = 43;
    CHECK(orientation_of(wrong) == 0);
}

TEST_CASE("cut off anywhere it is found whole or not at all") {
    const Bytes whole = tiff(true, 3, 8);
    const std::size_t needed = 8 + 2 + 2 * 12;
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        // A copy of the exact size, so that a sanitizer sees a read past its end.
        CHECK(orientation_of(cut(whole, size)) == (size < needed ? 0 : 8));
    }
}

TEST_CASE("a directory that lies outside is none") {
    Bytes bytes = tiff(false, 3, 6);
    for (std::size_t i = 4; i < 8; ++i) {
        bytes[i] = 0xFF;
    }
    CHECK(orientation_of(bytes) == 0);
}

TEST_CASE("XMP tells it as an attribute or an element") {
    const auto of = [](const std::string& text) {
        return xmp_orientation({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    };
    CHECK(of("<rdf tiff:Orientation=\"3\">") == 3);
    CHECK(of("<rdf tiff:Orientation='5'>") == 5);
    CHECK(of("<tiff:Orientation>8</tiff:Orientation>") == 8);
    CHECK(of("<tiff:Orientation>0</tiff:Orientation>") == 0);
    CHECK(of("<tiff:Orientation") == 0);
    CHECK(of("tiff:Orientation>") == 0);
    CHECK(of("") == 0);
}

} // namespace
} // namespace framejudge::test
