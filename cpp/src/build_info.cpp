// What this build is, from what CMake knows.
#include "framejudge/build_info.hpp"

namespace framejudge {

BuildInfo build_info() {
    return {FRAMEJUDGE_VERSION, FRAMEJUDGE_COMPILER, FRAMEJUDGE_CXX_FLAGS, FRAMEJUDGE_BUILD_TYPE,
            __cplusplus};
}

} // namespace framejudge
