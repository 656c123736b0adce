// XXH3 of 128 bits with seed 0 and the default secret, after the xxHash specification.
#include "framejudge/hash.hpp"
#include "image/frame_kernels.hpp"

#include <cstring>

namespace framejudge {
namespace {

constexpr std::uint64_t kPrime32A = 0x9E3779B1;
constexpr std::uint64_t kPrime32B = 0x85EBCA77;
constexpr std::uint64_t kPrime32C = 0xC2B2AE3D;
constexpr std::uint64_t kPrime64A = 0x9E3779B185EBCA87;
constexpr std::uint64_t kPrime64B = 0xC2B2AE3D27D4EB4F;
constexpr std::uint64_t kPrime64C = 0x165667B19E3779F9;
constexpr std::uint64_t kPrime64D = 0x85EBCA77C2B2AE63;
constexpr std::uint64_t kPrime64E = 0x27D4EB2F165667C5;
constexpr std::uint64_t kMixA = 0x165667919E3779F9;
constexpr std::uint64_t kMixB = 0x9FB21C651E98DF25;

constexpr std::size_t kSecretSize = 192;
constexpr std::uint8_t kSecret[kSecretSize] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e};

std::uint64_t read32(const std::uint8_t* from) {
    return from[0] | static_cast<std::uint64_t>(from[1]) << 8U |
           static_cast<std::uint64_t>(from[2]) << 16U | static_cast<std::uint64_t>(from[3]) << 24U;
}

std::uint64_t read64(const std::uint8_t* from) { return read32(from) | read32(from + 4) << 32U; }

std::uint64_t secret64(std::size_t at) { return read64(kSecret + at); }

// The product of two 64-bit numbers.
struct Product {
    std::uint64_t low;
    std::uint64_t high;
};

Product multiply(std::uint64_t a, std::uint64_t b) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {static_cast<std::uint64_t>(product), static_cast<std::uint64_t>(product >> 64U)};
}

std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
    const Product product = multiply(a, b);
    return product.low ^ product.high;
}

std::uint64_t avalanche(std::uint64_t h) {
    h = (h ^ h >> 37U) * kMixA;
    return h ^ h >> 32U;
}

std::uint64_t avalanche_of_xxh64(std::uint64_t h) {
    h = (h ^ h >> 33U) * kPrime64B;
    h = (h ^ h >> 29U) * kPrime64C;
    return h ^ h >> 32U;
}

Product hash_nothing() {
    return {avalanche_of_xxh64(secret64(64) ^ secret64(72)),
            avalanche_of_xxh64(secret64(80) ^ secret64(88))};
}

Product hash_up_to_3(const std::uint8_t* in, std::size_t size) {
    const auto low =
        static_cast<std::uint32_t>(static_cast<std::uint32_t>(in[0]) << 16U |
                                   static_cast<std::uint32_t>(in[size >> 1U]) << 24U |
                                   in[size - 1] | static_cast<std::uint32_t>(size) << 8U);
    const std::uint32_t swapped = __builtin_bswap32(low);
    const std::uint32_t high = swapped << 13U | swapped >> 19U;
    return {avalanche_of_xxh64(low ^ (read32(kSecret) ^ read32(kSecret + 4))),
            avalanche_of_xxh64(high ^ (read32(kSecret + 8) ^ read32(kSecret + 12)))};
}

Product hash_up_to_8(const std::uint8_t* in, std::size_t size) {
    const std::uint64_t both = read32(in) + (read32(in + size - 4) << 32U);
    Product h = multiply(both ^ secret64(16) ^ secret64(24), kPrime64A + (size << 2U));
    h.high += h.low << 1U;
    h.low ^= h.high >> 3U;
    h.low = (h.low ^ h.low >> 35U) * kMixB;
    h.low ^= h.low >> 28U;
    return {h.low, avalanche(h.high)};
}

Product hash_up_to_16(const std::uint8_t* in, std::size_t size) {
    const std::uint64_t low = read64(in);
    const std::uint64_t high = read64(in + size - 8);
    Product h = multiply(low ^ high ^ secret64(32) ^ secret64(40), kPrime64A);
    h.low += static_cast<std::uint64_t>(size - 1) << 54U;
    const std::uint64_t flipped = high ^ secret64(48) ^ secret64(56);
    h.high += flipped + (flipped & 0xFFFFFFFF) * (kPrime32B - 1);
    h.low ^= __builtin_bswap64(h.high);
    const Product last = multiply(h.low, kPrime64B);
    return {avalanche(last.low), avalanche(last.high + h.high * kPrime64B)};
}

