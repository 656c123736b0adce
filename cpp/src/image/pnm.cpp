// Decodes PNM: P1 to P6 (plain and raw, 1 to 16 bits) and PAM (P7).
#include "codecs.hpp"
#include "samples.hpp"

#include "framejudge/errors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace framejudge {
namespace {

// Longer than any sensible header; what goes on without end is refused early.
constexpr std::size_t kMaxHeader = std::size_t{64} << 10;
// So that the bytes of a row can't overflow.
constexpr std::size_t kMaxSide = 0x7FFFFFFF;

bool is_space(std::uint8_t letter) { return letter == ' ' || (letter >= '\t' && letter <= '\r'); }
bool is_digit(std::uint8_t letter) { return letter >= '0' && letter <= '9'; }

struct PnmHeader {
    int kind = 0; // the digit of the magic number
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t channels = 1;
    unsigned maxval = 1;
    std::size_t offset = 0; // of the samples

    [[nodiscard]] bool is_plain() const { return kind <= 3; }
    // Bits rather than bytes, where 1 is black.
    [[nodiscard]] bool is_bitmap() const { return kind == 1 || kind == 4; }
    [[nodiscard]] std::size_t sample_bytes() const { return maxval > 255 ? 2 : 1; }
    // Of a raw picture; a plain one needs at least one byte for each sample.
    [[nodiscard]] std::size_t row_bytes() const {
        if (kind == 4) {
            return width / 8 + (width % 8 != 0 ? 1 : 0);
        }
        return is_plain() ? width * channels : width * channels * sample_bytes();
    }
    [[nodiscard]] std::size_t needed_bytes() const { // the most there is where they are more
        std::size_t needed = 0;
        return __builtin_mul_overflow(row_bytes(), height, &needed)
                   ? std::numeric_limits<std::size_t>::max()
                   : needed;
    }
};

[[noreturn]] void fail(std::size_t at, const std::string& what) {
    throw ImageDamagedError("PNM: at byte " + std::to_string(at) + ": " + what);
}

class HeaderReader {
public:
    explicit HeaderReader(ByteView bytes) : bytes_(bytes) {}

    PnmHeader read(const DecodeLimits& limits) {
        PnmHeader header;
        header.kind = bytes_.data[1] - '0';
        at_ = 2;
        if (header.kind == 7) {
            read_pam(header);
        } else {
            header.channels = header.kind == 3 || header.kind == 6 ? 3 : 1;
            header.width = number("the width");
            header.height = number("the height");
            header.maxval = header.is_bitmap() ? 1 : maxval(number("maxval"));
            // Exactly one, for the next byte may be a sample that looks like another.
            if (at_ < bytes_.size && is_space(bytes_.data[at_])) {
                ++at_;
            }
        }
        header.offset = at_;
        if (header.width > kMaxSide || header.height > kMaxSide) {
            throw ImageLimitError("PNM: the header claims " + std::to_string(header.width) + " x " +
                                  std::to_string(header.height) + " pixels");
        }
        check_limits(header.width, header.height, limits);
        return header;
    }

private:
    void skip_spaces() {
        while (at_ < bytes_.size && (is_space(bytes_.data[at_]) || bytes_.data[at_] == '#')) {
            if (bytes_.data[at_] == '#') {
                skip_line();
            } else {
                ++at_;
            }
            check_length();
        }
    }

    void skip_line() {
        while (at_ < bytes_.size && bytes_.data[at_] != '\n' && bytes_.data[at_] != '\r') {
            ++at_;
            check_length();
        }
    }

    void check_length() const {
        if (at_ > kMaxHeader) {
            fail(at_, "the header does not end within 64 KiB");
        }
    }

    std::size_t number(const char* name) {
        skip_spaces();
        std::size_t value = 0;
        const std::size_t start = at_;
        for (; at_ < bytes_.size && is_digit(bytes_.data[at_]); ++at_) {
            const std::size_t digit = bytes_.data[at_] - std::size_t{'0'};
            if (__builtin_mul_overflow(value, std::size_t{10}, &value) ||
                __builtin_add_overflow(value, digit, &value)) {
                throw ImageLimitError("PNM: at byte " + std::to_string(start) + ": " + name +
                                      " has more than 64 bits");
            }
        }
        if (at_ == start) {
            fail(at_, std::string(name) + " must be a number" +
                          (at_ < bytes_.size ? "" : ", the file ends there"));
        }
        return value;
    }

