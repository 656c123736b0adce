// numpy arrays as the core's Rows.
#pragma once

#include "pybind.hpp"

#include "framejudge/cosine.hpp"

namespace framejudge::bind {

// A view of an array, and what keeps its memory alive.
struct OwnedRows {
    py::array array;
    Rows rows;
};

// Whether `object` is an array of one dimension.
bool is_vector(py::handle object);

// Views a C-contiguous array of `ndim` dimensions (1 is one row) as it is; copies a strided or
// unaligned one once. `name` is the argument's, for errors. Throws InvalidInput for anything else
// than float32, float16, or uint16 holding bfloat16.
OwnedRows rows_of(py::handle object, const char* name, int ndim);

// Where an (a.count, b.count) result may be written. Throws InvalidInput unless `out` is a
// writable, C-contiguous float32 array of that shape that shares no memory with a or b.
float* output_of(py::handle out, const Rows& a, const Rows& b);

} // namespace framejudge::bind
