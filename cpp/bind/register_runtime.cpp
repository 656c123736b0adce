// Build information, instruction tiers and the thread pool's size.
#include "pybind.hpp"

#include "framejudge/build_info.hpp"
#include "framejudge/codec_info.hpp"
#include "framejudge/errors.hpp"
#include "framejudge/isa.hpp"
#include "framejudge/thread_pool.hpp"

#include <string>

namespace framejudge::bind {
namespace {

py::list isa_tiers() {
    py::list names;
    for (const Isa isa : supported_isas()) {
        names.append(isa_name(isa));
    }
    return names;
}

py::dict info() {
    const BuildInfo build = build_info();
    const CpuBudget budget = thread_budget();
    py::dict result;
    result["version"] = build.version;
    result["compiler"] = build.compiler;
    result["compiler_flags"] = build.compiler_flags;
    result["build_type"] = build.build_type;
    result["cpp_standard"] = build.cpp_standard;
    result["pybind11"] = PYBIND11_TOSTRING(PYBIND11_VERSION_MAJOR) "." PYBIND11_TOSTRING(
        PYBIND11_VERSION_MINOR) "." PYBIND11_TOSTRING(PYBIND11_VERSION_PATCH);
    result["isa"] = isa_name(active_isa());
    result["isa_supported"] = isa_tiers();
    result["jpeg"] = jpeg_codec_name();
    result["jpeg_simd"] = jpeg_codec_has_simd();
    result["inflate"] = inflate_codec_name();
    const std::string webp = webp_codec_name();
    result["webp"] = webp.empty() ? py::object(py::none()) : py::object(py::str(webp));
    result["threads"] = budget.threads;
    result["threads_source"] = thread_source_name(budget.source);
    return result;
}

void resize_pool(py::ssize_t count) {
    if (count < 0) { // the core's count has no sign
        throw InvalidInput("threads must be from 1 to " + std::to_string(kMaxThreads) + ", got " +
                           std::to_string(count));
    }
    const py::gil_scoped_release unlocked; // it waits for a running job
    set_threads(static_cast<std::size_t>(count));
}

// Ctrl-C stops a long job: Python runs signal handlers on its main thread alone, which is here.
void raise_pending_signal() {
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) {
        throw py::error_already_set();
    }
}

} // namespace

void register_runtime(py::module_& module) {
    set_interrupt_check(&raise_pending_signal);
    module.attr("__version__") = build_info().version;
    module.def("build_info", &info, "What this build is, the tier in use and the pool's size.");
    module.def("isa_tiers", &isa_tiers, "The tiers that this machine can run, slowest first.");
    module.def(
        "_set_isa", [](const std::string& name) { set_isa(name); }, py::arg("name"),
        "Use another tier from now on; for tests and benchmarks.");
    module.def("threads", [] { return thread_budget().threads; }, "The thread pool's size.");
    module.def("set_threads", &resize_pool, py::arg("count"),
               "Resize the thread pool; waits for a running job.");
}

} // namespace framejudge::bind
