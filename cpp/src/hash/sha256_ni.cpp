// SHA-256's blocks by the SHA instructions of x86-64.
#include "sha256.hpp"

#include <immintrin.h>

namespace framejudge {
namespace {

__m128i load(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

// The instructions keep the state as two registers of four words each: f e b a, h g d c.
struct State {
    __m128i abef;
    __m128i cdgh;
};

State load_state(const std::uint32_t* state) {
    const __m128i badc = _mm_shuffle_epi32(load(state), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(load(state + 4), 0x1b);
    return {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xf0)};
}

void store_state(const State& state, std::uint32_t* to) {
    const __m128i feba = _mm_shuffle_epi32(state.abef, 0x1b);
    const __m128i dchg = _mm_shuffle_epi32(state.cdgh, 0xb1);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 4), _mm_alignr_epi8(dchg, feba, 8));
}

// Four rounds on four words of the message.
void rounds(State& state, __m128i words, std::size_t first) {
    const __m128i sums = _mm_add_epi32(words, load(kSha256Constants + first));
    state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sums);
    state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(sums, 0x0e));
}

void take_block(State& state, const std::uint8_t* block) {
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    __m128i words[4];
    for (std::size_t i = 0; i < 4; ++i) {
        words[i] = _mm_shuffle_epi8(load(block + 16 * i), swap);
        rounds(state, words[i], 4 * i);
    }
    for (std::size_t i = 4; i < 16; ++i) {
        const __m128i last = words[(i + 3) % 4];
        const __m128i before = words[(i + 2) % 4];
        const __m128i sums = _mm_add_epi32(_mm_sha256msg1_epu32(words[i % 4], words[(i + 1) % 4]),
                                           _mm_alignr_epi8(last, before, 4));
        words[i % 4] = _mm_sha256msg2_epu32(sums, last);
        rounds(state, words[i % 4], 4 * i);
    }
}

} // namespace

void sha256_blocks_ni(std::uint32_t* state, const std::uint8_t* blocks, std::size_t count) {
    State now = load_state(state);
    for (std::size_t i = 0; i < count; ++i) {
        const State before = now;
        take_block(now, blocks + i * kSha256Block);
        now.abef = _mm_add_epi32(now.abef, before.abef);
        now.cdgh = _mm_add_epi32(now.cdgh, before.cdgh);
    }
    store_state(now, state);
}

} // namespace framejudge
