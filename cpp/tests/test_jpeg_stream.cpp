// Splitting streams of JPEG pictures.
#include "framejudge/jpeg_stream.hpp"

#include "jpeg_files.hpp"

#include <doctest.h>

#include <string>

namespace framejudge::test {
namespace {

Bytes text(const std::string& content) { return {content.begin(), content.end()}; }

std::vector<JpegFrame> split(const Bytes& stream) { return split_jpeg_stream(view_of(stream)); }

// An APP1 segment that holds a whole picture, as cameras store thumbnails.
Bytes with_thumbnail(const Bytes& picture, const Bytes& thumbnail) {
    const std::size_t length = thumbnail.size() + 2;
    const Bytes header = {0xFF, 0xE1, static_cast<std::uint8_t>(length >> 8),
                          static_cast<std::uint8_t>(length & 255)};
    return inserted(picture, 2, joined(header, thumbnail));
}

TEST_CASE("pictures are found between multipart headers and garbage") {
    const Bytes picture = noise_jpeg(40, 30, 3);
    Bytes stream = text("--frame\r\nContent-Type: image/jpeg\r\n\r\n");
    const std::size_t first = stream.size();
    stream = joined(joined(stream, picture), text("\r\n--frame\r\n\xFF\xFF\xD8 garbage \r\n\r\n"));
    const std::size_t second = stream.size();
    stream = joined(joined(stream, picture), text("\r\n--frame--\r\n"));
    const auto frames = split(stream);
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].begin == first);
    CHECK(frames[1].begin == second);
    for (const JpegFrame& frame : frames) {
        CHECK(frame.size == picture.size());
        CHECK(frame.complete);
    }
}

TEST_CASE("a thumbnail is part of its picture") {
    const Bytes picture = with_thumbnail(noise_jpeg(40, 30, 3), noise_jpeg(16, 16, 3));
    const auto frames = split(joined(picture, picture));
    REQUIRE(frames.size() == 2);
    CHECK(frames[0].size == picture.size());
    CHECK(frames[1].begin == picture.size());
}

TEST_CASE("a picture cut off by the next one or by the end says so") {
    const Bytes picture = noise_jpeg(40, 30, 3);
    const Bytes part = cut(picture, picture.size() - 50);
    const auto frames = split(joined(joined(part, picture), part));
    REQUIRE(frames.size() == 3);
    CHECK_FALSE(frames[0].complete);
    CHECK(frames[0].size == part.size());
    CHECK(frames[1].complete);
    CHECK_FALSE(frames[2].complete);
    CHECK(frames[2].size == part.size());
}

TEST_CASE("a segment whose length lies doesn't swallow the next picture") {
    const Bytes picture = noise_jpeg(40, 30, 3);
    Bytes broken = picture;
    const std::size_t table = find_marker(broken, 0xDB);
    broken[table + 2] = 0x7F; // 32 kB
    const auto frames = split(joined(broken, picture));
    REQUIRE(frames.size() == 2);
    CHECK(frames[1].begin == broken.size());
    CHECK(frames[1].complete);
}

TEST_CASE("a stream without pictures has none") {
    CHECK(split({}).empty());
    CHECK(split({0xFF}).empty());
    CHECK(split({0xFF, 0xD8}).empty());
    CHECK(split(text("no pictures here")).empty());
}

} // namespace
} // namespace framejudge::test
