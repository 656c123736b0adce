// The exceptions the core throws; the bindings map each to a Python class in one table.
#pragma once

#include <stdexcept>

namespace framejudge {

// An argument can't be used; the text echoes it and says what is accepted.
class InvalidInput : public std::invalid_argument {
public:
    using std::invalid_argument::invalid_argument;
};

// An environment variable or setting can't work; the text lists what is accepted.
class ConfigurationError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace framejudge
