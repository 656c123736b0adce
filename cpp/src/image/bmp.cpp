// Decodes BMP: 1 to 32 bits, run lengths, bit fields, either way up.
#include "bmp_header.hpp"
#include "codecs.hpp"
#include "samples.hpp"

#include "framejudge/errors.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace framejudge {
namespace {

ImageInfo info_of(const BmpHeader& header) {
    ImageInfo info;
    info.format = ImageFormat::kBmp;
    info.width = header.width;
    info.height = header.height;
    info.has_alpha = header.has_alpha();
    info.channels = info.has_alpha ? 4 : 3;
    info.bit_depth = 8;
    return info;
}

std::size_t stride_of(const BmpHeader& header) {
    return (header.width * header.bits + 31) / 32 * 4;
}

// The rows of a plain picture that are in the file; the last one's padding may be missing.
std::size_t plain_rows(const BmpHeader& header, std::size_t file_size) {
    const std::size_t used = (header.width * header.bits + 7) / 8;
    const std::size_t there = file_size - header.offset;
    return there < used ? 0 : std::min(header.height, (there - used) / stride_of(header) + 1);
}

bool has_run_lengths(const BmpHeader& header) {
    return header.coding == BmpCoding::kRle8 || header.coding == BmpCoding::kRle4;
}

// The palette indices of a picture of run lengths, by rows from the bottom up.
class RunLengths {
public:
    RunLengths(ByteView bytes, const BmpHeader& header)
        : bytes_(bytes), header_(header), at_(header.offset),
          indices_(header.width, header.height, 1) {}

    // Why it stopped before all rows were reached; empty if it did not.
    std::string run() {
        while (y_ < header_.height) {
            if (bytes_.size - at_ < 2) {
                return "the file ends at byte " + std::to_string(bytes_.size);
            }
            const std::uint8_t count = bytes_.data[at_];
            const std::uint8_t value = bytes_.data[at_ + 1];
            at_ += 2;
            if (count != 0) {
                put_run(count, value);
            } else if (value == 0) {
                x_ = 0;
                ++y_;
            } else if (value == 1) {
                // The last row need not be ended by a line feed.
                return y_ + 1 >= header_.height
                           ? std::string()
                           : "the end mark at byte " + std::to_string(at_ - 2) + " comes early";
            } else if (value == 2) {
                if (bytes_.size - at_ < 2) {
                    return "the file ends at byte " + std::to_string(bytes_.size);
                }
                x_ = std::min<std::size_t>(x_ + bytes_.data[at_], header_.width);
                y_ += bytes_.data[at_ + 1];
                at_ += 2;
            } else if (!put_literals(value)) {
                return "the file ends at byte " + std::to_string(bytes_.size);
            }
            if (overflowed_) {
                return "a run before byte " + std::to_string(at_) + " leaves its row";
            }
        }
        return {};
    }

    [[nodiscard]] const Pixels& indices() const { return indices_; }
    [[nodiscard]] std::size_t rows() const { return std::min(y_, header_.height); }

private:
    [[nodiscard]] bool is_nibbles() const { return header_.coding == BmpCoding::kRle4; }

    void put(std::uint8_t index) {
        if (x_ < header_.width) {
            indices_.row(y_)[x_++] = index;
        } else {
            overflowed_ = true;
        }
    }

    void put_run(std::uint8_t count, std::uint8_t value) {
        for (unsigned i = 0; i < count; ++i) {
            put(is_nibbles() ? nibble(value, i) : value);
        }
    }

    bool put_literals(std::uint8_t count) {
        const std::size_t size = is_nibbles() ? (count + 1U) / 2 : count;
        if (bytes_.size - at_ < size) {
            return false;
        }
        for (unsigned i = 0; i < count; ++i) {
            put(is_nibbles() ? nibble(bytes_.data[at_ + i / 2], i) : bytes_.data[at_ + i]);
        }
        at_ += std::min(size + size % 2, bytes_.size - at_); // padded to 16 bits
        return true;
    }

    static std::uint8_t nibble(std::uint8_t byte, unsigned index) {
        return index % 2 == 0 ? static_cast<std::uint8_t>(byte >> 4)
                              : static_cast<std::uint8_t>(byte & 15);
    }

    ByteView bytes_;
    const BmpHeader& header_;
    std::size_t at_;
    Pixels indices_; // pixels that are skipped are index 0
    std::size_t x_ = 0;
    std::size_t y_ = 0;
    bool overflowed_ = false;
};

class BmpDecoder {
public:
    BmpDecoder(ByteView bytes, const DecodeOptions& options, DecodeReport& report)
        : bytes_(bytes), options_(options), report_(report),
          header_(read_bmp_header(bytes, options.limits)), row_(header_.width * 4) {}

