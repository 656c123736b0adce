// The AVX2 tier of PNG's filters.
#include "png_filter_template.hpp"

namespace framejudge {

const FilterTable& filter_avx2() { return kFilterTable; }

} // namespace framejudge
