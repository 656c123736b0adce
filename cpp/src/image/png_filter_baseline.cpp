// The baseline tier of PNG's filters.
#include "png_filter_template.hpp"

#include "framejudge/isa.hpp"

namespace framejudge {

const FilterTable& filter_baseline() { return kFilterTable; }

const FilterTable& active_filter_table() {
#if defined(__x86_64__)
    const Isa isa = active_isa();
    if (isa == Isa::kAvx2 || isa == Isa::kAvx512) {
        return filter_avx2();
    }
#endif
    return filter_baseline(); // on ARM the compiler's own vectors are NEON's
}

} // namespace framejudge
