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

// A picture can't be decoded: the text names what is wrong and where.
class ImageError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The bytes are no picture of a known kind, or use a coding that is not supported.
class ImageUnsupportedError : public ImageError {
public:
    using ImageError::ImageError;
};

// The picture is damaged: data are missing or contradict each other.
class ImageDamagedError : public ImageError {
public:
    using ImageError::ImageError;
};

// The picture is larger, or takes longer, than the limits allow.
class ImageLimitError : public ImageError {
public:
    using ImageError::ImageError;
};

} // namespace framejudge
