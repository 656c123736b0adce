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

// Rows with bytes behind each that may be read. Their beginnings are aligned to eight bytes and no
// more: libjpeg-turbo writes past the cache to what is aligned to a vector, and these are read
// soon.
class PaddedRows {
public:
    explicit PaddedRows(std::size_t size, std::size_t count = kRowsAtOnce)
        : stride_((size + kRowPadding + 63) / 64 * 64), bytes_(count * stride_ + 64) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
        begin_ = (64 - address % 64) % 64 + 8;
    }
    std::uint8_t* row(std::size_t r) { return bytes_.data() + begin_ + r * stride_; }

private:
    std::size_t stride_;
    std::vector<std::uint8_t> bytes_;
    std::size_t begin_ = 0;
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

struct RowRange {
    std::size_t first;
    std::size_t last;
};

// The rows that the second pass reads; `columns` count from the first of them afterwards.
RowRange cut_to_used(Weights& columns) {
    const RowRange range{columns.first.front(), columns.first.back() + columns.used.back()};
    for (std::uint32_t& row : columns.first) {
        row -= static_cast<std::uint32_t>(range.first);
    }
    return range;
}

void filter_rows_then_columns(const PixelView& source, const Weights& rows, Weights columns,
                              std::uint8_t* out) {
    const auto [first, last] = cut_to_used(columns);
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

Weights weights_of(const Axis& axis, Filter filter, std::size_t group) {
    return make_weights(axis.size, axis.begin, axis.end, axis.count, filter, group);
}

bool columns_come_first(const Axis& x, const Axis& y) {
    const double lost_rows = static_cast<double>(y.size) - static_cast<double>(y.count);
    const double lost_columns = static_cast<double>(x.size) - static_cast<double>(x.count);
    return lost_rows > 0.0 && lost_rows > 2.0 * lost_columns;
}

Pixels resize_opaque(const PixelView& source, const Axis& x, const Axis& y, Filter filter) {
    Pixels out = Pixels::uninitialized(x.count, y.count, source.channels);
    if (!x.changes() && !y.changes()) {
        for (std::size_t row = 0; row < out.height(); ++row) {
            std::memcpy(out.row(row), source.data + row * source.stride, out.stride());
        }
    } else if (!y.changes()) {
        filter_rows(source, weights_of(x, filter, group_of(source.channels)), out.data());
    } else if (!x.changes()) {
        filter_columns(source, weights_of(y, filter, 2), out.data());
    } else {
        const Weights rows = weights_of(x, filter, group_of(source.channels));
        if (columns_come_first(x, y)) {
            filter_columns_then_rows(source, weights_of(y, filter, 2), rows, out.data());
        } else {
            filter_rows_then_columns(source, rows, weights_of(y, filter, 2), out.data());
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

struct RowResizer::State {
    // A multiple of what a kernel takes. Few enough to stay in the second cache; many, as turning
    // from libjpeg's instructions to registers of 64 bytes and back stops the core for a while.
    static constexpr std::size_t kBuffered = 16 * kRowsAtOnce;

    State(std::size_t width, std::size_t rows_in, std::size_t channels, const ResizeTask& task)
        : rows(weights_of({width, task.box.left, task.box.right, task.width}, task.filter,
                          group_of(channels))),
          columns(
              weights_of({rows_in, task.box.top, task.box.bottom, task.height}, task.filter, 2)),
          used(cut_to_used(columns)), height(rows_in),
          between(Pixels::uninitialized(task.width, used.last - used.first, channels)),
          buffer(width * channels, kBuffered), unwanted(task.width * channels),
          horizontal(horizontal_of(channels)) {}

    Weights rows;
    Weights columns;
    RowRange used;
    std::size_t height;
    Pixels between;
    PaddedRows buffer;
    PaddedRows unwanted;
    HorizontalFn horizontal;
    std::size_t begin = 0; // the picture's row that the buffer starts with
    std::size_t filled = 0;
};

bool RowResizer::suits(std::size_t width, std::size_t height, const ResizeTask& task) {
    const Axis x{width, task.box.left, task.box.right, task.width};
    const Axis y{height, task.box.top, task.box.bottom, task.height};
    return x.changes() && y.changes() && !columns_come_first(x, y);
}

RowResizer::RowResizer(std::size_t width, std::size_t height, std::size_t channels,
                       const ResizeTask& task) {
    check({nullptr, width, height, channels, width * channels}, task.box, task.width, task.height);
    state_ = std::make_unique<State>(width, height, channels, task);
}

RowResizer::~RowResizer() = default;

std::size_t RowResizer::room() const { return State::kBuffered - state_->filled; }

std::uint8_t* RowResizer::row(std::size_t ahead) const {
    return state_->buffer.row(state_->filled + ahead);
}

void RowResizer::take(std::size_t count) noexcept {
    State& state = *state_;
    state.filled += count;
    if (state.filled < State::kBuffered && state.begin + state.filled < state.height) {
        return;
    }
    for (std::size_t y = 0; y < state.filled; y += kRowsAtOnce) {
        RowGroup group{};
        bool is_used = false;
        for (std::size_t r = 0; r < kRowsAtOnce; ++r) {
            const std::size_t row = state.begin + y + r;
            const bool is_wanted =
                y + r < state.filled && row >= state.used.first && row < state.used.last;
            group.in[r] = state.buffer.row(y + r);
            group.out[r] =
                is_wanted ? state.between.row(row - state.used.first) : state.unwanted.row(r);
            is_used = is_used || is_wanted;
        }
        if (is_used) {
            state.horizontal(group, state.rows);
        }
    }
    state.begin += state.filled;
    state.filled = 0;
}

Pixels RowResizer::finish() const {
    const State& state = *state_;
    Pixels out =
        Pixels::uninitialized(state.between.width(), state.columns.count, state.between.channels());
    filter_columns(state.between.view(), state.columns, out.data());
    return out;
}

} // namespace framejudge
