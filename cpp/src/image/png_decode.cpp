// Decodes PNG: inflates at most what the header implies, undoes the filters, expands the samples.
#include "codecs.hpp"
#include "inflate.hpp"
#include "png_expand.hpp"
#include "png_header.hpp"
#include "png_unfilter.hpp"
#include "samples.hpp"

#include "framejudge/codec_info.hpp"
#include "framejudge/errors.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>

namespace framejudge {
namespace {

// Every how many columns and rows a pass has a pixel, and where the first is.
struct Grid {
    std::size_t x;
    std::size_t y;
    std::size_t step_x;
    std::size_t step_y;
};

constexpr std::array<Grid, 1> kWhole = {{{0, 0, 1, 1}}};
constexpr std::array<Grid, 7> kAdam7 = {{{0, 0, 8, 8},
                                         {4, 0, 8, 8},
                                         {0, 4, 4, 8},
                                         {2, 0, 4, 4},
                                         {0, 2, 2, 4},
                                         {1, 0, 2, 2},
                                         {0, 1, 1, 2}}};

struct Pass {
    Grid grid;
    std::size_t width;
    std::size_t height;
    std::size_t row_bytes; // without the filter byte
    std::size_t offset;    // of its first row in the inflated data
};

// NOTE [PNG and the clock]
// A deflate stream may go on without giving a byte, in blocks that hold nothing: 11 bytes and a
// microsecond each. So IDAT is read as far as any encoder might need for this picture, and where
// that is long, by our own inflater, which looks at the clock; libdeflate can't be interrupted.
constexpr std::size_t kLongStream = std::size_t{32} << 20U;

// Every how many rows the clock is looked at.
constexpr std::size_t kRowsPerLook = 256;

// A deflate stream can't hold more than 1032 times its size: 258 bytes for every two bits.
constexpr std::size_t kMaxInflation = 1032;

std::size_t checked_product(std::size_t a, std::size_t b) {
    if (b != 0 && a > std::numeric_limits<std::size_t>::max() / 2 / b) {
        throw ImageLimitError("PNG: " + std::to_string(a) + " x " + std::to_string(b) +
                              " bytes are more than can be addressed");
    }
    return a * b;
}

std::size_t pixels_of(std::size_t side, std::size_t first, std::size_t step) {
    return side > first ? (side - first + step - 1) / step : 0;
}

ImageInfo info_of(const PngHeader& header) {
    ImageInfo info;
    info.format = ImageFormat::kPng;
    info.width = header.width;
    info.height = header.height;
    info.channels = header.channels();
    info.bit_depth = header.bit_depth;
    info.orientation = header.orientation;
    info.animated = header.is_animated;
    info.has_alpha = header.has_alpha();
    info.progressive = header.is_interlaced;
    return info;
}

class PngDecoder {
public:
    PngDecoder(ByteView bytes, const DecodeOptions& options, DecodeReport& report)
        : bytes_(bytes), options_(options), report_(report),
          deadline_(options.limits.time_budget_s), file_(read_png_chunks(bytes, options.limits)),
          header_(file_.header), expander_(header_, options.mode, header_.width) {}

    Pixels run() {
        report_.info = info_of(header_);
        report_.warnings = file_.warnings;
        report_.codec = inflate_codec_name();
        for (const std::string& text : file_.damage) {
            damaged(text);
        }
        plan_passes();
        check_inflation();
        // Nothing is allocated for the picture before this.
        filtered_ = Pixels::uninitialized(possible_size_ + kUnfilterSlack, 1, 1);
        inflate();
        deadline_.check("PNG");
        Pixels pixels =
            Pixels::uninitialized(header_.width, header_.height, channels_of(options_.mode));
        header_.is_interlaced ? read_interlaced(pixels) : read_rows(pixels);
        if (expander_.has_bad_index()) {
            warn("palette indices beyond the palette's " + std::to_string(header_.palette_size) +
                 " colours are black");
        }
        return pixels;
    }

private:
    // Data were lost: the end by default.
    void damaged(const std::string& what) {
        if (!options_.partial) {
            throw ImageDamagedError(what);
        }
        report_.damaged = true;
        report_.damage.push_back(what);
    }

    void warn(const std::string& what) { report_.warnings.push_back("PNG: " + what); }

