// SHA-256: padding, and the blocks without special instructions.
#include "sha256.hpp"
#include "parallel/cpu_features.hpp"

#include "framejudge/hash.hpp"
#include "framejudge/isa.hpp"

#include <cstring>

namespace framejudge {
namespace {

std::uint32_t rotate(std::uint32_t word, unsigned bits) {
    return word >> bits | word << (32U - bits);
}

std::uint32_t load_big_endian(const std::uint8_t* from) {
    return static_cast<std::uint32_t>(from[0]) << 24U | static_cast<std::uint32_t>(from[1]) << 16U |
           static_cast<std::uint32_t>(from[2]) << 8U | from[3];
}

void store_big_endian(std::uint32_t word, std::uint8_t* to) {
    for (unsigned i = 0; i < 4; ++i) {
        to[i] = static_cast<std::uint8_t>(word >> (24U - 8U * i));
    }
}

void sha256_block(std::uint32_t* state, const std::uint8_t* block) {
    std::uint32_t words[64];
    for (std::size_t i = 0; i < 16; ++i) {
        words[i] = load_big_endian(block + 4 * i);
    }
    for (std::size_t i = 16; i < 64; ++i) {
        const std::uint32_t early = words[i - 15];
        const std::uint32_t late = words[i - 2];
        words[i] = words[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3U) +
                   words[i - 7] + (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10U);
    }
    std::uint32_t v[8];
    std::memcpy(v, state, sizeof(v));
    for (std::size_t i = 0; i < 64; ++i) {
        const std::uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        const std::uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        const std::uint32_t first = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                                    choice + kSha256Constants[i] + words[i];
        const std::uint32_t second =
            (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) + majority;
        std::memmove(v + 1, v, 7 * sizeof(v[0]));
        v[4] += first;
        v[0] = first + second;
    }
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] += v[i];
    }
}

using BlocksFn = void (*)(std::uint32_t*, const std::uint8_t*, std::size_t);

BlocksFn fastest_blocks() {
#if defined(__x86_64__)
    static const bool has_instructions = cpu_features().has_sha;
    if (has_instructions && active_isa() != Isa::kBaseline) {
        return sha256_blocks_ni;
    }
#endif
    return sha256_blocks;
}

} // namespace

void sha256_blocks(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        sha256_block(state, blocks + i * kSha256Block);
    }
}

std::array<std::uint8_t, 32> sha256(ByteView bytes) {
    const BlocksFn take = fastest_blocks();
    // The fractional parts of the square roots of the first eight primes.
    std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                              0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const std::size_t whole = bytes.size / kSha256Block;
    take(state, bytes.data, whole);
    // The rest, a one bit, zeros, and the length in bits.
    const std::size_t rest = bytes.size % kSha256Block;
    std::uint8_t tail[2 * kSha256Block] = {};
    if (rest != 0) {
        std::memcpy(tail, bytes.data + whole * kSha256Block, rest);
    }
    tail[rest] = 0x80;
    const std::size_t blocks = rest + 9 <= kSha256Block ? 1 : 2;
    const std::uint64_t bits = static_cast<std::uint64_t>(bytes.size) * 8;
    store_big_endian(static_cast<std::uint32_t>(bits >> 32U), tail + blocks * kSha256Block - 8);
    store_big_endian(static_cast<std::uint32_t>(bits), tail + blocks * kSha256Block - 4);
    take(state, tail, blocks);
    std::array<std::uint8_t, 32> digest{};
    for (std::size_t i = 0; i < 8; ++i) {
        store_big_endian(state[i], digest.data() + 4 * i);
    }
    return digest;
}

} // namespace framejudge
