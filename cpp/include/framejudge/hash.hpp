// Hashes of pictures, distances between them, and hashes of bytes.
//
// NOTE [hashes]
// A hash of a picture is stored with its algorithm and version: a change of even one bit of any
// picture's hash is a new version. All of them read luma (ITU-R BT.601) that is shrunk in fixed
// point by the core's own resize, so that no other library's release changes them.
//   dhash-1  is imagehash 4's dhash on Pillow 13, bit for bit.
//   phash-1  is imagehash 4's phash on Pillow 13, bit for bit; its coefficients are rounded to
//            1/1024, so that a flat picture's bits are not its rounding errors.
//   pdq-1    is Meta's PDQ as of pdqhash 0.2, bit for bit, of pictures of up to 1024 pixels a side;
//            larger ones are shrunk to that first.
// Of encoded bytes, a JPEG's luma is decoded at a half, a quarter or an eighth where enough is
// left: a bit or two of the hash may differ from the whole picture's.
#pragma once

#include "framejudge/image.hpp"
#include "framejudge/pixels.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace framejudge {

enum class HashAlgorithm : std::uint8_t { kDhash, kPhash, kPdq };

constexpr int kHashVersion = 1; // of each algorithm

struct PictureHash {
    std::array<std::uint8_t, 32> bytes{}; // most significant bit first
    std::size_t size = 0;                 // of them: 8 or 32
    int quality = 100; // 0 to 100: how much there is to see; only PDQ's is ever below 100
};

// Pictures of 1, 3 or 4 channels, alpha ignored. Throws InvalidInput for one without pixels.
PictureHash hash_picture(const PixelView& pixels, HashAlgorithm algorithm);

// Of encoded bytes, upright, over white. Throws ImageError.
PictureHash hash_picture(ByteView bytes, HashAlgorithm algorithm, const DecodeLimits& limits);

// Hashes of `words` words of 64 bits each, one after the other.
struct HashRows {
    const std::uint64_t* data;
    std::size_t count;
    std::size_t words;
};

// Bits that differ: of a[i] and b[i], or of the only a and b[i]. Throws InvalidInput.
void hamming(const HashRows& a, const HashRows& b, std::uint32_t* out);

// Every pair i < j whose distance is at most `max_distance`, in order. All pairs are compared, on
// the pool: n * (n - 1) / 2 distances, memory for the result alone.
std::vector<std::pair<std::size_t, std::size_t>> find_duplicates(const HashRows& hashes,
                                                                 std::uint32_t max_distance);

// XXH3 of 128 bits with seed 0, most significant byte first: the form that its authors print.
std::array<std::uint8_t, 16> xxh3_128(ByteView bytes);

std::array<std::uint8_t, 32> sha256(ByteView bytes);

} // namespace framejudge
