// JPEG to pixels, through libjpeg-turbo: accurate DCT and interpolated chroma, so every build gives
// the same samples.
#include "codecs.hpp"
#include "jpeg_scan.hpp"
#include "jpeg_session.hpp"
#include "orient.hpp"

#include "framejudge/codec_info.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

namespace framejudge {
namespace {

ImageInfo info_of(const JpegHeader& header) {
    ImageInfo info;
    info.format = ImageFormat::kJpeg;
    info.width = header.width;
    info.height = header.height;
    info.channels = header.component_count;
    info.orientation = header.orientation;
    info.progressive = header.progressive();
    return info;
}

// No more scans than allowed, counted before the first is decoded: each one costs as much as the
// picture is large, however few bytes it has.
void check_scans(ByteView bytes, const JpegHeader& header, const DecodeLimits& limits) {
    const std::size_t components_at = header.scan_begin + 4;
    const bool one_scan = !header.progressive() && components_at < bytes.size &&
                          bytes.data[components_at] == header.component_count;
    if (!one_scan && count_jpeg_scans(bytes, limits.max_scans) > limits.max_scans) {
        throw ImageLimitError("JPEG: more scans than the limit of " +
                              std::to_string(limits.max_scans));
    }
}

// Huffman codes have at least one bit: a sequential block takes two, a progressive picture's luma
// block one. A header that claims more is refused before anything is allocated for it.
void check_plausible(ByteView bytes, const JpegHeader& header) {
    const std::size_t bits = header.progressive() ? header.blocks(false) : 2 * header.blocks(true);
    const std::size_t there = bytes.size - header.scan_begin;
    if (!header.arithmetic() && bits / 8 > there) {
        throw ImageDamagedError("JPEG: data are missing: " + std::to_string(header.width) + " x " +
                                std::to_string(header.height) + " pixels take at least " +
                                std::to_string(bits / 8) + " bytes, got " + std::to_string(there) +
                                " after the header");
    }
}

// Without the zeros or ones that a write that was never finished leaves at the end. After an end
// marker they don't matter; before it, the data end where they begin.
ByteView without_blank_tail(ByteView bytes) {
    constexpr std::size_t kShortest = 16;
    std::size_t size = bytes.size;
    const std::uint8_t last = bytes.data[size - 1];
    if (last != 0x00 && last != 0xFF) {
        return bytes;
    }
    while (size > 0 && bytes.data[size - 1] == last) {
        --size;
    }
    return bytes.size - size < kShortest ? bytes : ByteView{bytes.data, size};
}

int denominator_for(const JpegHeader& header, const DecodeOptions& options) {
    if (options.cover_width == 0 || options.cover_height == 0) {
        return 1;
    }
    for (const unsigned denominator : {8U, 4U, 2U}) {
        const auto scaled = [&](std::size_t side) {
            return (side + denominator - 1) / denominator;
        };
        if (scaled(header.width) >= options.cover_width &&
            scaled(header.height) >= options.cover_height) {
            return static_cast<int>(denominator);
        }
    }
    return 1;
}

J_COLOR_SPACE colours_for(const jpeg_decompress_struct& cinfo, PixelMode mode) {
    if (cinfo.jpeg_color_space == JCS_CMYK || cinfo.jpeg_color_space == JCS_YCCK) {
        return JCS_CMYK;
    }
    if (mode == PixelMode::kGray || cinfo.jpeg_color_space == JCS_GRAYSCALE) {
        return JCS_GRAYSCALE;
    }
    return mode == PixelMode::kRgba ? JCS_EXT_RGBA : JCS_RGB;
}

std::size_t channels_of(J_COLOR_SPACE colours) {
    switch (colours) {
    case JCS_GRAYSCALE:
        return 1;
    case JCS_EXT_RGBA:
        return 4;
    default:
        return 3;
    }
}

// Ink to light: without a profile the product of what two inks let through. Adobe's files hold the
// light already.
void cmyk_to_rgb(const std::uint8_t* cmyk, std::size_t width, bool is_light, std::uint8_t* rgb) {
    const unsigned flip = is_light ? 0U : 255U;
    for (std::size_t x = 0; x < width; ++x) {
        const unsigned key = cmyk[4 * x + 3] ^ flip;
        for (std::size_t c = 0; c < 3; ++c) {
            const unsigned product = (cmyk[4 * x + c] ^ flip) * key + 128U;
            rgb[3 * x + c] = static_cast<std::uint8_t>((product + (product >> 8U)) >> 8U);
        }
    }
}

void read_header(JpegSession& session) { jpeg_read_header(&session.cinfo, TRUE); }

void start(JpegSession& session) { jpeg_start_decompress(&session.cinfo); }

void finish(JpegSession& session) { jpeg_finish_decompress(&session.cinfo); }

bool lost_here(const JpegSession& session) {
    return session.stop_at_lost_row && session.lost_row != JpegSession::kNoLoss;
}

void read_rows(JpegSession& session) {
    jpeg_decompress_struct& cinfo = session.cinfo;
    constexpr JDIMENSION kRows = 16;
    const std::size_t stride =
        std::size_t{cinfo.output_width} * static_cast<std::size_t>(cinfo.output_components);
    while (cinfo.output_scanline < cinfo.output_height && !lost_here(session)) {
        JSAMPROW rows[kRows];
        const JDIMENSION count = std::min(kRows, cinfo.output_height - cinfo.output_scanline);
        for (JDIMENSION i = 0; i < count; ++i) {
            rows[i] = session.target + (cinfo.output_scanline + i) * stride;
        }
        jpeg_read_scanlines(&cinfo, rows, count);
    }
}

void read_resized_rows(JpegSession& session) {
    jpeg_decompress_struct& cinfo = session.cinfo;
    RowResizer& resizer = *session.resizer;
    while (cinfo.output_scanline < cinfo.output_height) {
        constexpr JDIMENSION kRows = 16;
        JSAMPROW rows[kRows];
        const JDIMENSION count = std::min({kRows, static_cast<JDIMENSION>(resizer.room()),
                                           cinfo.output_height - cinfo.output_scanline});
        for (JDIMENSION i = 0; i < count; ++i) {
            rows[i] = resizer.row(i);
        }
        resizer.take(jpeg_read_scanlines(&cinfo, rows, count));
    }
}

void read_cmyk_rows(JpegSession& session) {
    jpeg_decompress_struct& cinfo = session.cinfo;
    const std::size_t width = cinfo.output_width;
    while (cinfo.output_scanline < cinfo.output_height && !lost_here(session)) {
        std::uint8_t* rgb = session.target + cinfo.output_scanline * width * 3;
        JSAMPROW row = session.scratch;
        if (jpeg_read_scanlines(&cinfo, &row, 1) == 1) {
            cmyk_to_rgb(row, width, cinfo.saw_Adobe_marker != FALSE, rgb);
        }
    }
}

// What stands in rows whose data are missing.
void paint(Pixels& pixels, std::size_t from_row, const std::array<std::uint8_t, 3>& background) {
    if (from_row >= pixels.height()) {
        return;
    }
    Pixels one(1, 1, 3);
    std::copy(background.begin(), background.end(), one.data());
    const Pixels colour =
        to_mode(std::move(one), static_cast<PixelMode>(pixels.channels()), background);
    const std::size_t channels = pixels.channels();
    for (std::size_t y = from_row; y < pixels.height(); ++y) {
        for (std::size_t x = 0; x < pixels.width(); ++x) {
            std::memcpy(pixels.row(y) + x * channels, colour.data(), channels);
        }
    }
}

// Whether some coefficients of a progressive picture were never sent to full precision.
bool is_coarse(const jpeg_decompress_struct& cinfo) {
    if (cinfo.progressive_mode == FALSE || cinfo.coef_bits == nullptr) {
        return false;
    }
    for (int component = 0; component < cinfo.num_components; ++component) {
        const int* bits = cinfo.coef_bits[component];
        if (std::any_of(bits, bits + DCTSIZE2, [](int left) { return left != 0; })) {
            return true;
        }
    }
    return false;
}

bool unusual_sampling(const JpegHeader& header) {
    const JpegComponent luma = header.components[0];
    const auto is_usual = [](int factor) { return factor == 1 || factor == 2 || factor == 4; };
    if (header.component_count == 1) {
        return false;
    }
    const bool usual_chroma =
        header.components[1].horizontal == 1 && header.components[1].vertical == 1 &&
        header.components[2].horizontal == 1 && header.components[2].vertical == 1;
    const bool usual_key =
        header.component_count < 4 || (header.components[3].horizontal == luma.horizontal &&
                                       header.components[3].vertical == luma.vertical);
    return !usual_chroma || !usual_key || !is_usual(luma.horizontal) || !is_usual(luma.vertical) ||
           luma.horizontal * luma.vertical > 4;
}

// What takes the rows of a picture that is to be resized; null if they must all be there first.
std::unique_ptr<RowResizer> resizer_for(const jpeg_decompress_struct& cinfo,
                                        const DecodeOptions& options) {
    const bool is_plain =
        cinfo.out_color_space == JCS_RGB || cinfo.out_color_space == JCS_GRAYSCALE;
    if (options.resize == nullptr || options.partial || !is_plain) {
        return nullptr;
    }
    ResizeTask task = *options.resize;
    task.box = scaled_box(task.box, cinfo.scale_denom, cinfo.output_width, cinfo.output_height);
    if (!RowResizer::suits(cinfo.output_width, cinfo.output_height, task)) {
        return nullptr;
    }
    return std::make_unique<RowResizer>(cinfo.output_width, cinfo.output_height,
                                        channels_of(cinfo.out_color_space), task);
}

// The rows that came out whole, of the picture that `session` was to give.
std::size_t whole_rows(const JpegSession& session, std::size_t height, int denominator) {
    if (session.lost_row == JpegSession::kNoLoss) {
        return height;
    }
    return std::min(height, session.lost_row / static_cast<std::size_t>(denominator));
}

struct Attempt {
    Pixels pixels;
    std::size_t rows_read = 0;
    bool started = false;     // pixels are there
    std::size_t ended_at = 0; // where libjpeg gave up, if it did
};

// Decodes what libjpeg makes of the bytes. Throws what a strict run must throw.
Attempt attempt(ByteView bytes, const JpegHeader& header, const DecodeOptions& options,
                DecodeReport& report) {
    JpegSession session(bytes, options.limits, !options.partial);
    Attempt result;
    if (!session.run(read_header)) {
        session.throw_failure();
    }
    jpeg_decompress_struct& cinfo = session.cinfo;
    check_limits(cinfo.image_width, cinfo.image_height, options.limits);
    cinfo.out_color_space = colours_for(cinfo, options.mode);
    cinfo.scale_num = 1;
    cinfo.scale_denom = static_cast<unsigned>(denominator_for(header, options));
    const bool is_cmyk = cinfo.out_color_space == JCS_CMYK;
    const bool multiple_scans = jpeg_has_multiple_scans(&cinfo) != FALSE;
    session.stop_at_lost_row = options.partial && !multiple_scans;
    bool done = session.run(start);
    if (done) {
        const std::unique_ptr<RowResizer> resizer = resizer_for(cinfo, options);
        std::unique_ptr<std::uint8_t[]> scratch;
        if (resizer != nullptr) {
            session.resizer = resizer.get();
            done = session.run(read_resized_rows);
        } else {
            result.pixels = Pixels::uninitialized(cinfo.output_width, cinfo.output_height,
                                                  channels_of(cinfo.out_color_space));
            session.target = result.pixels.data();
            if (is_cmyk) {
                scratch = std::make_unique<std::uint8_t[]>(std::size_t{cinfo.output_width} * 4);
                session.scratch = scratch.get();
            }
            done = session.run(is_cmyk ? read_cmyk_rows : read_rows);
        }
        if (done && resizer != nullptr) {
            result.pixels = resizer->finish();
            report.resized = true;
        }
        result.started = true;
        result.rows_read = std::min<std::size_t>(
            cinfo.output_scanline,
            whole_rows(session, cinfo.output_height, static_cast<int>(cinfo.scale_denom)));
        const bool coarse = done && is_coarse(cinfo);
        if (done && multiple_scans && !session.all_components_seen()) {
            constexpr const char* kText = "JPEG: the scans of a component are missing";
            if (!options.partial) {
                throw ImageDamagedError(kText);
            }
            session.damaged = true;
            report.damage.emplace_back(kText);
        }
        if (done && !lost_here(session)) {
            done = session.run(finish);
        }
        if (coarse) {
            report.warnings.emplace_back("the progressive picture ends before its last refinement");
        }
    }
    report.scale_denominator = static_cast<int>(cinfo.scale_denom);
    result.ended_at = session.offset();
    const bool may_continue = options.partial && session.failure == JpegFailure::kDamaged;
    if (!done && !may_continue) {
        session.throw_failure();
    }
    report.damaged = report.damaged || session.damaged || !done;
    session.report(report.damage, report.warnings);
    return result;
}

// What can be had of a damaged picture; if its header is all there is, a picture without rows.
Attempt salvage(ByteView bytes, const JpegHeader& header, const DecodeOptions& options,
                DecodeReport& report) {
    try {
        Attempt result = attempt(bytes, header, options, report);
        if (!result.started) {
            // libjpeg gave up between the scans of a picture that has several. What comes before
            // the marker it choked on is the picture as far as it is known.
            const std::size_t end = last_marker_before(bytes, result.ended_at);
            result = attempt({bytes.data, std::max<std::size_t>(end, 2)}, header, options, report);
        }
        if (result.started) {
            return result;
        }
    } catch (const ImageDamagedError& error) {
        report.damage.emplace_back(error.what());
    }
    report.damaged = true;
    report.scale_denominator = 1;
    Attempt blank;
    blank.pixels =
        Pixels::uninitialized(header.width, header.height, static_cast<std::size_t>(options.mode));
    return blank;
}

} // namespace

bool sniff_jpeg(ByteView bytes) {
    return bytes.size >= 3 && bytes.data[0] == 0xFF && bytes.data[1] == kSoi &&
           bytes.data[2] == 0xFF;
}

ImageInfo probe_jpeg(ByteView bytes, const DecodeLimits& limits) {
    const JpegHeader header = read_jpeg_header(bytes);
    check_limits(header.width, header.height, limits);
    ImageInfo info = info_of(header);
    info.damaged = !has_jpeg_end(bytes);
    return info;
}

Pixels decode_jpeg(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    const JpegHeader header = read_jpeg_header(bytes);
    check_limits(header.width, header.height, options.limits);
    check_scans(bytes, header, options.limits);
    if (!options.partial) {
        check_plausible(bytes, header);
    }
    report.info = info_of(header);
    static const std::string codec = jpeg_codec_name();
    report.codec = codec;
    if (unusual_sampling(header)) {
        report.warnings.emplace_back("sampling factors that few decoders read");
    }
    if (header.broken_profile) {
        report.warnings.emplace_back("the colour profile is incomplete (profiles are not applied)");
    }
    const ByteView data = without_blank_tail(bytes);
    Attempt result = options.partial ? salvage(data, header, options, report)
                                     : attempt(data, header, options, report);
    if (!report.resized) {
        paint(result.pixels, result.rows_read, options.background);
    }
    report.rows_read = result.rows_read;
    return std::move(result.pixels);
}

} // namespace framejudge
