// Included first by every file of the bindings.
#pragma once

#include <pybind11/pybind11.h>

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <exception>

namespace framejudge::bind {

namespace py = pybind11;

void register_errors(py::module_& module);
// The Python exception that a C++ one becomes.
py::object exception_of(const std::exception_ptr& failure);

void register_runtime(py::module_& module);
void register_cosine(py::module_& module);
void register_frames(py::module_& module);
void register_hash(py::module_& module);
void register_png(py::module_& module);
void register_resize(py::module_& module);
void register_tensor(py::module_& module);
void register_yuv(py::module_& module);

} // namespace framejudge::bind
