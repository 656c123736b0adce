// paired, matrix and top_k.
#include "pybind.hpp"

#include "arrays.hpp"
#include "errors.hpp"
#include "framejudge/errors.hpp"

#include <string>

namespace framejudge::bind {
namespace {

using FloatArray = py::array_t<float, py::array::c_style>;
using IndexArray = py::array_t<std::int64_t, py::array::c_style>;

FloatArray matrix(py::handle a, py::handle b, std::string_view accumulate) {
    const Accumulate precision = parse_accumulate(accumulate);
    const OwnedRows x = rows_of(a, "a", 2);
    const OwnedRows y = rows_of(b, "b", 2);
    FloatArray out({x.rows.count, y.rows.count});
    float* to = out.mutable_data();
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

// Below about ten microseconds of work, letting go of the GIL costs more than it gives others.
constexpr std::size_t kElementsWorthReleasing = std::size_t{1} << 16U;

py::object paired(py::handle a, py::handle b, Accumulate accumulate) {
    const int ndim = py::isinstance<py::array>(a)
                         ? static_cast<int>(py::reinterpret_borrow<py::array>(a).ndim())
                         : 2;
    const bool is_pair = ndim == 1;
    const OwnedRows x = rows_of(a, "a", is_pair ? 1 : 2);
    const OwnedRows y = rows_of(b, "b", is_pair ? 1 : 2);
    const auto run = [&](float* out) {
        if (x.rows.count * x.rows.width < kElementsWorthReleasing) {
            cosine_paired(x.rows, y.rows, accumulate, out);
        } else {
            const py::gil_scoped_release unlocked; // only views are touched in here
            cosine_paired(x.rows, y.rows, accumulate, out);
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

} // namespace

void register_cosine(py::module_& module) {
    module.def(
        "paired",
        [](py::handle a, py::handle b, std::string_view accumulate) {
            return paired(a, b, parse_accumulate(accumulate));
        },
        py::arg("a"), py::arg("b"), py::kw_only(), py::arg("accumulate") = "float32",
        "Cosine of a[i] and b[i].");
    module.def("matrix", &matrix, py::arg("a"), py::arg("b"), py::kw_only(),
               py::arg("accumulate") = "float32", "Cosine of every a[i] and b[j].");
    module.def("top_k", &top_k, py::arg("a"), py::arg("b"), py::arg("k"), py::kw_only(),
               py::arg("accumulate") = "float32", "The k best rows of b for each row of a.");
}

} // namespace framejudge::bind
