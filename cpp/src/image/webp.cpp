// Decodes WebP by libwebp: stills, and the first frame of animations on the full canvas.
#include "codecs.hpp"
#include "samples.hpp"
#include "webp_container.hpp"

#include "framejudge/codec_info.hpp"
#include "framejudge/errors.hpp"

#ifdef FRAMEJUDGE_HAVE_WEBP
#include <webp/decode.h>
#endif

#include <algorithm>
#include <memory>
#include <utility>

namespace framejudge {

bool sniff_webp(ByteView bytes) { return has_webp_signature(bytes); }

#ifdef FRAMEJUDGE_HAVE_WEBP

namespace {

struct DeleteDecoder {
    void operator()(WebPIDecoder* decoder) const { WebPIDelete(decoder); }
};

const char* name_of(VP8StatusCode status) {
    switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR:
        return "the bit stream is broken";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return "an unsupported feature";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return "the data end too early";
    default:
        return "libwebp refused the parameters";
    }
}

struct WebpPicture {
    WebpContainer container;
    std::size_t frame_width = 0;
    std::size_t frame_height = 0;
    ImageInfo info; // of the canvas, as stored

    [[nodiscard]] std::string place() const {
        return "WebP: the picture at byte " + std::to_string(container.image_offset);
    }
};

WebpPicture read_header(ByteView bytes, const DecodeLimits& limits) {
    WebpPicture picture;
    picture.container = read_webp_container(bytes);
    const WebpContainer& container = picture.container;
    WebPBitstreamFeatures features;
    const VP8StatusCode status =
        WebPGetFeatures(container.image.data, container.image.size, &features);
    if (status != VP8_STATUS_OK) {
        throw ImageDamagedError(picture.place() + ": " + name_of(status));
    }
    picture.frame_width = static_cast<std::size_t>(features.width);
    picture.frame_height = static_cast<std::size_t>(features.height);
    ImageInfo& info = picture.info;
    info.format = ImageFormat::kWebp;
    info.width = container.has_canvas ? container.canvas_width : picture.frame_width;
    info.height = container.has_canvas ? container.canvas_height : picture.frame_height;
    info.has_alpha = container.has_alpha || features.has_alpha != 0;
    info.channels = info.has_alpha ? 4 : 3;
    info.orientation = container.orientation;
    info.animated = container.is_animated;
    check_limits(info.width, info.height, limits);
    const bool fits = container.frame_x + picture.frame_width <= info.width &&
                      container.frame_y + picture.frame_height <= info.height;
    const bool fills = picture.frame_width == info.width && picture.frame_height == info.height;
    if (!fits || (!container.is_animated && !fills)) {
        throw ImageDamagedError(picture.place() + ": " + std::to_string(picture.frame_width) +
                                " x " + std::to_string(picture.frame_height) +
                                " pixels do not fit the canvas of " + std::to_string(info.width) +
                                " x " + std::to_string(info.height));
    }
    return picture;
}

// Where the frame lies in `pixels`, which has 3 or 4 channels.
void set_output(WebPDecBuffer& output, const WebpPicture& picture, Pixels& pixels) {
    const WebpContainer& container = picture.container;
    const std::size_t stride = pixels.stride();
    output.colorspace = pixels.channels() == 4 ? MODE_RGBA : MODE_RGB;
    output.width = static_cast<int>(picture.frame_width);
    output.height = static_cast<int>(picture.frame_height);
    output.is_external_memory = 1;
    output.u.RGBA.rgba = pixels.row(container.frame_y) + container.frame_x * pixels.channels();
    output.u.RGBA.stride = static_cast<int>(stride);
    output.u.RGBA.size =
        (picture.frame_height - 1) * stride + picture.frame_width * pixels.channels();
}

// Decodes the frame to where `output` lies. libwebp can't be asked to stop, so a long stream is
// handed over in pieces, with a look at the clock between two.
VP8StatusCode decode_frame(ByteView image, const Deadline& deadline, WebPDecoderConfig& config) {
    constexpr std::size_t kPiece = std::size_t{64} << 10U;
    if (image.size <= kPiece) {
        return WebPDecode(image.data, image.size, &config);
    }
    const std::unique_ptr<WebPIDecoder, DeleteDecoder> decoder(WebPINewDecoder(&config.output));
    if (!decoder) {
        throw std::bad_alloc();
    }
    VP8StatusCode status = VP8_STATUS_SUSPENDED;
    for (std::size_t end = kPiece; status == VP8_STATUS_SUSPENDED; end += kPiece) {
        deadline.check("WebP");
        status = WebPIUpdate(decoder.get(), image.data, std::min(end, image.size));
        if (end >= image.size) {
            break;
        }
    }
    return status;
}

// The frame's whole rows that a damaged stream yields.
std::size_t decode_rows(const WebpPicture& picture, Pixels& pixels) {
    WebPDecBuffer output;
    if (WebPInitDecBuffer(&output) == 0) {
        throw ImageUnsupportedError("WebP: libwebp's headers and its library differ in version");
    }
    set_output(output, picture, pixels);
    const std::unique_ptr<WebPIDecoder, DeleteDecoder> decoder(WebPINewDecoder(&output));
    if (!decoder) {
        throw std::bad_alloc();
    }
    const ByteView image = picture.container.image;
    WebPIUpdate(decoder.get(), image.data, image.size); // what it says is known already
    int rows = 0;
    const bool has_rows =
        WebPIDecGetRGB(decoder.get(), &rows, nullptr, nullptr, nullptr) != nullptr;
    return has_rows && rows > 0 ? static_cast<std::size_t>(rows) : 0;
}

void decode_partial(const WebpPicture& picture, const DecodeOptions& options, Pixels& pixels,
                    DecodeReport& report, const std::string& damage) {
    report.damaged = true;
    report.damage.push_back(damage);
    const std::size_t rows = decode_rows(picture, pixels);
    report.rows_read = picture.container.frame_y + rows;
    DecodeOptions as_decoded = options;
    as_decoded.mode = static_cast<PixelMode>(pixels.channels());
    fill_background(pixels, report.rows_read, as_decoded);
}

} // namespace

