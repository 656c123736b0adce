// encode_png.
#include "pybind.hpp"

#include "framejudge/encode.hpp"
#include "pixel_arrays.hpp"

#include <vector>

namespace framejudge::bind {
namespace {

py::bytes encode(py::handle array, int level) {
    const OwnedPixels source = pixels_of(array, "array");
    std::vector<std::uint8_t> file;
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        file = encode_png(source.view, level);
    }
    return {reinterpret_cast<const char*>(file.data()), file.size()};
}

constexpr const char* kEncodePngDoc = R"(A picture as PNG.

Lossless: ``decode`` gives the same pixels back. The bytes depend on the pixels, the level and the
build alone; there is no metadata. The GIL is released.

Args:
    array: (H, W), (H, W, 1), (H, W, 3) or (H, W, 4) uint8; four channels are straight alpha.
    level: how hard to compress, 0 (stored) to 9 (smallest); default 5.

Returns:
    The file's bytes.

Raises:
    InputError: For another shape or dtype, no pixels, or another level.

>>> import numpy as np
>>> from framejudge import frames
>>> file = frames.encode_png(np.zeros((2, 3, 3), dtype=np.uint8))
>>> file[:8]
b'\x89PNG\r\n\x1a\n'
)";

} // namespace

void register_png(py::module_& module) {
    module.def("encode_png", &encode, py::arg("array"), py::kw_only(), py::arg("level") = 5,
               kEncodePngDoc);
    module.attr("encode_png").attr("__module__") = "framejudge.frames";
}

} // namespace framejudge::bind