    [[nodiscard]] unsigned maxval(std::size_t value) const {
        if (value == 0 || value > 65535) {
            fail(at_, "maxval is " + std::to_string(value) + "; it must be 1 to 65535");
        }
        return static_cast<unsigned>(value);
    }

    std::string_view word() {
        skip_spaces();
        const std::size_t start = at_;
        while (at_ < bytes_.size && !is_space(bytes_.data[at_])) {
            ++at_;
            check_length();
        }
        return {reinterpret_cast<const char*>(bytes_.data) + start, at_ - start};
    }

    void read_pam(PnmHeader& header) {
        header.channels = 0;
        header.maxval = 0;
        for (std::string_view key = word(); key != "ENDHDR"; key = word()) {
            if (key == "WIDTH") {
                header.width = number("WIDTH");
            } else if (key == "HEIGHT") {
                header.height = number("HEIGHT");
            } else if (key == "DEPTH") {
                header.channels = number("DEPTH");
            } else if (key == "MAXVAL") {
                header.maxval = maxval(number("MAXVAL"));
            } else if (key == "TUPLTYPE") {
                skip_line(); // DEPTH says the same
            } else {
                fail(at_ - key.size(),
                     key.empty() ? "the file ends before ENDHDR"
                                 : "unknown header line '" + std::string(key.substr(0, 32)) + "'");
            }
        }
        skip_line();
        at_ = std::min(at_ + 1, bytes_.size);
        if (header.maxval == 0) {
            fail(at_, "MAXVAL is missing");
        }
        if (header.channels < 1 || header.channels > 4) {
            throw ImageUnsupportedError("PNM: DEPTH is " + std::to_string(header.channels) +
                                        "; 1 to 4 are read");
        }
    }

    ByteView bytes_;
    std::size_t at_ = 0;
};

ImageInfo info_of(const PnmHeader& header) {
    ImageInfo info;
    info.format = ImageFormat::kPnm;
    info.width = header.width;
    info.height = header.height;
    info.channels = static_cast<int>(header.channels);
    info.bit_depth = header.maxval == 1 ? 1 : static_cast<int>(8 * header.sample_bytes());
    info.has_alpha = header.channels % 2 == 0;
    return info;
}

// 0 to maxval spread over 0 to 255 and rounded; of 16 bits the high byte, as for PNG.
std::uint8_t scaled(unsigned value, unsigned maxval) {
    value = std::min(value, maxval);
    if (maxval == 65535) {
        return static_cast<std::uint8_t>(value >> 8U);
    }
    return static_cast<std::uint8_t>((value * 255 + maxval / 2) / maxval);
}

class PnmDecoder {
public:
    PnmDecoder(ByteView bytes, const DecodeOptions& options, DecodeReport& report)
        : bytes_(bytes), options_(options), report_(report),
          header_(HeaderReader(bytes).read(options.limits)), at_(header_.offset) {
        for (unsigned value = 0; value < table_.size(); ++value) {
            table_[value] = scaled(value, std::min(header_.maxval, 255U));
        }
    }

    Pixels run() {
        report_.info = info_of(header_);
        report_.codec = "framejudge";
        check_size();
        Pixels pixels =
            Pixels::uninitialized(header_.width, header_.height, channels_of(options_.mode));
        std::vector<std::uint8_t> row(header_.width * header_.channels);
        std::size_t y = 0;
        for (; y < header_.height && read_row(row); ++y) {
            convert_row(row.data(), header_.channels, pixels.row(y), options_.mode, header_.width);
        }
        report_.rows_read = y;
        if (y < header_.height) {
            lose("PNM: " + fault_ + ": " + std::to_string(y) + " of " +
                 std::to_string(header_.height) + " rows are there");
            fill_background(pixels, y, options_);
        }
        return pixels;
    }

private:
    void lose(const std::string& what) {
        if (!options_.partial) {
            throw ImageDamagedError(what);
        }
        report_.damaged = true;
        report_.damage.push_back(what);
    }

