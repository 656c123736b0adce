// Where a WebP file keeps its first picture, its canvas and its metadata.
#pragma once

#include "framejudge/image.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace framejudge {

struct WebpContainer {
    ByteView image{nullptr, 0}; // the first picture's chunks: ALPH and VP8, or VP8L
    std::size_t image_offset = 0;
    bool has_canvas = false; // an extended file, whose canvas may be larger than its frame
    std::size_t canvas_width = 0;
    std::size_t canvas_height = 0;
    std::size_t frame_x = 0;
    std::size_t frame_y = 0;
    bool is_animated = false;
    bool has_alpha = false;
    int orientation = 1;
    std::vector<std::string> warnings;
    std::string damage; // the file ends inside the picture's chunks; empty if it does not
};

bool has_webp_signature(ByteView bytes);

// Throws ImageDamagedError if there is no picture to find.
WebpContainer read_webp_container(ByteView bytes);

} // namespace framejudge
