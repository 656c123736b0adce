// The extension framejudge._core.
#include "pybind.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The C++ core. Use framejudge.cosine and friends; this module may change.";
    framejudge::bind::register_errors(module);
    framejudge::bind::register_runtime(module);
    framejudge::bind::register_cosine(module);
    framejudge::bind::register_frames(module);
    framejudge::bind::register_hash(module);
    framejudge::bind::register_png(module);
    framejudge::bind::register_resize(module);
    framejudge::bind::register_tensor(module);
    framejudge::bind::register_yuv(module);
}
