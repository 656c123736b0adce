// Included first by every file of the bindings.
#pragma once

#include <pybind11/pybind11.h>

#include <pybind11/numpy.h>

namespace framejudge::bind {

namespace py = pybind11;

void register_errors(py::module_& module);
void register_runtime(py::module_& module);
void register_cosine(py::module_& module);
void register_png(py::module_& module);
void register_resize(py::module_& module);

} // namespace framejudge::bind
