// paired, matrix and top_k.
#include "pybind.hpp"

#include "arrays.hpp"
#include "framejudge/errors.hpp"

#include <string>

namespace framejudge::bind {
namespace {

using FloatArray = py::array_t<float, py::array::c_style>;
using IndexArray = py::array_t<std::int64_t, py::array::c_style>;

py::object matrix(py::handle a, py::handle b, std::string_view accumulate, py::object out) {
    const Accumulate precision = parse_accumulate(accumulate);
    const OwnedRows x = rows_of(a, "a", 2);
    const OwnedRows y = rows_of(b, "b", 2);
    if (out.is_none()) {
        out = FloatArray({x.rows.count, y.rows.count});
    }
    float* to = output_of(out, x.rows, y.rows);
    const py::gil_scoped_release unlocked; // only views are touched from here on
    cosine_matrix(x.rows, y.rows, precision, to);
    return out;
}

py::tuple top_k(py::handle a, py::handle b, py::ssize_t k, std::string_view accumulate) {
    const Accumulate precision = parse_accumulate(accumulate);
    const OwnedRows x = rows_of(a, "a", 2);
    const OwnedRows y = rows_of(b, "b", 2);
    if (k < 1) {
        throw InvalidInput("k must be at least 1, got " + std::to_string(k));
    }
    const auto count = static_cast<std::size_t>(k);
    FloatArray scores({x.rows.count, count});
    IndexArray indices({x.rows.count, count});
    float* to_scores = scores.mutable_data();
    std::int64_t* to_indices = indices.mutable_data();
    {
        const py::gil_scoped_release unlocked; // only views are touched in here
        cosine_top_k(x.rows, y.rows, count, precision, to_scores, to_indices);
    }
    return py::make_tuple(std::move(scores), std::move(indices));
}

// Below this much work, letting go of the GIL costs more than it gives to others.
constexpr std::size_t kElementsWorthReleasing = std::size_t{1} << 16U;

py::object paired(py::handle a, py::handle b, std::string_view accumulate) {
    const Accumulate precision = parse_accumulate(accumulate);
    const bool is_pair = is_vector(a);
    const OwnedRows x = rows_of(a, "a", is_pair ? 1 : 2);
    const OwnedRows y = rows_of(b, "b", is_pair ? 1 : 2);
    const auto run = [&](float* out) {
        if (x.rows.count * x.rows.width < kElementsWorthReleasing) {
            cosine_paired(x.rows, y.rows, precision, out);
        } else {
            const py::gil_scoped_release unlocked; // only views are touched in here
            cosine_paired(x.rows, y.rows, precision, out);
        }
    };
    if (is_pair) {
        float cosine = 0.0F;
        run(&cosine);
        return py::float_(static_cast<double>(cosine));
    }
    FloatArray out(static_cast<py::ssize_t>(x.rows.count));
    run(out.mutable_data());
    return out;
}

constexpr const char* kPairedDoc = R"(Cosine of ``a[i]`` and ``b[i]``.

Contiguous arrays are read where they are, strided ones are copied once. From 65,536 elements a
side the GIL is released, and from 524,288 the thread pool shares the work.

Args:
    a: (n, d) or (d,), float32, float16, or uint16 holding bfloat16.
    b: The same shape and dtype.
    accumulate: ``"float32"`` (default) or ``"float64"``, the precision of the sums.

Returns:
    (n,) float32 in [-1, 1], or a float for two vectors. NaN where a vector is all zeros or holds a
    NaN or an infinity.

Raises:
    InputError: For any other dtype, shapes that differ, or d = 0.

>>> import numpy as np
>>> from framejudge import cosine
>>> a = np.array([[1, 0], [1, 1], [0, 0]], dtype=np.float32)
>>> b = np.array([[2, 0], [1, -1], [1, 0]], dtype=np.float32)
>>> cosine.paired(a, b).tolist()
[1.0, 0.0, nan]
)";

constexpr const char* kMatrixDoc = R"(Cosine of every ``a[i]`` and ``b[j]``.

Contiguous arrays are read where they are, strided ones are copied once. The GIL is released.

Args:
    a: (n, d), float32, float16, or uint16 holding bfloat16.
    b: (m, d), the same dtype.
    accumulate: ``"float32"`` (default) or ``"float64"``, the precision of the sums.
    out: (n, m) float32, C-contiguous, apart from ``a`` and ``b``: where to write. A new array by
        default, which for a large result costs as much as a tenth of the work.

Returns:
    (n, m) float32 in [-1, 1]. NaN where a row is all zeros or holds a NaN or an infinity.

Raises:
    InputError: For any other dtype, widths that differ, d = 0, or an unfit ``out``.

>>> import numpy as np
>>> from framejudge import cosine
>>> a = np.array([[3, 4]], dtype=np.float32)
>>> b = np.array([[3, 4], [4, -3]], dtype=np.float32)
>>> cosine.matrix(a, b).tolist()
[[1.0, 0.0]]
)";

constexpr const char* kTopKDoc = R"(The k rows of ``b`` most similar to each row of ``a``.

The (n, m) matrix is never in memory: beyond the result it takes some tens of megabytes, whatever
n and m. Contiguous arrays are read where they are, strided ones are copied once. The GIL is
released.

Args:
    a: (n, d), float32, float16, or uint16 holding bfloat16.
    b: (m, d), the same dtype.
    k: How many, at least 1.
    accumulate: ``"float32"`` (default) or ``"float64"``, the precision of the sums.

Returns:
    Scores (n, k) float32, best first, and indices (n, k) int64 into ``b``; equal scores are in
    order of index. A NaN is never ranked: places without a candidate hold NaN and index -1.

Raises:
    InputError: For any other dtype, widths that differ, d = 0, or k < 1.

>>> import numpy as np
>>> from framejudge import cosine
>>> a = np.array([[1, 0]], dtype=np.float32)
>>> b = np.array([[0, 1], [1, 0], [0, 0]], dtype=np.float32)
>>> scores, indices = cosine.top_k(a, b, 3)
>>> indices.tolist()
[[1, 0, -1]]
)";

// The functions are public as framejudge.cosine's, and say so.
void publish(const py::module_& module, const char* name) {
    module.attr(name).attr("__module__") = "framejudge.cosine";
}

} // namespace

void register_cosine(py::module_& module) {
    module.def("paired", &paired, py::arg("a"), py::arg("b"), py::kw_only(),
               py::arg("accumulate") = "float32", kPairedDoc);
    module.def("matrix", &matrix, py::arg("a"), py::arg("b"), py::kw_only(),
               py::arg("accumulate") = "float32", py::arg("out") = py::none(), kMatrixDoc);
    module.def("top_k", &top_k, py::arg("a"), py::arg("b"), py::arg("k"), py::kw_only(),
               py::arg("accumulate") = "float32", kTopKDoc);
    publish(module, "paired");
    publish(module, "matrix");
    publish(module, "top_k");
}

} // namespace framejudge::bind
