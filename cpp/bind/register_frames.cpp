// Probing, decoding and encoding pictures.
#include "pybind.hpp"

#include "framejudge/decode_scaled.hpp"
#include "framejudge/encode.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/jpeg_stream.hpp"
#include "framejudge/thread_pool.hpp"
#include "pixel_arrays.hpp"

#include <exception>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace framejudge::bind {
namespace {

// Everything that decides how bytes become pixels; checked once, used for many calls.
struct Plan {
    DecodeOptions options;
    TargetSize target;
};

PixelMode mode_named(const std::string& name) {
    for (const auto& [mode, known] :
         {std::pair{PixelMode::kRgb, "rgb"}, std::pair{PixelMode::kGray, "gray"},
          std::pair{PixelMode::kRgba, "rgba"}}) {
        if (name == known) {
            return mode;
        }
    }
    throw InvalidInput("mode must be 'rgb', 'gray' or 'rgba', got '" + name + "'");
}

template <typename Number> std::size_t positive(Number value, const char* name) {
    if (value < 1) {
        throw InvalidInput(std::string(name) + " must be at least 1, got " + std::to_string(value));
    }
    return static_cast<std::size_t>(value);
}

DecodeLimits limits_of(py::ssize_t max_pixels, py::ssize_t max_bytes, int max_scans,
                       double time_budget_s) {
    DecodeLimits limits;
    limits.max_pixels = positive(max_pixels, "max_pixels");
    limits.max_bytes = positive(max_bytes, "max_bytes");
    limits.max_scans = static_cast<int>(positive(max_scans, "max_scans"));
    if (!(time_budget_s > 0 && time_budget_s <= 1e6)) {
        throw InvalidInput("time_budget_s must be above 0 and at most 1e6, got " +
                           std::to_string(time_budget_s));
    }
    limits.time_budget_s = time_budget_s;
    return limits;
}

Plan make_plan(const std::string& mode, bool orient, bool partial,
               const std::tuple<int, int, int>& background,
               const std::optional<std::pair<py::ssize_t, py::ssize_t>>& size,
               const std::optional<py::ssize_t>& max_side_px, const std::string& filter,
               const DecodeLimits& limits) {
    Plan plan;
    plan.options.mode = mode_named(mode);
    plan.options.orient = orient;
    plan.options.partial = partial;
    plan.options.limits = limits;
    const int colours[] = {std::get<0>(background), std::get<1>(background),
                           std::get<2>(background)};
    for (std::size_t i = 0; i < 3; ++i) {
        if (colours[i] < 0 || colours[i] > 255) {
            throw InvalidInput("background must be three numbers from 0 to 255, got " +
                               std::to_string(colours[i]));
        }
        plan.options.background[i] = static_cast<std::uint8_t>(colours[i]);
    }
    if (size && max_side_px) {
        throw InvalidInput("give size=(height, width) or max_side_px=, not both");
    }
    if (size) {
        plan.target.height = positive(size->first, "size's height");
        plan.target.width = positive(size->second, "size's width");
    }
    if (max_side_px) {
        plan.target.max_side = positive(*max_side_px, "max_side_px");
    }
    plan.target.filter = parse_filter(filter);
    return plan;
}

py::dict info_of(const ImageInfo& info) {
    py::dict result;
    result["format"] = format_name(info.format);
    result["width"] = info.width;
    result["height"] = info.height;
    result["channels"] = info.channels;
    result["bit_depth"] = info.bit_depth;
    result["orientation"] = info.orientation;
    result["animated"] = info.animated;
    result["has_alpha"] = info.has_alpha;
    result["progressive"] = info.progressive;
    result["damaged"] = info.damaged;
    return result;
}

py::tuple texts_of(const std::vector<std::string>& texts) {
    py::tuple result(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        result[i] = texts[i];
    }
    return result;
}

py::dict probe(py::handle data, const DecodeLimits& limits) {
    const OwnedBytes bytes = bytes_of(data, "data");
    ImageInfo info;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        info = probe_image(bytes.view, limits);
    }
    return info_of(info);
}

py::object decode(py::handle data, const Plan& plan, bool with_report) {
    const OwnedBytes bytes = bytes_of(data, "data");
    Pixels pixels;
    DecodeReport report;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        pixels = decode_scaled(bytes.view, plan.options, plan.target, report);
    }
    py::array array = array_of(std::move(pixels), false);
    if (!with_report) {
        return std::move(array);
    }
    return py::make_tuple(std::move(array), report_of(report));
}

struct Item {
    Pixels pixels;
    DecodeReport report;
    std::exception_ptr failure;
};

void decode_items(const std::vector<ByteView>& views, const Plan& plan, std::size_t threads,
                  std::vector<Item>& items) {
    parallel_for(
        views.size(),
        [&](std::size_t i, std::size_t /*worker*/) {
            try {
                items[i].pixels =
                    decode_scaled(views[i], plan.options, plan.target, items[i].report);
            } catch (...) {
                items[i].failure = std::current_exception(); // the others go on
            }
        },
        threads);
}