    void plan_passes() {
        const Grid* grid = header_.is_interlaced ? kAdam7.data() : kWhole.data();
        const std::size_t count = header_.is_interlaced ? kAdam7.size() : kWhole.size();
        for (std::size_t i = 0; i < count; ++i, ++grid) {
            Pass pass{*grid, pixels_of(header_.width, grid->x, grid->step_x),
                      pixels_of(header_.height, grid->y, grid->step_y), 0, filtered_size_};
            if (pass.width == 0 || pass.height == 0) {
                continue;
            }
            pass.row_bytes = (checked_product(pass.width, header_.bits_per_pixel()) + 7) / 8;
            filtered_size_ += checked_product(pass.row_bytes + 1, pass.height);
            passes_.push_back(pass);
        }
    }

    // So that nothing is allocated for what can't be in the file.
    void check_inflation() {
        possible_size_ = file_.image_data_bytes > filtered_size_ / kMaxInflation
                             ? filtered_size_
                             : file_.image_data_bytes * kMaxInflation;
        if (possible_size_ < filtered_size_) {
            damaged("PNG: the " + std::to_string(file_.image_data_bytes) +
                    " bytes of IDAT can't hold the " + std::to_string(filtered_size_) +
                    " that the picture needs");
        }
    }

    // The contents of all IDAT in one piece, up to the first that is broken.
    ByteView image_data() {
        const bool is_split = file_.image_chunks > 1;
        if (is_split) {
            joined_ = Pixels::uninitialized(std::max<std::size_t>(file_.image_data_bytes, 1), 1, 1);
        }
        std::size_t joined = 0;
        PngChunks chunks(bytes_);
        PngChunk chunk;
        ByteView only{nullptr, 0};
        bool is_trusted = true;
        while (chunks.next(chunk) && (chunk.type != kPngEnd || chunk.is_cut)) {
            if (chunk.type != kPngImageData) {
                continue;
            }
            if (is_trusted && !chunk.is_cut && !chunk.is_intact()) {
                damaged("PNG: " + chunk.fault());
                is_trusted = false; // one report is enough; its data may still be of use
            }
            if (!is_split) {
                only = chunk.data;
            } else if (chunk.data.size != 0) {
                std::memcpy(joined_.data() + joined, chunk.data.data, chunk.data.size);
                joined += chunk.data.size;
            }
        }
        return is_split ? ByteView{joined_.data(), joined} : only;
    }

    // As stored, with a block and a flush for each row, an eighth for bad luck, and some.
    [[nodiscard]] std::size_t longest_stream() const {
        std::size_t rows = 0;
        for (const Pass& pass : passes_) {
            rows += pass.height;
        }
        constexpr std::size_t kPerRow = 16;
        constexpr std::size_t kSome = std::size_t{64} << 10U;
        return filtered_size_ + filtered_size_ / 8 + kPerRow * rows + kSome;
    }

    void inflate() {
        const ByteView stream = image_data();
        const ByteView needed = {stream.data, std::min(stream.size, longest_stream())};
        const Inflated result =
            needed.size > kLongStream
                ? inflate_damaged_zlib(needed, filtered_.data(), possible_size_, &deadline_)
                : inflate_zlib(needed, filtered_.data(), possible_size_);
        available_ = result.written;
        const std::string at =
            " at byte " + std::to_string(result.consumed) + " of the image data (IDAT)";
        const bool is_whole = available_ == filtered_size_;
        const std::string count = std::to_string(available_) + " of " +
                                  std::to_string(filtered_size_) + " bytes came out";
        switch (result.end) {
        case InflateEnd::kComplete:
            if (!is_whole) {
                damaged("PNG: the image data (IDAT) end too early: " + count);
            } else if (result.consumed < stream.size) {
                warn(std::to_string(stream.size - result.consumed) +
                     " bytes follow the compressed picture in IDAT");
            }
            break;
        case InflateEnd::kSurplus:
            warn("IDAT holds more than the picture; the rest was not inflated");
            break;
        case InflateEnd::kTruncated:
            // A missing checksum alone loses no pixel; each chunk's CRC was right.
            if (is_whole && !report_.damaged) {
                warn("the image data (IDAT) stop before their checksum");
            } else {
                damaged("PNG: the image data (IDAT) are cut: " + count);
            }
            break;
        case InflateEnd::kCorrupt:
            damaged("PNG: the zlib stream is broken" + at + ": " + count);
            break;
        case InflateEnd::kChecksum:
            damaged("PNG: the picture does not match its Adler-32" + at);
            break;
        }
    }

    // Whole rows of the pass that were inflated.
    [[nodiscard]] std::size_t rows_available(const Pass& pass) const {
        const std::size_t bytes = available_ > pass.offset ? available_ - pass.offset : 0;
        return std::min(pass.height, bytes / (pass.row_bytes + 1));
    }

