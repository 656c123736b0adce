// to_tensor and decode_to_tensor.
#include "pybind.hpp"

#include "framejudge/errors.hpp"
#include "framejudge/tensor.hpp"
#include "framejudge/thread_pool.hpp"
#include "pixel_arrays.hpp"
#include "tensor_arrays.hpp"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace framejudge::bind {
namespace {

// One array of up to three dimensions is one picture; anything else is a sequence of them.
std::vector<OwnedPixels> pictures_of(py::handle arrays) {
    std::vector<OwnedPixels> pictures;
    if (py::isinstance<py::array>(arrays) &&
        py::reinterpret_borrow<py::array>(arrays).ndim() <= 3) {
        pictures.push_back(pixels_of(arrays, "arrays"));
        return pictures;
    }
    if (!py::isinstance<py::iterable>(arrays)) {
        throw InvalidInput(
            "arrays must be a picture, a sequence of pictures or (N, H, W, C), got " +
            py::str(py::type::handle_of(arrays).attr("__name__")).cast<std::string>());
    }
    for (const py::handle picture : py::iter(arrays)) {
        pictures.push_back(pixels_of(picture, "each of arrays"));
    }
    return pictures;
}

py::array to_tensor_array(py::handle arrays, const py::object& mean, const py::object& std,
                          std::string_view dtype, std::string_view layout_name,
                          const py::object& out) {
    const NumberType type = parse_number_type(dtype);
    const Layout layout = parse_layout(layout_name);
    const std::vector<OwnedPixels> pictures = pictures_of(arrays);
    if (pictures.empty()) {
        throw InvalidInput("arrays must hold at least one picture, got none");
    }
    std::vector<PixelView> views;
    views.reserve(pictures.size());
    for (const OwnedPixels& picture : pictures) {
        views.push_back(picture.view);
    }
    const PixelView& first = views.front();
    const MeanStd mean_std = mean_std_of(mean, std, first.channels);
    const auto axis = [](std::size_t size) { return static_cast<py::ssize_t>(size); };
    std::vector<py::ssize_t> shape = {axis(views.size()), axis(first.height), axis(first.width)};
    shape.insert(layout == Layout::kPlanar ? shape.begin() + 1 : shape.end(), axis(first.channels));
    py::array result = tensor_of(shape, type, out);
    void* to = result.mutable_data();
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        to_tensor(views, mean_std, type, layout, to);
    }
    return result;
}

// An item's view: of a picture's array, or of encoded bytes.
TensorSource source_of(py::handle item, std::vector<OwnedPixels>& pictures,
                       std::vector<OwnedBytes>& encoded) {
    if (py::isinstance<py::array>(item) && py::reinterpret_borrow<py::array>(item).ndim() != 1) {
        pictures.push_back(pixels_of(item, "each picture of items"));
        return {{nullptr, 0}, pictures.back().view};
    }
    encoded.push_back(bytes_of(item, "each of items"));
    const ByteView bytes = encoded.back().view;
    static constexpr std::uint8_t kNothing = 0;
    return {bytes.size == 0 ? ByteView{&kNothing, 0} : bytes, {}};
}

TensorOptions options_of(const std::pair<py::ssize_t, py::ssize_t>& size, std::string_view fit,
                         std::string_view filter, const std::array<std::uint8_t, 3>& pad_color,
                         const py::object& mean, const py::object& std, std::string_view dtype,
                         bool orient, bool partial, const std::array<std::uint8_t, 3>& background,
                         const DecodeLimits& limits) {
    constexpr py::ssize_t kMaxSide = 1 << 16;
    if (size.first < 1 || size.second < 1 || size.first > kMaxSide || size.second > kMaxSide) {
        throw InvalidInput("size must be (height, width), each from 1 to " +
                           std::to_string(kMaxSide) + ", got (" + std::to_string(size.first) +
                           ", " + std::to_string(size.second) + ")");
    }
    TensorOptions options{};
    options.height = static_cast<std::size_t>(size.first);
    options.width = static_cast<std::size_t>(size.second);
    options.fit = parse_fit(fit);
    options.filter = parse_filter(filter);
    options.pad_color = pad_color;
    options.mean_std = mean_std_of(mean, std, 3);
    options.type = parse_number_type(dtype);
    options.decode.orient = orient;
    options.decode.partial = partial;
    options.decode.background = background;
    options.decode.limits = limits;
    return options;
}