    // Nothing is allocated for what can't be in the file, unless a part of it is wanted.
    void check_size() const {
        const std::size_t needed = header_.needed_bytes();
        const std::size_t there = bytes_.size - header_.offset;
        if (!options_.partial && needed > there) {
            throw ImageDamagedError("PNM: the samples at byte " + std::to_string(header_.offset) +
                                    " need " + std::to_string(needed) + " bytes, " +
                                    std::to_string(there) + " are there");
        }
    }

    // False at the end of what can be read; `fault_` says why.
    bool read_row(std::vector<std::uint8_t>& row) {
        if (header_.is_plain()) {
            return read_plain_row(row);
        }
        const std::size_t size = header_.row_bytes();
        if (bytes_.size - at_ < size) {
            fault_ = "the file ends at byte " + std::to_string(bytes_.size);
            return false;
        }
        const std::uint8_t* const from = bytes_.data + at_;
        at_ += size;
        if (header_.is_bitmap()) {
            for (std::size_t x = 0; x < row.size(); ++x) {
                row[x] = (from[x / 8] >> (7 - x % 8) & 1) != 0 ? 0 : 255;
            }
        } else if (header_.sample_bytes() == 2) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                const unsigned value = static_cast<unsigned>(from[2 * i]) << 8U | from[2 * i + 1];
                row[i] = scaled(value, header_.maxval);
            }
        } else {
            std::transform(from, from + row.size(), row.begin(),
                           [this](std::uint8_t value) { return table_[value]; });
        }
        return true;
    }

    bool read_plain_row(std::vector<std::uint8_t>& row) {
        for (std::uint8_t& sample : row) {
            if (!read_plain_sample(sample)) {
                return false;
            }
        }
        return true;
    }

    bool read_plain_sample(std::uint8_t& sample) {
        while (at_ < bytes_.size && (is_space(bytes_.data[at_]) || bytes_.data[at_] == '#')) {
            const bool is_comment = bytes_.data[at_] == '#';
            while (is_comment && at_ < bytes_.size && bytes_.data[at_] != '\n') {
                ++at_;
            }
            at_ += at_ < bytes_.size ? 1 : 0;
        }
        if (at_ >= bytes_.size || !is_digit(bytes_.data[at_])) {
            fault_ = (at_ >= bytes_.size ? "the file ends at byte " : "no number at byte ") +
                     std::to_string(at_);
            return false;
        }
        unsigned value = bytes_.data[at_++] - unsigned{'0'};
        if (header_.is_bitmap()) { // its digits may stand side by side
            sample = value != 0 ? 0 : 255;
            return true;
        }
        for (; at_ < bytes_.size && is_digit(bytes_.data[at_]); ++at_) {
            value = std::min(value * 10 + (bytes_.data[at_] - unsigned{'0'}), 100000U);
        }
        if (value > header_.maxval) {
            fault_ = "a sample before byte " + std::to_string(at_) + " is above maxval " +
                     std::to_string(header_.maxval);
            return false;
        }
        sample = scaled(value, header_.maxval);
        return true;
    }

    ByteView bytes_;
    const DecodeOptions& options_;
    DecodeReport& report_;
    PnmHeader header_;
    std::size_t at_;
    std::array<std::uint8_t, 256> table_{};
    std::string fault_;
};

} // namespace

bool sniff_pnm(ByteView bytes) {
    return bytes.size >= 3 && bytes.data[0] == 'P' && bytes.data[1] >= '1' &&
           bytes.data[1] <= '7' && (is_space(bytes.data[2]) || bytes.data[2] == '#');
}

ImageInfo probe_pnm(ByteView bytes, const DecodeLimits& limits) {
    const PnmHeader header = HeaderReader(bytes).read(limits);
    ImageInfo info = info_of(header);
    info.damaged = header.needed_bytes() > bytes.size - header.offset;
    return info;
}

Pixels decode_pnm(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    return PnmDecoder(bytes, options, report).run();
}

} // namespace framejudge