std::uint64_t mix_16(const std::uint8_t* in, std::size_t secret) {
    return fold(read64(in) ^ secret64(secret), read64(in + 8) ^ secret64(secret + 8));
}

void mix_32(Product& sums, const std::uint8_t* a, const std::uint8_t* b, std::size_t secret) {
    sums.low = (sums.low + mix_16(a, secret)) ^ (read64(b) + read64(b + 8));
    sums.high = (sums.high + mix_16(b, secret + 16)) ^ (read64(a) + read64(a + 8));
}

Product finish_mixed(const Product& sums, std::size_t size) {
    const std::uint64_t high =
        sums.low * kPrime64A + sums.high * kPrime64D + static_cast<std::uint64_t>(size) * kPrime64B;
    return {avalanche(sums.low + sums.high), 0 - avalanche(high)};
}

Product hash_up_to_128(const std::uint8_t* in, std::size_t size) {
    Product sums{size * kPrime64A, 0};
    for (std::size_t i = (size - 1) / 32 + 1; i-- > 0;) {
        mix_32(sums, in + 16 * i, in + size - 16 * (i + 1), 32 * i);
    }
    return finish_mixed(sums, size);
}

Product hash_up_to_240(const std::uint8_t* in, std::size_t size) {
    constexpr std::size_t kFirst = 128; // bytes under the secret's beginning
    Product sums{size * kPrime64A, 0};
    for (std::size_t i = 0; i < kFirst; i += 32) {
        mix_32(sums, in + i, in + i + 16, i);
    }
    sums = {avalanche(sums.low), avalanche(sums.high)};
    for (std::size_t i = kFirst; i + 32 <= size; i += 32) {
        mix_32(sums, in + i, in + i + 16, 3 + i - kFirst);
    }
    mix_32(sums, in + size - 16, in + size - 32, 136 - 17 - 16);
    return finish_mixed(sums, size);
}

constexpr std::size_t kStripe = kXxh3Stripe;
constexpr std::size_t kStripesPerBlock = (kSecretSize - kStripe) / 8;
constexpr std::size_t kBlock = kStripe * kStripesPerBlock;

void scramble(std::uint64_t* sums) {
    for (std::size_t i = 0; i < 8; ++i) {
        sums[i] ^= sums[i] >> 47U;
        sums[i] = (sums[i] ^ secret64(kSecretSize - kStripe + 8 * i)) * kPrime32A;
    }
}

std::uint64_t merge(const std::uint64_t* sums, std::size_t secret, std::uint64_t start) {
    std::uint64_t result = start;
    for (std::size_t i = 0; i < 8; i += 2) {
        result +=
            fold(sums[i] ^ secret64(secret + 8 * i), sums[i + 1] ^ secret64(secret + 8 * i + 8));
    }
    return avalanche(result);
}

Product hash_long(const std::uint8_t* in, std::size_t size) {
    const auto take = active_frame_kernels().xxh3_stripes;
    std::uint64_t sums[8] = {kPrime32C, kPrime64A, kPrime64B, kPrime64C,
                             kPrime64D, kPrime32B, kPrime64E, kPrime32A};
    const std::size_t blocks = (size - 1) / kBlock;
    for (std::size_t block = 0; block < blocks; ++block) {
        take(sums, in + block * kBlock, kSecret, kStripesPerBlock);
        scramble(sums);
    }
    const std::size_t stripes = (size - 1 - blocks * kBlock) / kStripe;
    take(sums, in + blocks * kBlock, kSecret, stripes);
    take(sums, in + size - kStripe, kSecret + kSecretSize - kStripe - 7, 1);
    return {merge(sums, 11, size * kPrime64A),
            merge(sums, kSecretSize - kStripe - 11, ~(size * kPrime64B))};
}

Product hash_of(const std::uint8_t* in, std::size_t size) {
    return size == 0     ? hash_nothing()
           : size <= 3   ? hash_up_to_3(in, size)
           : size <= 8   ? hash_up_to_8(in, size)
           : size <= 16  ? hash_up_to_16(in, size)
           : size <= 128 ? hash_up_to_128(in, size)
           : size <= 240 ? hash_up_to_240(in, size)
                         : hash_long(in, size);
}

} // namespace

std::array<std::uint8_t, 16> xxh3_128(ByteView bytes) {
    const Product hash = hash_of(bytes.data, bytes.size);
    std::array<std::uint8_t, 16> digest{};
    for (std::size_t i = 0; i < 8; ++i) {
        digest[i] = static_cast<std::uint8_t>(hash.high >> (56U - 8U * i));
        digest[8 + i] = static_cast<std::uint8_t>(hash.low >> (56U - 8U * i));
    }
    return digest;
}

} // namespace framejudge
