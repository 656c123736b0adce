// Pictures as the numbers a network reads.
//
// NOTE [normalise]
// number = sample * (1 / (255 * std)) + (-mean / std), both constants rounded to float32 once, one
// fused multiply-add: every tier gives the same float32, and float16 is that number rounded.
#pragma once

#include "framejudge/image.hpp"
#include "framejudge/pixels.hpp"
#include "framejudge/resize.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>
#include <vector>

namespace framejudge {

enum class NumberType : std::uint8_t { kFloat32, kFloat16 };
enum class Layout : std::uint8_t { kPlanar, kInterleaved }; // (C, H, W) and (H, W, C)

std::size_t number_size(NumberType type);
// These throw InvalidInput: they accept "float32" and "float16", "NCHW" and "NHWC".
NumberType parse_number_type(std::string_view name);
Layout parse_layout(std::string_view name);

// In units of pixel / 255. A picture of one channel uses the first of each.
struct MeanStd {
    std::array<double, 3> mean;
    std::array<double, 3> std;
};

// One choice of mean, deviation and type, ready to be applied. Throws InvalidInput for what is not
// finite or a deviation that is not positive.
class Normalizer {
public:
    // `output_size` is that of all tensors to be written, in bytes: a big one is written past the
    // cache.
    Normalizer(const MeanStd& mean_std, NumberType type, std::size_t output_size);
    ~Normalizer();
    Normalizer(const Normalizer&) = delete;
    Normalizer& operator=(const Normalizer&) = delete;
    Normalizer(Normalizer&&) = delete;
    Normalizer& operator=(Normalizer&&) = delete;

    // Rows `first` to `last` of a picture of 1 or 3 channels, to their place in a tensor of it.
    void apply(const PixelView& source, std::size_t first, std::size_t last, Layout layout,
               void* tensor) const;

private:
    struct Constants;
    std::unique_ptr<Constants> constants_;
    NumberType type_;
};

// Pictures of the same width, height and channels (1 or 3), one tensor after the other. The pool
// shares the work. Throws InvalidInput.
void to_tensor(const std::vector<PixelView>& sources, const MeanStd& mean_std, NumberType type,
               Layout layout, void* out);

// How a picture of other proportions fills the size: stretched; cut off evenly at two sides; or
// whole, with bars at two sides.
enum class Fit : std::uint8_t { kStretch, kCrop, kPad };

Fit parse_fit(std::string_view name);

// Encoded bytes, or pixels where `bytes.data` is null.
struct TensorSource {
    ByteView bytes;
    PixelView pixels;
};

struct TensorOptions {
    std::size_t width;
    std::size_t height;
    Fit fit = Fit::kStretch;
    Filter filter = Filter::kBilinear;
    std::array<std::uint8_t, 3> pad_color = {0, 0, 0};
    MeanStd mean_std;
    NumberType type = NumberType::kFloat32;
    DecodeOptions decode; // mode and cover_* are decided here
};

struct TensorResult {
    DecodeReport report;
    std::exception_ptr error; // the item's numbers are NaN where there is one
};

// Decodes, resizes and normalises each source into out (N, 3, H, W). JPEGs are decoded at the
// smallest scale that is not below the size. Items share the pool, on at most `workers` threads.
std::vector<TensorResult> decode_to_tensor(const std::vector<TensorSource>& sources,
                                           const TensorOptions& options, std::size_t workers,
                                           void* out);

} // namespace framejudge