    Pixels run() {
        report_.info = info_of(header_);
        report_.codec = "framejudge";
        return has_run_lengths(header_) ? read_run_lengths() : read_plain();
    }

private:
    void lose(const std::string& fault, std::size_t rows) {
        const std::string what = "BMP: " + fault + ": " + std::to_string(rows) + " of " +
                                 std::to_string(header_.height) + " rows are there";
        if (!options_.partial) {
            throw ImageDamagedError(what);
        }
        report_.damaged = true;
        report_.damage.push_back(what);
    }

    [[nodiscard]] Pixels new_pixels() const {
        return Pixels::uninitialized(header_.width, header_.height, channels_of(options_.mode));
    }

    // Where the stored row `y` belongs.
    std::uint8_t* target(Pixels& pixels, std::size_t y) const {
        return pixels.row(header_.is_top_down ? y : header_.height - 1 - y);
    }

    Pixels read_plain() {
        const std::size_t stride = stride_of(header_);
        const std::size_t rows = plain_rows(header_, bytes_.size);
        if (rows < header_.height) {
            lose("the file ends at byte " + std::to_string(bytes_.size), rows);
        }
        Pixels pixels = new_pixels();
        if (rows < header_.height) {
            fill_background(pixels, 0, options_);
        }
        for (std::size_t y = 0; y < rows; ++y) {
            write_row(bytes_.data + header_.offset + y * stride, target(pixels, y));
        }
        report_.rows_read = rows;
        return pixels;
    }

    Pixels read_run_lengths() {
        RunLengths runs(bytes_, header_);
        const std::string fault = runs.run();
        std::size_t rows = header_.height;
        if (!fault.empty()) {
            rows = runs.rows();
            lose(fault, rows);
        }
        Pixels pixels = new_pixels();
        if (rows < header_.height) {
            fill_background(pixels, 0, options_);
        }
        for (std::size_t y = 0; y < rows; ++y) {
            write_indices(runs.indices().row(y), target(pixels, y));
        }
        report_.rows_read = rows;
        return pixels;
    }

    void write_indices(const std::uint8_t* indices, std::uint8_t* to) {
        for (std::size_t x = 0; x < header_.width; ++x) {
            const auto& color = header_.palette[indices[x]];
            std::copy(color.begin(), color.end(),
                      row_.begin() + static_cast<std::ptrdiff_t>(3 * x));
        }
        convert_row(row_.data(), 3, to, options_.mode, header_.width);
    }

    void write_row(const std::uint8_t* from, std::uint8_t* to) {
        if (header_.bits <= 8) {
            write_indices(unpack(from), to);
        } else if (header_.bits == 24) {
            for (std::size_t x = 0; x < header_.width; ++x) {
                row_[3 * x] = from[3 * x + 2];
                row_[3 * x + 1] = from[3 * x + 1];
                row_[3 * x + 2] = from[3 * x];
            }
            convert_row(row_.data(), 3, to, options_.mode, header_.width);
        } else {
            write_fields(from, to);
        }
    }

    const std::uint8_t* unpack(const std::uint8_t* from) {
        if (header_.bits == 8) {
            return from;
        }
        indices_.resize(header_.width);
        const unsigned mask = (1U << header_.bits) - 1;
        for (std::size_t x = 0; x < header_.width; ++x) {
            const std::size_t bit = x * header_.bits;
            const std::size_t shift = 8 - header_.bits - bit % 8;
            indices_[x] = static_cast<std::uint8_t>(from[bit / 8] >> shift & mask);
        }
        return indices_.data();
    }

    void write_fields(const std::uint8_t* from, std::uint8_t* to) {
        const std::size_t channels = header_.has_alpha() ? 4 : 3;
        for (std::size_t x = 0; x < header_.width; ++x) {
            const std::uint32_t pixel =
                header_.bits == 16 ? read_u16_le(from + 2 * x) : read_u32_le(from + 4 * x);
            for (std::size_t c = 0; c < channels; ++c) {
                row_[channels * x + c] = scaled(pixel, header_.fields[c]);
            }
        }
        convert_row(row_.data(), channels, to, options_.mode, header_.width);
    }

    // Spread over 0 to 255 and rounded down, as Pillow does.
    static std::uint8_t scaled(std::uint32_t pixel, const BmpField& field) {
        const std::uint64_t value = pixel >> field.shift & field.max;
        return field.max == 0 ? std::uint8_t{0}
                              : static_cast<std::uint8_t>(value * 255 / field.max);
    }

    ByteView bytes_;
    const DecodeOptions& options_;
    DecodeReport& report_;
    BmpHeader header_;
    std::vector<std::uint8_t> row_;
    std::vector<std::uint8_t> indices_;
};

} // namespace

bool sniff_bmp(ByteView bytes) { return has_bmp_signature(bytes); }

ImageInfo probe_bmp(ByteView bytes, const DecodeLimits& limits) {
    const BmpHeader header = read_bmp_header(bytes, limits);
    ImageInfo info = info_of(header);
    info.damaged = !has_run_lengths(header) && plain_rows(header, bytes.size) < header.height;
    return info;
}

Pixels decode_bmp(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    return BmpDecoder(bytes, options, report).run();
}

} // namespace framejudge
