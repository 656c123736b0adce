// Encodes PNG: the filter of each row by the smallest residuals, one IDAT, no metadata.
#include "inflate.hpp"
#include "png_chunks.hpp"
#include "png_filter.hpp"

#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"

#include <array>
#include <cstring>
#include <string>
#include <utility>

namespace framejudge {
namespace {

constexpr std::size_t kMaxSide = 0x7FFFFFFF;
constexpr std::size_t kMaxChunk = 0x7FFFFFFF;

void put_u32(std::vector<std::uint8_t>& to, std::uint32_t value) {
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        to.push_back(static_cast<std::uint8_t>(value >> shift));
    }
}

// Starts a chunk whose length is not known yet; returns where it starts.
std::size_t begin_chunk(std::vector<std::uint8_t>& to, const char (&name)[5]) {
    const std::size_t start = to.size();
    put_u32(to, 0);
    put_u32(to, png_chunk_type(name));
    return start;
}

void end_chunk(std::vector<std::uint8_t>& to, std::size_t start) {
    const std::size_t size = to.size() - start - 8;
    if (size > kMaxChunk) {
        throw InvalidInput("the picture's PNG would need a chunk of " + std::to_string(size) +
                           " bytes; 2147483647 are the most");
    }
    for (std::size_t i = 0; i < 4; ++i) {
        to[start + i] = static_cast<std::uint8_t>(size >> (24 - 8 * i));
    }
    put_u32(to, crc32(0, {to.data() + start + 4, size + 4}));
}

std::uint8_t color_type(std::size_t channels) {
    switch (channels) {
    case 1:
        return 0;
    case 3:
        return 2;
    default:
        return 6;
    }
}

// Whether a later filter is better than those before it: by a sixteenth at least. Rows of the same
// filter share more matches than a few smaller residuals are worth: up to 4 % of a photo's file.
bool is_better(std::uint64_t cost, std::uint64_t least) { return 16 * cost < 15 * least; }

// Every row behind the byte that names its filter: the one with the smallest sum of absolute
// residuals, but for is_better().
std::vector<std::uint8_t> filtered_rows(const PixelView& pixels) {
    const FilterTable& table = active_filter_table();
    const std::size_t size = pixels.width * pixels.channels;
    const std::vector<std::uint8_t> zeros(size + pixels.channels);
    // The rows with a pixel of zeros in front, as the kernels want them; they take turns.
    std::array<std::vector<std::uint8_t>, 2> padded = {zeros, zeros};
    std::vector<std::uint8_t> candidate(size);
    std::vector<std::uint8_t> best(size);
    std::vector<std::uint8_t> filtered(pixels.height * (size + 1));
    for (std::size_t y = 0; y < pixels.height; ++y) {
        std::vector<std::uint8_t>& current = padded[y % 2];
        std::memcpy(current.data() + pixels.channels, pixels.data + y * pixels.stride, size);
        const FilterRows rows = {current.data() + pixels.channels,
                                 padded[(y + 1) % 2].data() + pixels.channels, size,
                                 pixels.channels};
        std::uint8_t* const to = filtered.data() + y * (size + 1);
        std::uint64_t least = 0;
        for (std::uint8_t filter = 0; filter < kPngFilters && (filter == 0 || least != 0);
             ++filter) {
            table.apply[filter](rows, candidate.data());
            const std::uint64_t cost = table.magnitude(candidate.data(), size);
            if (filter == 0 || is_better(cost, least)) {
                least = cost;
                *to = filter;
                std::swap(candidate, best);
            }
        }
        std::memcpy(to + 1, best.data(), size);
    }
    return filtered;
}

void check(const PixelView& pixels, int level) {
    if (pixels.channels != 1 && pixels.channels != 3 && pixels.channels != 4) {
        throw InvalidInput("a PNG has 1, 3 or 4 channels, got " + std::to_string(pixels.channels));
    }
    if (pixels.width == 0 || pixels.height == 0 || pixels.width > kMaxSide ||
        pixels.height > kMaxSide) {
        throw InvalidInput("a PNG has 1 to 2147483647 columns and rows, got " +
                           std::to_string(pixels.width) + " x " + std::to_string(pixels.height));
    }
    if (level < 0 || level > 9) {
        throw InvalidInput("level must be 0 (stored) to 9 (smallest), got " +
                           std::to_string(level));
    }
}

} // namespace

std::vector<std::uint8_t> encode_png(const PixelView& pixels, int level) {
    check(pixels, level);
    std::vector<std::uint8_t> file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    std::size_t chunk = begin_chunk(file, "IHDR");
    put_u32(file, static_cast<std::uint32_t>(pixels.width));
    put_u32(file, static_cast<std::uint32_t>(pixels.height));
    for (const std::uint8_t byte : {std::uint8_t{8}, color_type(pixels.channels), std::uint8_t{0},
                                    std::uint8_t{0}, std::uint8_t{0}}) {
        file.push_back(byte);
    }
    end_chunk(file, chunk);
    chunk = begin_chunk(file, "IDAT");
    const std::vector<std::uint8_t> filtered = filtered_rows(pixels);
    deflate_zlib({filtered.data(), filtered.size()}, level, file);
    end_chunk(file, chunk);
    chunk = begin_chunk(file, "IEND");
    end_chunk(file, chunk);
    return file;
}

} // namespace framejudge
