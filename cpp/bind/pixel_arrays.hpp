// Pictures and encoded bytes between Python and the core.
#pragma once

#include "pybind.hpp"

#include "framejudge/image.hpp"
#include "framejudge/pixels.hpp"

namespace framejudge::bind {

// A view of an array, and what keeps its memory alive.
struct OwnedPixels {
    py::array array;
    PixelView view;
};

// Views a uint8 array of shape (H, W), (H, W, 1), (H, W, 3) or (H, W, 4); copies one whose samples
// are not side by side. `name` is the argument's, for errors. Throws InvalidInput for anything
// else.
OwnedPixels pixels_of(py::handle object, const char* name);

// The picture as an array that owns it: (H, W, C), or (H, W) if it has one channel and `flat`.
py::array array_of(Pixels pixels, bool flat);

// A view of bytes, bytearray, memoryview or whatever else has a contiguous buffer.
struct OwnedBytes {
    py::buffer_info info;
    ByteView view;
};

OwnedBytes bytes_of(py::handle object, const char* name);

// The fields of frames.DecodeInfo.
py::dict report_of(const DecodeReport& report);

} // namespace framejudge::bind