ImageInfo probe_webp(ByteView bytes, const DecodeLimits& limits) {
    const WebpPicture picture = read_header(bytes, limits);
    ImageInfo info = picture.info;
    info.damaged = !picture.container.damage.empty();
    return info;
}

Pixels decode_webp(ByteView bytes, const DecodeOptions& options, DecodeReport& report) {
    const WebpPicture picture = read_header(bytes, options.limits);
    report.info = picture.info;
    report.warnings = picture.container.warnings;
    report.codec = webp_codec_name();
    // Outside the first frame of an animation the canvas is transparent black. See NOTE [alpha].
    Pixels pixels(picture.info.width, picture.info.height,
                  options.mode == PixelMode::kRgba ? 4 : 3);
    WebPDecoderConfig config;
    if (WebPInitDecoderConfig(&config) == 0) {
        throw ImageUnsupportedError("WebP: libwebp's headers and its library differ in version");
    }
    set_output(config.output, picture, pixels);
    const Deadline deadline(options.limits.time_budget_s);
    const VP8StatusCode status = decode_frame(picture.container.image, deadline, config);
    if (status == VP8_STATUS_OUT_OF_MEMORY) {
        throw std::bad_alloc();
    }
    std::string damage = picture.container.damage;
    if (status != VP8_STATUS_OK && damage.empty()) {
        damage = picture.place() + ": " + name_of(status);
    }
    if (damage.empty()) {
        report.rows_read = picture.info.height;
    } else if (options.partial) {
        decode_partial(picture, options, pixels, report, damage);
    } else {
        throw ImageDamagedError(damage);
    }
    return pixels;
}

#else

namespace {

[[noreturn]] void refuse() {
    throw ImageUnsupportedError("WebP: this framejudge was built without WebP; install "
                                "libwebp-dev and build it again");
}

} // namespace

ImageInfo probe_webp(ByteView /*bytes*/, const DecodeLimits& /*limits*/) { refuse(); }

Pixels decode_webp(ByteView /*bytes*/, const DecodeOptions& /*options*/, DecodeReport& /*report*/) {
    refuse();
}

#endif

} // namespace framejudge
