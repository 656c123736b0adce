// What a codec offers to image.cpp, and what codecs share.
#pragma once

#include "framejudge/image.hpp"

#include <chrono>

namespace framejudge {

// One row of the table in image.cpp. `probe` and `decode` may trust that `sniff` said yes and that
// the bytes are within `max_bytes`; both call check_limits() before they allocate.
struct Codec {
    ImageFormat format;
    bool (*sniff)(ByteView bytes);
    // Size and channels as stored: orienting is image.cpp's.
    ImageInfo (*probe)(ByteView bytes, const DecodeLimits& limits);
    // Pixels as stored, in 1, 3 or 4 channels (4 is straight alpha): whatever is nearest to the
    // asked mode; image.cpp converts the rest. Fills `report`; its info is as `probe` gives it.
    Pixels (*decode)(ByteView bytes, const DecodeOptions& options, DecodeReport& report);
};

bool sniff_jpeg(ByteView bytes);
ImageInfo probe_jpeg(ByteView bytes, const DecodeLimits& limits);
Pixels decode_jpeg(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

bool sniff_png(ByteView bytes);
ImageInfo probe_png(ByteView bytes, const DecodeLimits& limits);
Pixels decode_png(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

bool sniff_webp(ByteView bytes);
ImageInfo probe_webp(ByteView bytes, const DecodeLimits& limits);
Pixels decode_webp(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

bool sniff_pnm(ByteView bytes);
ImageInfo probe_pnm(ByteView bytes, const DecodeLimits& limits);
Pixels decode_pnm(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

bool sniff_bmp(ByteView bytes);
ImageInfo probe_bmp(ByteView bytes, const DecodeLimits& limits);
Pixels decode_bmp(ByteView bytes, const DecodeOptions& options, DecodeReport& report);

// Throws ImageLimitError if so many pixels aren't allowed; 0 pixels are an ImageDamagedError.
void check_limits(std::size_t width, std::size_t height, const DecodeLimits& limits);

// The box of a ResizeTask in a picture that was decoded at 1 / `denominator`; what pads that to
// whole pixels is left out.
Box scaled_box(const Box& box, double denominator, std::size_t width, std::size_t height);

// A time budget from now on.
class Deadline {
public:
    explicit Deadline(double seconds);
    [[nodiscard]] bool passed() const;
    // Throws ImageLimitError if it has passed; `format` is named in the text.
    void check(const char* format) const;

private:
    std::chrono::steady_clock::time_point end_;
};

} // namespace framejudge
