// The unfilter kernels over a tier's eight byte lanes.
//
// NOTE [Paeth without distances]
// PNG predicts a (left), b (up) or c (up left), whichever is nearest to a + b - c; ties go to a,
// then b. With lo and hi the smaller and the larger of a and b, and t = 3c - a - b: hi is nearest
// where t <= lo, lo is where hi <= t, and c is in between. That needs no absolute values, so that
// less lies between one pixel and the next; the tests try all 2^24 triples.
#pragma once

#include "png_unfilter.hpp"

#include <cstring>

namespace framejudge {
// Without a name, so that a tier's code can't be linked in place of another's.
namespace {

// A pixel's bytes in the low end of 64 bits; above them is whatever follows in memory.
template <std::size_t kPixel> std::uint64_t load_pixel(const std::uint8_t* from) {
    if constexpr (kPixel <= 4) {
        std::uint32_t bits;
        std::memcpy(&bits, from, sizeof bits);
        return bits;
    } else {
        std::uint64_t bits;
        std::memcpy(&bits, from, sizeof bits);
        return bits;
    }
}

template <std::size_t kPixel> void store_pixel(std::uint8_t* to, std::uint64_t bits) {
    std::memcpy(to, &bits, kPixel); // little-endian on every machine there is a tier for
}

// Pixels of one or two bytes: nothing to do in parallel.
template <std::size_t kPixel>
void sub_bytes(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* /*prior*/,
               std::size_t size) {
    std::uint8_t left[kPixel] = {};
    for (std::size_t i = 0; i < size; ++i) {
        std::uint8_t& a = left[i % kPixel];
        a = static_cast<std::uint8_t>(source[i] + a);
        row[i] = a;
    }
}

template <std::size_t kPixel>
void average_bytes(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
                   std::size_t size) {
    std::uint8_t left[kPixel] = {};
    for (std::size_t i = 0; i < size; ++i) {
        std::uint8_t& a = left[i % kPixel];
        a = static_cast<std::uint8_t>(source[i] + (a + prior[i]) / 2);
        row[i] = a;
    }
}

template <std::size_t kPixel>
void paeth_bytes(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
                 std::size_t size) {
    int left[kPixel] = {};
    int up_left[kPixel] = {};
    for (std::size_t i = 0; i < size; ++i) {
        int& a = left[i % kPixel];
        int& c = up_left[i % kPixel];
        const int b = prior[i];
        const int lo = a < b ? a : b;
        const int hi = a < b ? b : a;
        const int t = 3 * c - a - b;
        const int low_or_c = hi <= t ? lo : c;
        a = (source[i] + (t <= lo ? hi : low_or_c)) & 0xFF;
        c = b;
        row[i] = static_cast<std::uint8_t>(a);
    }
}

template <typename Lanes>
void up(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
        std::size_t size) {
    std::size_t i = 0;
    for (; i + Lanes::kBlock <= size; i += Lanes::kBlock) {
        Lanes::add_block(row + i, source + i, prior + i);
    }
    for (; i < size; ++i) {
        row[i] = static_cast<std::uint8_t>(source[i] + prior[i]);
    }
}

template <typename Lanes, std::size_t kPixel>
void sub(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* /*prior*/,
         std::size_t size) {
    typename Lanes::Vector a = Lanes::from_bits(0);
    for (std::size_t i = 0; i < size; i += kPixel) {
        a = Lanes::add(a, Lanes::from_bits(load_pixel<kPixel>(source + i)));
        store_pixel<kPixel>(row + i, Lanes::to_bits(a));
    }
}

template <typename Lanes, std::size_t kPixel>
void average(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
             std::size_t size) {
    typename Lanes::Vector a = Lanes::from_bits(0);
    for (std::size_t i = 0; i < size; i += kPixel) {
        const auto b = Lanes::from_bits(load_pixel<kPixel>(prior + i));
        const auto x = Lanes::from_bits(load_pixel<kPixel>(source + i));
        a = Lanes::add(x, Lanes::average(a, b));
        store_pixel<kPixel>(row + i, Lanes::to_bits(a));
    }
}

template <typename Lanes, std::size_t kPixel>
void paeth(std::uint8_t* row, const std::uint8_t* source, const std::uint8_t* prior,
           std::size_t size) {
    typename Lanes::Wide a = Lanes::wide_from_bits(0);
    typename Lanes::Wide c = a;
    for (std::size_t i = 0; i < size; i += kPixel) {
        const auto b = Lanes::wide_from_bits(load_pixel<kPixel>(prior + i));
        const auto x = Lanes::wide_from_bits(load_pixel<kPixel>(source + i));
        a = Lanes::add_low_bytes(x, Lanes::paeth(a, b, c));
        c = b;
        store_pixel<kPixel>(row + i, Lanes::wide_to_bits(a));
    }
}

template <typename Lanes> constexpr UnfilterTable make_table() {
    UnfilterTable table{};
    table.up = up<Lanes>;
    table.sub[1] = sub_bytes<1>;
    table.sub[2] = sub_bytes<2>;
    table.sub[3] = sub<Lanes, 3>;
    table.sub[4] = sub<Lanes, 4>;
    table.sub[6] = sub<Lanes, 6>;
    table.sub[8] = sub<Lanes, 8>;
    table.average[1] = average_bytes<1>;
    table.average[2] = average_bytes<2>;
    table.average[3] = average<Lanes, 3>;
    table.average[4] = average<Lanes, 4>;
    table.average[6] = average<Lanes, 6>;
    table.average[8] = average<Lanes, 8>;
    table.paeth[1] = paeth_bytes<1>;
    table.paeth[2] = paeth_bytes<2>;
    table.paeth[3] = paeth<Lanes, 3>;
    table.paeth[4] = paeth<Lanes, 4>;
    table.paeth[6] = paeth<Lanes, 6>;
    table.paeth[8] = paeth<Lanes, 8>;
    return table;
}

} // namespace
} // namespace framejudge
