// Inflates byte by byte (RFC 1950 and 1951) and keeps what came out before the damage.
#include "codecs.hpp"
#include "inflate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>

namespace framejudge {
namespace {

constexpr int kMaxCodeLength = 15;
constexpr int kFastBits = 9;
constexpr std::size_t kLiteralCodes = 288;
constexpr std::size_t kDistanceCodes = 32;

// Thrown inside this file alone, so that each reader needs no check after each bit.
struct Stop : std::exception {
    explicit Stop(InflateEnd why) : end(why) {}
    InflateEnd end;
};

class Bits {
public:
    explicit Bits(ByteView bytes) : bytes_(bytes) {}

    // At least 48 bits, or all that are left; the missing ones read as zero.
    void refill() {
        while (count_ <= 56 && next_ < bytes_.size) {
            bits_ |= std::uint64_t{bytes_.data[next_++]} << count_;
            count_ += 8;
        }
    }
    [[nodiscard]] unsigned peek(int count) const {
        return static_cast<unsigned>(bits_ & ((std::uint64_t{1} << count) - 1));
    }
    void drop(int count) {
        if (count > count_) {
            throw Stop{InflateEnd::kTruncated};
        }
        bits_ >>= count;
        count_ -= count;
    }
    unsigned take(int count) {
        refill();
        const unsigned value = peek(count);
        drop(count);
        return value;
    }
    void align() { drop(count_ % 8); }
    // Of the stream, not counting bits that were read ahead.
    [[nodiscard]] std::size_t consumed() const {
        return next_ - static_cast<std::size_t>(count_ / 8);
    }
    // Bytes from an aligned place on.
    [[nodiscard]] ByteView rest() const {
        return {bytes_.data + consumed(), bytes_.size - consumed()};
    }
    void skip_bytes(std::size_t count) {
        next_ = consumed() + count;
        bits_ = 0;
        count_ = 0;
    }

private:
    ByteView bytes_;
    std::size_t next_ = 0;
    std::uint64_t bits_ = 0;
    int count_ = 0;
};

// A canonical Huffman code: a table for codes of up to kFastBits, and counting for longer ones.
class Huffman {
public:
    void build(const std::uint8_t* lengths, std::size_t size) {
        counts_.fill(0);
        fast_.fill(0);
        for (std::size_t i = 0; i < size; ++i) {
            ++counts_[lengths[i]];
        }
        const bool is_single = static_cast<std::size_t>(counts_[0]) + 1 == size && counts_[1] == 1;
        counts_[0] = 0;
        int left = 1;
        std::array<std::uint16_t, kMaxCodeLength + 2> offsets{};
        std::array<std::uint16_t, kMaxCodeLength + 2> next_code{};
        for (std::size_t length = 1; length <= kMaxCodeLength; ++length) {
            left = left * 2 - counts_[length];
            if (left < 0) {
                throw Stop{InflateEnd::kCorrupt};
            }
            offsets[length + 1] = static_cast<std::uint16_t>(offsets[length] + counts_[length]);
            next_code[length + 1] =
                static_cast<std::uint16_t>((next_code[length] + counts_[length]) << 1);
        }
        const bool is_empty = offsets[kMaxCodeLength + 1] == 0;
        if (left > 0 && !is_single && !is_empty) {
            throw Stop{InflateEnd::kCorrupt};
        }
        for (std::size_t symbol = 0; symbol < size; ++symbol) {
            if (lengths[symbol] != 0) {
                const std::size_t length = lengths[symbol];
                symbols_[offsets[length]++] = static_cast<std::uint16_t>(symbol);
                fill_fast(symbol, static_cast<int>(length), next_code[length]++);
            }
        }
    }

    unsigned decode(Bits& bits) const {
        bits.refill();
        const unsigned entry = fast_[bits.peek(kFastBits)];
        if (entry != 0) {
            bits.drop(static_cast<int>(entry & 15U));
            return entry >> 4U;
        }
        return decode_long(bits);
    }

private:
    void fill_fast(std::size_t symbol, int length, unsigned code) {
        if (length > kFastBits) {
            return;
        }
        unsigned reversed = 0; // the stream has a code's first bit lowest
        for (int bit = 0; bit < length; ++bit) {
            reversed |= ((code >> bit) & 1U) << (length - 1 - bit);
        }
        for (unsigned i = reversed; i < (1U << kFastBits); i += 1U << length) {
            fast_[i] = static_cast<std::uint16_t>(symbol << 4U | static_cast<unsigned>(length));
        }
    }

