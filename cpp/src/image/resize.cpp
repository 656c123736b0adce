// Two passes over a picture; see NOTE [resize].
#include "framejudge/resize.hpp"

#include "frame_kernels.hpp"
#include "framejudge/errors.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace framejudge {
namespace {

// Of a result: more than any picture that may be decoded has.
constexpr std::size_t kMaxSide = std::size_t{1} << 24U;
constexpr std::size_t kMaxSamples = std::size_t{1} << 30U;

using HorizontalFn = void (*)(const RowGroup&, const Weights&);

HorizontalFn horizontal_of(std::size_t channels) {
    const FrameKernels& kernels = active_frame_kernels();
    return channels == 1   ? kernels.horizontal1
           : channels == 3 ? kernels.horizontal3
                           : kernels.horizontal4;
}

// Groups of weights that a horizontal kernel may read beyond a window.
std::size_t group_of(std::size_t channels) { return channels == 1 ? 16 : 4; }

// Four rows with bytes behind each that may be read.
class PaddedRows {
public:
    explicit PaddedRows(std::size_t size) : stride_(size + kRowPadding), bytes_(4 * stride_) {}
    std::uint8_t* row(std::size_t r) { return bytes_.data() + r * stride_; }

private:
    std::size_t stride_;
    std::vector<std::uint8_t> bytes_;
};

// Fills the places of rows that there are not: a kernel always works on four.
void complete(RowGroup& group, std::size_t rows, PaddedRows& unwanted) {
    for (std::size_t r = rows; r < kRowsAtOnce; ++r) {
        group.in[r] = group.in[0];
        group.out[r] = unwanted.row(r);
    }
}

// Whether bytes behind row `y` belong to the picture too.
bool may_read_behind(const PixelView& view, std::size_t y) {
    return view.stride == view.width * view.channels &&
           (view.height - 1 - y) * view.stride >= kRowPadding;
}

void filter_rows(const PixelView& source, const Weights& weights, std::uint8_t* out) {
    const std::size_t in_size = source.width * source.channels;
    const std::size_t out_size = weights.count * source.channels;
    const HorizontalFn horizontal = horizontal_of(source.channels);
    PaddedRows copies(in_size);
    PaddedRows unwanted(out_size);
    for (std::size_t y = 0; y < source.height; y += kRowsAtOnce) {
        const std::size_t rows = std::min(kRowsAtOnce, source.height - y);
        RowGroup group{};
        for (std::size_t r = 0; r < rows; ++r) {
            group.in[r] = source.data + (y + r) * source.stride;
            if (!may_read_behind(source, y + r)) {
                std::memcpy(copies.row(r), group.in[r], in_size);
                group.in[r] = copies.row(r);
            }
            group.out[r] = out + (y + r) * out_size;
        }
        complete(group, rows, unwanted);
        horizontal(group, weights);
    }
}

void filter_column(const PixelView& source, const Weights& weights, std::size_t index,
                   std::uint8_t* out) {
    active_frame_kernels().vertical(source.data + weights.first[index] * source.stride,
                                    source.stride, weights, index, source.width * source.channels,
                                    out);
}

void filter_columns(const PixelView& source, const Weights& weights, std::uint8_t* out) {
    for (std::size_t y = 0; y < weights.count; ++y) {
        filter_column(source, weights, y, out + y * source.width * source.channels);
    }
}

// Columns first, four rows at a time: what lies between the passes stays in the cache.
void filter_columns_then_rows(const PixelView& source, const Weights& columns, const Weights& rows,
                              std::uint8_t* out) {
    const std::size_t out_size = rows.count * source.channels;
    const HorizontalFn horizontal = horizontal_of(source.channels);
    PaddedRows between(source.width * source.channels);
    PaddedRows unwanted(out_size);
    for (std::size_t y = 0; y < columns.count; y += kRowsAtOnce) {
        const std::size_t made = std::min(kRowsAtOnce, columns.count - y);
        RowGroup group{};
        for (std::size_t r = 0; r < made; ++r) {
            filter_column(source, columns, y + r, between.row(r));
            group.in[r] = between.row(r);
            group.out[r] = out + (y + r) * out_size;
        }
        complete(group, made, unwanted);
        horizontal(group, rows);
    }
}

// Rows `first` to `last` of a picture.
PixelView rows_of(const PixelView& view, std::size_t first, std::size_t last) {
    return {view.data + first * view.stride, view.width, last - first, view.channels, view.stride};
}

void filter_rows_then_columns(const PixelView& source, const Weights& rows, Weights columns,
                              std::uint8_t* out) {
    // Only the rows that the second pass reads.
    const std::size_t first = columns.first.front();
    const std::size_t last = columns.first.back() + columns.used.back();
    for (std::uint32_t& row : columns.first) {
        row -= static_cast<std::uint32_t>(first);
    }
    Pixels between = Pixels::uninitialized(rows.count, last - first, source.channels);
    filter_rows(rows_of(source, first, last), rows, between.data());
    filter_columns(between.view(), columns, out);
}

struct Axis {
    std::size_t size;
    double begin;
    double end;
    std::size_t count;

