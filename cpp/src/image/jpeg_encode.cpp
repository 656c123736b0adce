// Pixels to JPEG, through libjpeg-turbo.
#include "framejudge/encode.hpp"

#include "framejudge/errors.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include <jpeglib.h>

namespace framejudge {
namespace {

constexpr std::size_t kLongestSide = 65500; // libjpeg's

// As in NOTE [libjpeg]: the state outlives the frame that calls setjmp().
class Encoder {
public:
    Encoder(const PixelView& pixels, int quality) : pixels_(pixels), quality_(quality) {
        cinfo_ = {};
        cinfo_.err = jpeg_std_error(&errors_);
        cinfo_.client_data = this;
        errors_.error_exit = [](j_common_ptr cinfo) {
            // NOLINTNEXTLINE(modernize-avoid-setjmp-longjmp): libjpeg is C
            std::longjmp(static_cast<Encoder*>(cinfo->client_data)->jump_, 1);
        };
        errors_.output_message = [](j_common_ptr) {};
    }
    ~Encoder() {
        jpeg_destroy_compress(&cinfo_);
        std::free(memory_);
    }
    Encoder(const Encoder&) = delete;
    Encoder& operator=(const Encoder&) = delete;
    Encoder(Encoder&&) = delete;
    Encoder& operator=(Encoder&&) = delete;

    std::vector<std::uint8_t> encode() {
        if (!run()) {
            char text[JMSG_LENGTH_MAX];
            errors_.format_message(reinterpret_cast<j_common_ptr>(&cinfo_), text);
            throw ImageError(std::string("JPEG: ") + text);
        }
        return {memory_, memory_ + size_};
    }

private:
    bool run() {
        if (setjmp(jump_) != 0) { // NOLINT(modernize-avoid-setjmp-longjmp): see above
            return false;
        }
        compress();
        return true;
    }

    void compress() {
        jpeg_create_compress(&cinfo_);
        jpeg_mem_dest(&cinfo_, &memory_, &size_);
        cinfo_.image_width = static_cast<JDIMENSION>(pixels_.width);
        cinfo_.image_height = static_cast<JDIMENSION>(pixels_.height);
        cinfo_.input_components = static_cast<int>(pixels_.channels);
        cinfo_.in_color_space = pixels_.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
        jpeg_set_defaults(&cinfo_);
        jpeg_set_quality(&cinfo_, quality_, TRUE);
        jpeg_start_compress(&cinfo_, TRUE);
        while (cinfo_.next_scanline < cinfo_.image_height) {
            // libjpeg's interface isn't const-correct; it doesn't write to the row.
            auto* row = const_cast<JSAMPROW>(pixels_.data + cinfo_.next_scanline * pixels_.stride);
            jpeg_write_scanlines(&cinfo_, &row, 1);
        }
        jpeg_finish_compress(&cinfo_);
    }

    jpeg_compress_struct cinfo_;
    jpeg_error_mgr errors_;
    std::jmp_buf jump_;
    PixelView pixels_;
    int quality_;
    unsigned char* memory_ = nullptr;
    unsigned long size_ = 0;
};

} // namespace

std::vector<std::uint8_t> encode_jpeg(const PixelView& pixels, int quality) {
    if (quality < 1 || quality > 100) {
        throw InvalidInput("quality must be 1 to 100, got " + std::to_string(quality));
    }
    if (pixels.channels != 1 && pixels.channels != 3) {
        throw InvalidInput("JPEG holds 1 or 3 channels, got " + std::to_string(pixels.channels));
    }
    if (pixels.width == 0 || pixels.height == 0 || pixels.width > kLongestSide ||
        pixels.height > kLongestSide) {
        throw InvalidInput("JPEG holds 1 to " + std::to_string(kLongestSide) +
                           " pixels a side, got " + std::to_string(pixels.width) + " x " +
                           std::to_string(pixels.height));
    }
    return Encoder(pixels, quality).encode();
}

} // namespace framejudge