    unsigned decode_long(Bits& bits) const {
        int code = 0;
        int first = 0;
        int index = 0;
        for (int length = 1; length <= kMaxCodeLength; ++length) {
            code |= static_cast<int>(bits.peek(length) >> (length - 1));
            const int count = counts_[static_cast<std::size_t>(length)];
            if (code - first < count) {
                bits.drop(length);
                return symbols_[static_cast<std::size_t>(index + code - first)];
            }
            index += count;
            first = (first + count) * 2;
            code *= 2;
        }
        bits.drop(kMaxCodeLength); // fewer bits than that are a truncation
        throw Stop{InflateEnd::kCorrupt};
    }

    std::array<std::uint16_t, kMaxCodeLength + 1> counts_{};
    std::array<std::uint16_t, kLiteralCodes> symbols_{};
    std::array<std::uint16_t, std::size_t{1} << kFastBits> fast_{};
};

struct Extra {
    std::uint16_t base;
    std::uint8_t bits;
};

constexpr std::array<Extra, 29> kLengths = {
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};

constexpr std::array<Extra, 30> kDistances = {
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
     {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
     {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
     {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

class Inflater {
public:
    Inflater(ByteView stream, std::uint8_t* out, std::size_t size, const Deadline* deadline)
        : bits_(stream), out_(out), size_(size), deadline_(deadline) {}

    Inflated run() {
        InflateEnd end = InflateEnd::kComplete;
        try {
            read_header();
            while (!read_block()) {
            }
            check_sum();
        } catch (const Stop& stop) {
            end = stop.end;
        }
        return {end, written_, bits_.consumed()};
    }

private:
    void read_header() {
        const unsigned method = bits_.take(8);
        const unsigned flags = bits_.take(8);
        const bool needs_dictionary = (flags & 0x20U) != 0;
        if ((method & 15U) != 8 || method >> 4U > 7 || (method * 256 + flags) % 31 != 0 ||
            needs_dictionary) {
            throw Stop{InflateEnd::kCorrupt};
        }
    }

    // Whether it was the last one.
    bool read_block() {
        look_at_the_clock();
        const bool is_last = bits_.take(1) != 0;
        switch (bits_.take(2)) {
        case 0:
            read_stored();
            break;
        case 1:
            set_fixed_codes();
            read_compressed();
            break;
        case 2:
            read_codes();
            read_compressed();
            break;
        default:
            throw Stop{InflateEnd::kCorrupt};
        }
        return is_last;
    }

    void read_stored() {
        bits_.align();
        const unsigned length = bits_.take(16);
        if (length != (bits_.take(16) ^ 0xFFFFU)) {
            throw Stop{InflateEnd::kCorrupt};
        }
        const ByteView rest = bits_.rest();
        const auto count = std::min<std::size_t>({length, rest.size, size_ - written_});
        if (count != 0) {
            std::memcpy(out_ + written_, rest.data, count);
        }
        written_ += count;
        bits_.skip_bytes(count);
        if (count < length) {
            throw Stop{count == rest.size ? InflateEnd::kTruncated : InflateEnd::kSurplus};
        }
    }

    void set_fixed_codes() {
        std::array<std::uint8_t, kLiteralCodes> lengths{};
        std::fill_n(lengths.begin(), 144, std::uint8_t{8});
        std::fill_n(lengths.begin() + 144, 112, std::uint8_t{9});
        std::fill_n(lengths.begin() + 256, 24, std::uint8_t{7});
        std::fill_n(lengths.begin() + 280, 8, std::uint8_t{8});
        literals_.build(lengths.data(), lengths.size());
        std::array<std::uint8_t, kDistanceCodes> distances{};
        distances.fill(5);
        distances_.build(distances.data(), distances.size());
    }

    void read_codes() {
        const std::size_t literal_count = bits_.take(5) + 257;
        const std::size_t distance_count = bits_.take(5) + 1;
        const std::size_t length_count = bits_.take(4) + 4;
        if (literal_count > 286 || distance_count > 30) {
            throw Stop{InflateEnd::kCorrupt};
        }
        constexpr std::array<std::uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                         11, 4,  12, 3, 13, 2, 14, 1, 15};
        std::array<std::uint8_t, 19> code_lengths{};
        for (std::size_t i = 0; i < length_count; ++i) {
            code_lengths[kOrder[i]] = static_cast<std::uint8_t>(bits_.take(3));
        }
        literals_.build(code_lengths.data(), code_lengths.size());
        std::array<std::uint8_t, kLiteralCodes + kDistanceCodes> lengths{};
        read_lengths(lengths.data(), literal_count + distance_count);
        if (lengths[256] == 0) {
            throw Stop{InflateEnd::kCorrupt}; // such a block has no end
        }
        distances_.build(lengths.data() + literal_count, distance_count);
        literals_.build(lengths.data(), literal_count);
    }

    void read_lengths(std::uint8_t* lengths, std::size_t total) {
        std::size_t at = 0;
        while (at < total) {
            const unsigned symbol = literals_.decode(bits_);
            if (symbol < 16) {
                lengths[at++] = static_cast<std::uint8_t>(symbol);
                continue;
            }
            std::uint8_t repeated = 0;
            std::size_t count = 0;
            if (symbol == 16) {
                if (at == 0) {
                    throw Stop{InflateEnd::kCorrupt};
                }
                repeated = lengths[at - 1];
                count = 3 + bits_.take(2);
            } else {
                count = symbol == 17 ? 3 + bits_.take(3) : 11 + bits_.take(7);
            }
            if (count > total - at) {
                throw Stop{InflateEnd::kCorrupt};
            }
            std::fill_n(lengths + at, count, repeated);
            at += count;
        }
    }

    void read_compressed() {
        for (;;) {
            const unsigned symbol = literals_.decode(bits_);
            if (symbol < 256) {
                if (written_ == size_) {
                    throw Stop{InflateEnd::kSurplus};
                }
                out_[written_++] = static_cast<std::uint8_t>(symbol);
            } else if (symbol == 256) {
                return;
            } else {
                copy_match(symbol - 257);
            }
        }
    }

    void copy_match(std::size_t length_code) {
        if (length_code >= kLengths.size()) {
            throw Stop{InflateEnd::kCorrupt};
        }
        const std::size_t length =
            kLengths[length_code].base + bits_.take(kLengths[length_code].bits);
        const std::size_t distance_code = distances_.decode(bits_);
        if (distance_code >= kDistances.size()) {
            throw Stop{InflateEnd::kCorrupt};
        }
        const std::size_t distance =
            kDistances[distance_code].base + bits_.take(kDistances[distance_code].bits);
        if (distance > written_) {
            throw Stop{InflateEnd::kCorrupt};
        }
        const std::size_t count = std::min(length, size_ - written_);
        for (std::size_t i = 0; i < count; ++i, ++written_) {
            out_[written_] = out_[written_ - distance]; // the two may overlap
        }
        if (count < length) {
            throw Stop{InflateEnd::kSurplus};
        }
    }

    // Once a block: an empty one costs a microsecond, and a stream may be made of those.
    void look_at_the_clock() const {
        if (deadline_ != nullptr) {
            deadline_->check("PNG");
        }
    }

    void check_sum() {
        bits_.align();
        std::uint32_t stored = 0;
        for (int i = 0; i < 4; ++i) {
            stored = stored << 8U | bits_.take(8);
        }
        if (stored != adler32(1, {out_, written_})) {
            throw Stop{InflateEnd::kChecksum};
        }
    }

    Bits bits_;
    std::uint8_t* out_;
    std::size_t size_;
    const Deadline* deadline_;
    std::size_t written_ = 0;
    Huffman literals_;
    Huffman distances_;
};

} // namespace

Inflated inflate_damaged_zlib(ByteView stream, std::uint8_t* out, std::size_t size,
                              const Deadline* deadline) {
    return Inflater(stream, out, size, deadline).run();
}

} // namespace framejudge
