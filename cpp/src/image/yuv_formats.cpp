// The layouts of planes that are read, and their coefficients.
#include "framejudge/yuv.hpp"

#include "yuv_coefficients.hpp"

#include <cmath>
#include <string>

namespace framejudge {
namespace {

// Weights of red and blue in luma: ITU-R BT.601-7 2.5.1, BT.709-6 3.2, BT.2020-2 table 4.
struct LumaWeights {
    double red;
    double blue;
};

LumaWeights luma_weights(YuvMatrix matrix) {
    switch (matrix) {
    case YuvMatrix::kBt601:
        return {0.299, 0.114};
    case YuvMatrix::kBt2020:
        return {0.2627, 0.0593};
    case YuvMatrix::kBt709:
        break;
    }
    return {0.2126, 0.0722};
}

std::int16_t fixed(double value) { return static_cast<std::int16_t>(std::lround(value)); }

} // namespace

YuvCoefficients yuv_coefficients(YuvMatrix matrix, bool is_full_range, int bits) {
    // Steps of an 8-bit sample that the range takes; the full range of more bits ends elsewhere.
    const double full = (std::ldexp(1.0, bits) - 1.0) / std::ldexp(1.0, bits - 8);
    const double luma = is_full_range ? 255.0 / full : 255.0 / 219.0;
    const double chroma = is_full_range ? 255.0 / full : 255.0 / 224.0;
    const auto [red, blue] = luma_weights(matrix);
    const double green = 1.0 - red - blue;
    const auto factor = [&](double value) { return fixed(value * chroma * 8192.0); };
    return {fixed(is_full_range ? 0.0 : 16.0 * 64.0),
            fixed((luma - 1.0) * 32768.0),
            factor(2.0 * (1.0 - red)),
            factor(-2.0 * (1.0 - blue) * blue / green),
            factor(-2.0 * (1.0 - red) * red / green),
            factor(2.0 * (1.0 - blue))};
}

YuvMatrix parse_yuv_matrix(std::string_view name) {
    if (name == "bt601") {
        return YuvMatrix::kBt601;
    }
    if (name == "bt709") {
        return YuvMatrix::kBt709;
    }
    if (name == "bt2020") {
        return YuvMatrix::kBt2020;
    }
    throw InvalidInput("matrix must be bt601, bt709 or bt2020, got '" + std::string(name) + "'");
}

const std::vector<YuvFormat>& yuv_formats() {
    static const std::vector<YuvFormat> formats = {
        {"gray", Chroma::kNone, 0, 0, 8, 0, true},
        {"gray10le", Chroma::kNone, 0, 0, 10, 0, true},
        {"gray12le", Chroma::kNone, 0, 0, 12, 0, true},
        {"nv12", Chroma::kUv, 1, 1, 8, 0, false},
        {"nv16", Chroma::kUv, 1, 0, 8, 0, false},
        {"nv21", Chroma::kVu, 1, 1, 8, 0, false},
        {"nv24", Chroma::kUv, 0, 0, 8, 0, false},
        {"p010le", Chroma::kUv, 1, 1, 10, 6, false},
        {"p012le", Chroma::kUv, 1, 1, 12, 4, false},
        {"p016le", Chroma::kUv, 1, 1, 16, 0, false},
        {"p210le", Chroma::kUv, 1, 0, 10, 6, false},
        {"yuv420p", Chroma::kPlanar, 1, 1, 8, 0, false},
        {"yuv420p10le", Chroma::kPlanar, 1, 1, 10, 0, false},
        {"yuv420p12le", Chroma::kPlanar, 1, 1, 12, 0, false},
        {"yuv422p", Chroma::kPlanar, 1, 0, 8, 0, false},
        {"yuv422p10le", Chroma::kPlanar, 1, 0, 10, 0, false},
        {"yuv422p12le", Chroma::kPlanar, 1, 0, 12, 0, false},
        {"yuv440p", Chroma::kPlanar, 0, 1, 8, 0, false},
        {"yuv444p", Chroma::kPlanar, 0, 0, 8, 0, false},
        {"yuv444p10le", Chroma::kPlanar, 0, 0, 10, 0, false},
        {"yuv444p12le", Chroma::kPlanar, 0, 0, 12, 0, false},
        {"yuvj420p", Chroma::kPlanar, 1, 1, 8, 0, true},
        {"yuvj422p", Chroma::kPlanar, 1, 0, 8, 0, true},
        {"yuvj440p", Chroma::kPlanar, 0, 1, 8, 0, true},
        {"yuvj444p", Chroma::kPlanar, 0, 0, 8, 0, true},
    };
    return formats;
}

const YuvFormat& yuv_format_named(std::string_view name) {
    std::string accepted;
    for (const YuvFormat& format : yuv_formats()) {
        if (format.name == name) {
            return format;
        }
        accepted += accepted.empty() ? "" : ", ";
        accepted += format.name;
    }
    throw InvalidInput("format must be one of " + accepted + ", got '" + std::string(name) + "'");
}

PlaneSize yuv_plane_size(const YuvFormat& format, std::size_t width, std::size_t height,
                         std::size_t plane) {
    if (plane == 0) {
        return {width * format.sample_bytes(), height};
    }
    const auto halved = [](std::size_t side, unsigned shift) {
        return shift == 0 ? side : side / 2 + side % 2;
    };
    const std::size_t in_pairs = format.chroma == Chroma::kPlanar ? 1 : 2;
    return {halved(width, format.shift_x) * format.sample_bytes() * in_pairs,
            halved(height, format.shift_y)};
}

int orientation_of_rotation(int degrees) {
    switch (degrees) {
    case 0:
        return 1;
    case 90:
        return 8;
    case 180:
        return 3;
    case 270:
        return 6;
    default:
        throw InvalidInput("rotation must be 0, 90, 180 or 270 degrees counter-clockwise, got " +
                           std::to_string(degrees));
    }
}

} // namespace framejudge
