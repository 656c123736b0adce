// Hashes against published values, and searches against every pair counted bit by bit.
#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/hash.hpp"
#include "framejudge/resize.hpp"
#include "framejudge/thread_pool.hpp"
#include "pictures.hpp"
#include "reference.hpp"

#include <algorithm>
#include <doctest.h>

namespace framejudge::test {
namespace {

std::string hex(const std::uint8_t* digest, std::size_t size) {
    std::string text;
    for (std::size_t i = 0; i < size; ++i) {
        text += "0123456789abcdef"[digest[i] >> 4U];
        text += "0123456789abcdef"[digest[i] & 15U];
    }
    return text;
}

std::string sha256_of(const std::string& text) {
    const auto digest = sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return hex(digest.data(), digest.size());
}

TEST_CASE("SHA-256 gives NIST's examples, with and without the machine's instructions") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        CHECK(sha256_of("abc") ==
              "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        CHECK(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        CHECK(sha256_of(std::string(1000000, 'a')) ==
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    });
}

struct Vector {
    std::size_t size;
    const char* digest;
};

// Made by the reference implementation (version 0.8.3) from the upper bytes of x = 1664525 * x +
// 1013904223, x = 1 before the first. Both sides of each place where the algorithm changes.
constexpr Vector kXxh3[] = {
    {0, "99aa06d3014798d86001c324468d497f"},    {1, "beff62be44bc9be4429e81bc6744101c"},
    {2, "e06f6948991f8637a65771cbfd464c2d"},    {3, "9dce807f4a9aaa5632dbb5c7774cc94f"},
    {4, "9772187e76395ea05def542b8e8255bb"},    {8, "29a3277f85f28675da3ca77f4508da63"},
    {9, "57fc1cef528bd18785e53a642b77ffab"},    {16, "f8ae1a6f144fb00b4c6929dc65a535a0"},
    {17, "0ad716e7cfed9dc843287186cdfec85d"},   {32, "3061e37048c04caacf805526ea96182f"},
    {33, "7787bc63ca3818d69fc38e5c19be3ef3"},   {64, "87477a4bb45568ed4cbebc1074a4c793"},
    {65, "1df8ba4eac471be18f4238b9da164902"},   {96, "6eea949b1d64d297bc2bc1d3d2a98617"},
    {97, "3abe16c7b27cae022dc297aec6120b11"},   {128, "2b83749a25627c556772960c7e09e15b"},
    {129, "d2c5fdf14399d768d15020c0444d308f"},  {160, "0cbccabccae4eb0df9025b7b4fa59974"},
    {161, "f6df3624ec3bfe92473c78231fc88195"},  {192, "9918b650e7e209cdc8c05fb162159990"},
    {193, "2ce5c009ba1fdb4044cd66f279563848"},  {240, "b2c3c2aa029b2279e16f608e11e76335"},
    {241, "e75e577a31d24834d6afac6f8fa85b01"},  {256, "5f3bd3b68315e0249e6593bab96413da"},
    {1024, "1ac8856c8b289d9abb9f0c3761cdfd54"}, {1025, "15379a00bb4cec9895edccc1adc4d895"},
    {1088, "1d6f34c84443eb69e8391a3978cbcf06"}, {1089, "25e03fd6d43a0e67b6e2a9bc2973e16a"},
    {2048, "dda6abe2811d8216278f7a6a39416b51"}, {2049, "8030e23166b51b02644272755e8980a0"},
    {10000, "a7dc022798adf21aa52f67ee0d473e72"}};

TEST_CASE("XXH3 gives the reference implementation's values, in every tier") {
    std::vector<std::uint8_t> bytes;
    std::uint32_t x = 1;
    for (std::size_t i = 0; i < 10000; ++i) {
        x = 1664525U * x + 1013904223U;
        bytes.push_back(static_cast<std::uint8_t>(x >> 24U));
    }
    in_every_tier([&](const std::string& tier) {
        CAPTURE(tier);
        for (const Vector& vector : kXxh3) {
            CAPTURE(vector.size);
            const auto digest = xxh3_128({bytes.data(), vector.size});
            CHECK(hex(digest.data(), digest.size()) == vector.digest);
        }
    });
}

std::string hash_of(const PixelView& picture, HashAlgorithm algorithm) {
    const PictureHash hash = hash_picture(picture, algorithm);
    return hex(hash.bytes.data(), hash.size);
}

constexpr HashAlgorithm kAlgorithms[] = {HashAlgorithm::kDhash, HashAlgorithm::kPhash,
                                         HashAlgorithm::kPdq};

TEST_CASE("a ramp to the right is all ones to dhash, one to the left all zeros") {
    std::vector<std::uint8_t> right(std::size_t{200} * 100);
    for (std::size_t i = 0; i < right.size(); ++i) {
        right[i] = static_cast<std::uint8_t>(i % 200);
    }
    const std::vector<std::uint8_t> left(right.rbegin(), right.rend());
    CHECK(hash_of({right.data(), 200, 100, 1, 200}, HashAlgorithm::kDhash) == "ffffffffffffffff");
    CHECK(hash_of({left.data(), 200, 100, 1, 200}, HashAlgorithm::kDhash) == "0000000000000000");
}

