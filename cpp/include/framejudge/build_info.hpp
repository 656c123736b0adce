// What this build is; the part of a bug report that nobody remembers.
#pragma once

#include <string_view>

namespace framejudge {

struct BuildInfo {
    std::string_view version;
    std::string_view compiler;
    std::string_view compiler_flags;
    std::string_view build_type;
    long cpp_standard;
};

BuildInfo build_info();

} // namespace framejudge
