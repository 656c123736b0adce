// For functions that Python calls without pybind11 in between.
#pragma once

#include "pybind.hpp"

#include <exception>

namespace framejudge::bind {

// Sets the Python error for a C++ exception, as pybind11 would.
void set_python_error(const std::exception_ptr& current);

} // namespace framejudge::bind