TEST_CASE("a picture has one hash in every tier, in gray, RGB and RGBA") {
    const TestPicture gray(300, 200, 1, 9, 0, 255);
    std::vector<std::uint8_t> rgb;
    std::vector<std::uint8_t> rgba;
    for (std::size_t i = 0; i < std::size_t{300} * 200; ++i) {
        const std::uint8_t level = gray.at(i % 300, i / 300, 0);
        rgb.insert(rgb.end(), 3, level);
        rgba.insert(rgba.end(), {level, level, level, 17});
    }
    for (const HashAlgorithm algorithm : {HashAlgorithm::kDhash, HashAlgorithm::kPhash}) {
        const std::string first = hash_of(gray.view(), algorithm);
        in_every_tier([&](const std::string& tier) {
            CAPTURE(tier);
            CHECK(hash_of(gray.view(), algorithm) == first);
            CHECK(hash_of({rgb.data(), 300, 200, 3, 900}, algorithm) == first);
            CHECK(hash_of({rgba.data(), 300, 200, 4, 1200}, algorithm) == first);
        });
    }
}

TEST_CASE("a flat picture hashes the same at any size, and PDQ says that there is nothing to see") {
    for (const std::size_t side : {9U, 100U, 700U}) {
        const TestPicture flat(side, side, 1, 1, 77, 77);
        CHECK(hash_of(flat.view(), HashAlgorithm::kDhash) == "0000000000000000");
        CHECK(hash_of(flat.view(), HashAlgorithm::kPhash) == "8000000000000000");
        CHECK(hash_picture(flat.view(), HashAlgorithm::kPdq).quality == 0);
    }
}

TEST_CASE("a picture too small for PDQ has quality 0, and one without pixels no hash") {
    const TestPicture small(4, 90, 3, 1, 0, 255);
    CHECK(hash_picture(small.view(), HashAlgorithm::kPdq).quality == 0);
    for (const HashAlgorithm algorithm : kAlgorithms) {
        CHECK_THROWS_AS(hash_picture({small.view().data, 0, 4, 3, 0}, algorithm), InvalidInput);
    }
}

// PDQ's authors call pictures the same up to 31 bits.
TEST_CASE("a JPEG's hash, read at a part of its size, is that of the same picture") {
    const TestPicture coarse(96, 54, 3, 5, 0, 255);
    const Pixels smooth = resize(coarse.view(), 1920, 1080, Filter::kBicubic);
    const auto jpeg = encode_jpeg(smooth.view(), 90);
    for (const HashAlgorithm algorithm : kAlgorithms) {
        const PictureHash a = hash_picture(smooth.view(), algorithm);
        const PictureHash b = hash_picture({jpeg.data(), jpeg.size()}, algorithm, {});
        int differ = 0;
        for (std::size_t i = 0; i < a.size; ++i) {
            differ += __builtin_popcount(static_cast<unsigned>(a.bytes[i] ^ b.bytes[i]));
        }
        CHECK(differ <= (a.size == 32 ? 31 : 2));
    }
}

std::uint32_t bits_that_differ(const std::uint64_t* a, const std::uint64_t* b, std::size_t words) {
    std::uint32_t count = 0;
    for (std::size_t bit = 0; bit < 64 * words; ++bit) {
        count += ((a[bit / 64] ^ b[bit / 64]) >> bit % 64 & 1U) != 0 ? 1U : 0U;
    }
    return count;
}

// Random hashes, of which each tenth is an earlier one with a few bits changed.
std::vector<std::uint64_t> hashes_like_frames(std::size_t count, std::size_t words) {
    std::mt19937_64 random(count);
    std::vector<std::uint64_t> hashes;
    for (std::size_t i = 0; i < count * words; ++i) {
        const bool is_copy = i / words % 10 == 9;
        hashes.push_back(is_copy ? hashes[i - 7 * words] ^ (std::uint64_t{1} << random() % 64)
                                 : random());
    }
    return hashes;
}

TEST_CASE("distances and near pairs are those counted bit by bit, in every tier") {
    in_every_tier([](const std::string& tier) {
        CAPTURE(tier);
        for (const std::size_t words : {1U, 2U, 4U}) {
            const std::size_t count = 150;
            const auto data = hashes_like_frames(count, words);
            const HashRows rows{data.data(), count, words};
            std::vector<std::pair<std::size_t, std::size_t>> pairs;
            for (std::size_t i = 0; i < count; ++i) {
                std::vector<std::uint32_t> got(count);
                hamming({data.data() + i * words, 1, words}, rows, got.data());
                for (std::size_t j = 0; j < count; ++j) {
                    const std::uint32_t distance =
                        bits_that_differ(data.data() + i * words, data.data() + j * words, words);
                    CHECK(got[j] == distance);
                    if (i < j && distance <= 3 * words) {
                        pairs.emplace_back(i, j);
                    }
                }
            }
            CHECK(pairs.size() >= 10);
            CHECK(find_duplicates(rows, static_cast<std::uint32_t>(3 * words)) == pairs);
        }
    });
}

TEST_CASE("many hashes are searched in blocks, whatever the number of threads") {
    const auto data = hashes_like_frames(5000, 1);
    const HashRows rows{data.data(), 5000, 1};
    set_threads(1);
    const auto pairs = find_duplicates(rows, 1);
    CHECK(pairs.size() >= 499);
    CHECK(std::is_sorted(pairs.begin(), pairs.end()));
    set_threads(3);
    CHECK(find_duplicates(rows, 1) == pairs);
    CHECK(find_duplicates({data.data(), 0, 1}, 64).empty());
}

TEST_CASE("hashes of other lengths or numbers can't be compared") {
    const auto data = hashes_like_frames(10, 4);
    std::uint32_t out[10];
    CHECK_THROWS_AS(hamming({data.data(), 4, 1}, {data.data(), 4, 2}, out), InvalidInput);
    CHECK_THROWS_AS(hamming({data.data(), 4, 1}, {data.data(), 3, 1}, out), InvalidInput);
}

} // namespace
} // namespace framejudge::test