py::tuple decode_to_tensor_array(const py::list& items, const TensorOptions& options,
                                 const std::optional<py::ssize_t>& threads, const py::object& out) {
    if (threads && *threads < 1) {
        throw InvalidInput("threads must be at least 1, got " + std::to_string(*threads));
    }
    std::vector<OwnedPixels> pictures;
    std::vector<OwnedBytes> encoded;
    std::vector<TensorSource> sources;
    for (const py::handle item : items) {
        sources.push_back(source_of(item, pictures, encoded));
    }
    const std::vector<py::ssize_t> shape = {static_cast<py::ssize_t>(sources.size()), 3,
                                            static_cast<py::ssize_t>(options.height),
                                            static_cast<py::ssize_t>(options.width)};
    py::array array = tensor_of(shape, options.type, out);
    void* to = array.mutable_data();
    const std::size_t workers = threads ? static_cast<std::size_t>(*threads) : kNoLimit;
    std::vector<TensorResult> results;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        results = decode_to_tensor(sources, options, workers, to);
    }
    py::list reports;
    for (const TensorResult& result : results) {
        const py::object error = result.error ? exception_of(result.error) : py::none();
        reports.append(py::make_tuple(report_of(result.report), error));
    }
    return py::make_tuple(std::move(array), std::move(reports));
}

constexpr const char* kToTensorDoc =
    R"(Pictures as normalised numbers: ``(pixel / 255 - mean) / std``.

The GIL is released and the thread pool shares the work. A fresh array's memory costs as much as
the work itself: give ``out`` where the same shape comes again.

Args:
    arrays: One picture, a sequence of them, or (N, H, W, C); each (H, W), (H, W, 1) or (H, W, 3)
        uint8, all of the same shape.
    mean: In units of pixel / 255; one number, or one per channel.
    std: The same, positive.
    dtype: ``"float32"`` (default) or ``"float16"``.
    layout: ``"NCHW"`` (default) or ``"NHWC"``.
    out: A C-contiguous array of the result's shape and dtype to write to; None (default) makes one.

Returns:
    (N, C, H, W) or (N, H, W, C); N is 1 for one picture. It is ``out`` if that was given.

Raises:
    InputError: For shapes that differ or aren't accepted, a std that isn't positive, or an ``out``
        that doesn't fit.

>>> import numpy as np
>>> from framejudge import frames
>>> white = np.full((1, 1, 3), 255, dtype=np.uint8)
>>> frames.to_tensor(white, mean=(0.5, 0.5, 0.0), std=(0.5, 0.25, 1.0)).ravel().round(6).tolist()
[1.0, 2.0, 1.0]
)";

} // namespace

void register_tensor(py::module_& module) {
    // A class without static properties needs no metaclass of its own.
    const py::metaclass plain(reinterpret_cast<PyObject*>(&PyType_Type));
    py::class_<TensorOptions>(module, "TensorOptions", plain)
        .def(py::init(&options_of), py::kw_only(), py::arg("size"), py::arg("fit"),
             py::arg("filter"), py::arg("pad_color"), py::arg("mean"), py::arg("std"),
             py::arg("dtype"), py::arg("orient"), py::arg("partial"), py::arg("background"),
             py::arg("limits"));
    module.def("decode_to_tensor", &decode_to_tensor_array, py::arg("items"), py::arg("options"),
               py::arg("threads"), py::arg("out"));
    module.def("to_tensor", &to_tensor_array, py::arg("arrays"), py::kw_only(), py::arg("mean"),
               py::arg("std"), py::arg("dtype") = "float32", py::arg("layout") = "NCHW",
               py::arg("out") = py::none(), kToTensorDoc);
    module.attr("to_tensor").attr("__module__") = "framejudge.frames";
}

} // namespace framejudge::bind