    std::size_t unfilter(const Pass& pass, std::uint8_t* rows, std::size_t stride) {
        deadline_.check("PNG");
        const std::size_t available = rows_available(pass);
        const std::size_t pixel_bytes = std::max<std::size_t>(header_.bits_per_pixel() / 8, 1);
        const std::uint8_t* const filtered = filtered_.data() + pass.offset;
        const std::size_t done =
            unfilter_rows({filtered, rows, stride, pass.row_bytes, available, pixel_bytes});
        if (done < available) {
            damaged("PNG: row " + std::to_string(done) + " of IDAT names filter " +
                    std::to_string(filtered[done * (pass.row_bytes + 1)]) + "; there are 0 to 4");
        }
        return done;
    }

    std::size_t unfilter_in_place(const Pass& pass) {
        return unfilter(pass, filtered_.data() + pass.offset + 1, pass.row_bytes + 1);
    }

    [[nodiscard]] const std::uint8_t* unfiltered_row(const Pass& pass, std::size_t y) const {
        return filtered_.data() + pass.offset + 1 + y * (pass.row_bytes + 1);
    }

    void read_rows(Pixels& pixels) {
        const Pass& pass = passes_.front();
        std::size_t rows = 0;
        const bool has_key = options_.mode == PixelMode::kRgba && header_.transparent;
        if (expander_.is_identity() && !has_key) {
            rows = unfilter(pass, pixels.data(), pixels.stride());
        } else {
            rows = unfilter_in_place(pass);
            for (std::size_t y = 0; y < rows; ++y) {
                if (y % kRowsPerLook == 0) {
                    deadline_.check("PNG");
                }
                expander_.expand(unfiltered_row(pass, y), pixels.row(y), pass.width);
            }
        }
        report_.rows_read = rows;
        if (rows < pixels.height()) {
            fill_background(pixels, rows, options_);
        }
    }

    void read_interlaced(Pixels& pixels) {
        std::size_t complete = pixels.height();
        std::vector<std::pair<const Pass*, std::size_t>> done;
        for (const Pass& pass : passes_) {
            const std::size_t rows = unfilter_in_place(pass);
            done.emplace_back(&pass, rows);
            if (rows < pass.height) {
                complete = std::min(complete, pass.grid.y + rows * pass.grid.step_y);
                break; // what follows lies behind the damage
            }
        }
        const bool is_whole = done.size() == passes_.size() && complete == pixels.height();
        if (!is_whole) {
            fill_background(pixels, 0, options_);
            complete = done.size() < passes_.size() ? rows_before(done.size(), complete) : complete;
        }
        for (const auto& [pass, rows] : done) {
            spread(*pass, rows, pixels);
        }
        report_.rows_read = complete;
    }

    // The first row that one of the passes from `first` on should have written.
    [[nodiscard]] std::size_t rows_before(std::size_t first, std::size_t complete) const {
        for (std::size_t i = first; i < passes_.size(); ++i) {
            complete = std::min(complete, passes_[i].grid.y);
        }
        return complete;
    }

    // Puts the rows of a pass where they belong.
    void spread(const Pass& pass, std::size_t rows, Pixels& pixels) {
        const std::size_t channels = pixels.channels();
        std::vector<std::uint8_t> expanded(pass.width * channels);
        for (std::size_t y = 0; y < rows; ++y) {
            if (y % kRowsPerLook == 0) {
                deadline_.check("PNG");
            }
            expander_.expand(unfiltered_row(pass, y), expanded.data(), pass.width);
            std::uint8_t* to = pixels.row(pass.grid.y + y * pass.grid.step_y);
            to += pass.grid.x * channels;
            for (std::size_t x = 0; x < pass.width; ++x) {
                std::memcpy(to, expanded.data() + x * channels, channels);
                to += pass.grid.step_x * channels;
            }
        }
    }

    ByteView bytes_;
    const DecodeOptions& options_;
    DecodeReport& report_;
    Deadline deadline_;
    PngFile file_;
    const PngHeader& header_;
    PngExpander expander_;
    std::vector<Pass> passes_;
    std::size_t filtered_size_ = 0; // of all rows with their filters
    std::size_t possible_size_ = 0; // what of it IDAT can hold
    std::size_t available_ = 0;     // inflated bytes
    Pixels joined_; // from the pool, as is the next: fresh memory costs more than filling it
    Pixels filtered_;
};

} // namespace

bool sniff_png(ByteView bytes) { return has_png_signature(bytes); }

ImageInfo probe_png(ByteView bytes, const DecodeLimits& limits) {
    const PngFile file = read_png_chunks(bytes, limits);
    ImageInfo info = info_of(file.header);
    info.damaged = !file.damage.empty();
    return info;
}

Pixels decode_png(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    return PngDecoder(bytes, options, report).run();
}

} // namespace framejudge