py::list decode_many(const py::list& list, const Plan& plan, bool with_report,
                     const std::optional<py::ssize_t>& threads) {
    const std::size_t limit = threads ? positive(*threads, "threads") : kNoLimit;
    std::vector<OwnedBytes> owned;
    std::vector<ByteView> views;
    for (const py::handle data : list) {
        owned.push_back(bytes_of(data, "data"));
        views.push_back(owned.back().view);
    }
    std::vector<Item> items(views.size());
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        decode_items(views, plan, limit, items);
    }
    py::list result;
    for (Item& item : items) {
        const py::object report = with_report ? py::object(report_of(item.report)) : py::none();
        const py::object value = item.failure ? exception_of(item.failure)
                                              : py::object(array_of(std::move(item.pixels), false));
        result.append(py::make_tuple(value, report));
    }
    return result;
}

// Pixels that another decoder made, upright, as the plan wants them.
py::array fit_array(py::handle array, const Plan& plan) {
    const OwnedPixels source = pixels_of(array, "array");
    Pixels pixels;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        pixels = fit_pixels(source.view, plan.options, plan.target);
    }
    return array_of(std::move(pixels), false);
}

py::bytes jpeg_of(py::handle array, int quality) {
    const OwnedPixels source = pixels_of(array, "array");
    std::vector<std::uint8_t> bytes;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        bytes = encode_jpeg(source.view, quality);
    }
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

py::list split(py::handle data) {
    const OwnedBytes bytes = bytes_of(data, "data");
    std::vector<JpegFrame> frames;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        frames = split_jpeg_stream(bytes.view);
    }
    py::list result;
    for (const JpegFrame& frame : frames) {
        result.append(py::make_tuple(frame.begin, frame.size, frame.complete));
    }
    return result;
}

py::dict pool_state() {
    const PixelPoolState state = pixel_pool_state();
    py::dict result;
    result["limit_bytes"] = state.limit_bytes;
    result["idle_bytes"] = state.idle_bytes;
    result["idle_buffers"] = state.idle_buffers;
    return result;
}

constexpr const char* kEncodeJpegDoc = R"(A picture as baseline JPEG.

Chroma is halved in both directions (4:2:0); there is no metadata. The GIL is released.

Args:
    array: (H, W), (H, W, 1) or (H, W, 3) uint8; JPEG has no alpha.
    quality: the Independent JPEG Group's scale, 1 to 100; default 90.

Returns:
    The file's bytes.

Raises:
    InputError: For another shape or dtype, no pixels, more than 65,500 a side, or another quality.

>>> import numpy as np
>>> from framejudge import frames
>>> file = frames.encode_jpeg(np.zeros((2, 3, 3), dtype=np.uint8), quality=80)
>>> file[:3]
b'\xff\xd8\xff'
)";

} // namespace

py::dict report_of(const DecodeReport& report) {
    py::dict result = info_of(report.info);
    result["scale_denominator"] = report.scale_denominator;
    result["damaged"] = report.damaged;
    result["damage"] = texts_of(report.damage);
    result["rows_read"] = report.rows_read;
    result["warnings"] = texts_of(report.warnings);
    result["codec"] = report.codec;
    return result;
}

void register_frames(py::module_& module) {
    // Classes without static properties need no metaclass of their own.
    const py::metaclass plain(reinterpret_cast<PyObject*>(&PyType_Type));
    py::class_<DecodeLimits>(module, "DecodeLimits", plain)
        .def(py::init(&limits_of), py::arg("max_pixels"), py::arg("max_bytes"),
             py::arg("max_scans"), py::arg("time_budget_s"));
    py::class_<Plan>(module, "DecodePlan", plain)
        .def(py::init(&make_plan), py::arg("mode"), py::arg("orient"), py::arg("partial"),
             py::arg("background"), py::arg("size"), py::arg("max_side_px"), py::arg("filter"),
             py::arg("limits"));
    module.def("probe_bytes", &probe, py::arg("data"), py::arg("limits"));
    module.def("decode_bytes", &decode, py::arg("data"), py::arg("plan"), py::arg("with_report"));
    module.def("decode_many", &decode_many, py::arg("items"), py::arg("plan"),
               py::arg("with_report"), py::arg("threads"));
    module.def("fit_pixels", &fit_array, py::arg("array"), py::arg("plan"));
    module.def("encode_jpeg", &jpeg_of, py::arg("array"), py::kw_only(), py::arg("quality") = 90,
               kEncodeJpegDoc);
    module.attr("encode_jpeg").attr("__module__") = "framejudge.frames";
    module.def("find_jpeg_frames", &split, py::arg("data"));
    module.def("pixel_pool", &pool_state, "The idle memory that is kept for the next picture.");
    module.def("clear_pixel_pool", &clear_pixel_pool);
}

} // namespace framejudge::bind