    [[nodiscard]] bool changes() const {
        return begin != 0.0 || end != static_cast<double>(size) || count != size;
    }
};

Pixels resize_opaque(const PixelView& source, const Axis& x, const Axis& y, Filter filter) {
    Pixels out = Pixels::uninitialized(x.count, y.count, source.channels);
    const auto weights = [&](const Axis& axis, std::size_t group) {
        return make_weights(axis.size, axis.begin, axis.end, axis.count, filter, group);
    };
    if (!x.changes() && !y.changes()) {
        for (std::size_t row = 0; row < out.height(); ++row) {
            std::memcpy(out.row(row), source.data + row * source.stride, out.stride());
        }
    } else if (!y.changes()) {
        filter_rows(source, weights(x, group_of(source.channels)), out.data());
    } else if (!x.changes()) {
        filter_columns(source, weights(y, 2), out.data());
    } else {
        const double lost_rows = static_cast<double>(y.size) - static_cast<double>(y.count);
        const double lost_columns = static_cast<double>(x.size) - static_cast<double>(x.count);
        const Weights rows = weights(x, group_of(source.channels));
        if (lost_rows > 0.0 && lost_rows > 2.0 * lost_columns) {
            filter_columns_then_rows(source, weights(y, 2), rows, out.data());
        } else {
            filter_rows_then_columns(source, rows, weights(y, 2), out.data());
        }
    }
    return out;
}

std::uint8_t clip(unsigned value) { return static_cast<std::uint8_t>(std::min(value, 255U)); }

Pixels weighted_by_alpha(const PixelView& source) {
    Pixels out = Pixels::uninitialized(source.width, source.height, 4);
    for (std::size_t y = 0; y < source.height; ++y) {
        const std::uint8_t* from = source.data + y * source.stride;
        std::uint8_t* to = out.row(y);
        for (std::size_t i = 0; i < 4 * source.width; i += 4) {
            const unsigned alpha = from[i + 3];
            for (std::size_t channel = 0; channel < 3; ++channel) {
                const unsigned product = from[i + channel] * alpha + 128U; // rounded over 255
                to[i + channel] = static_cast<std::uint8_t>(((product >> 8U) + product) >> 8U);
            }
            to[i + 3] = static_cast<std::uint8_t>(alpha);
        }
    }
    return out;
}

void divide_by_alpha(Pixels& pixels) {
    std::uint8_t* data = pixels.data();
    for (std::size_t i = 0; i < pixels.size(); i += 4) {
        const unsigned alpha = data[i + 3];
        if (alpha != 0 && alpha != 255) {
            for (std::size_t channel = 0; channel < 3; ++channel) {
                data[i + channel] = clip(255U * data[i + channel] / alpha);
            }
        }
    }
}

std::string text_of(std::size_t width, std::size_t height) {
    return std::to_string(width) + " x " + std::to_string(height);
}

void check(const PixelView& source, const Box& box, std::size_t width, std::size_t height) {
    if (source.width == 0 || source.height == 0) {
        throw InvalidInput("a picture of " + text_of(source.width, source.height) +
                           " pixels can't be resized");
    }
    if (width == 0 || height == 0 || width > kMaxSide || height > kMaxSide ||
        width * height > kMaxSamples / source.channels) {
        throw InvalidInput("a size must have sides from 1 to " + std::to_string(kMaxSide) +
                           " and at most " + std::to_string(kMaxSamples) + " samples, got " +
                           text_of(width, height));
    }
    const bool is_inside = box.left >= 0.0 && box.top >= 0.0 && box.left < box.right &&
                           box.top < box.bottom && box.right <= static_cast<double>(source.width) &&
                           box.bottom <= static_cast<double>(source.height);
    if (!is_inside) {
        throw InvalidInput("the box (" + std::to_string(box.left) + ", " + std::to_string(box.top) +
                           ", " + std::to_string(box.right) + ", " + std::to_string(box.bottom) +
                           ") is empty or not inside " + text_of(source.width, source.height));
    }
}

} // namespace

Filter parse_filter(std::string_view name) {
    if (name == "area") {
        return Filter::kArea;
    }
    if (name == "bilinear") {
        return Filter::kBilinear;
    }
    if (name == "bicubic") {
        return Filter::kBicubic;
    }
    if (name == "lanczos") {
        return Filter::kLanczos;
    }
    throw InvalidInput("filter must be area, bilinear, bicubic or lanczos, got '" +
                       std::string(name) + "'");
}

Pixels resize(const PixelView& source, const Box& box, std::size_t width, std::size_t height,
              Filter filter) {
    check(source, box, width, height);
    const Axis x{source.width, box.left, box.right, width};
    const Axis y{source.height, box.top, box.bottom, height};
    if (source.channels == 4 && (x.changes() || y.changes())) {
        const Pixels weighted = weighted_by_alpha(source);
        Pixels out = resize_opaque(weighted.view(), x, y, filter);
        divide_by_alpha(out);
        return out;
    }
    return resize_opaque(source, x, y, filter);
}

Pixels resize(const PixelView& source, std::size_t width, std::size_t height, Filter filter) {
    const Box whole{0.0, 0.0, static_cast<double>(source.width),
                    static_cast<double>(source.height)};
    return resize(source, whole, width, height, filter);
}

} // namespace framejudge
