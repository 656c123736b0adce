// What the bindings of tensors share.
#pragma once

#include "pybind.hpp"

#include "framejudge/tensor.hpp"

#include <vector>

namespace framejudge::bind {

// `channels` numbers each, or one for all. Throws InvalidInput.
MeanStd mean_std_of(const py::object& mean, const py::object& std, std::size_t channels);

// `out` if it is an array of that shape and type that can be written to, or a new one for None.
// Throws InvalidInput.
py::array tensor_of(const std::vector<py::ssize_t>& shape, NumberType type, const py::object& out);

} // namespace framejudge::bind
