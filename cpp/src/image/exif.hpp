// Which way up a picture was taken.
#pragma once

#include "framejudge/image.hpp"

namespace framejudge {

// The orientation, 1 to 8, in EXIF bytes (a TIFF block, with or without "Exif\0\0" before it).
// 0 if there is none; whatever is malformed, cut off or out of range is none.
int exif_orientation(ByteView exif);

// The same from an XMP packet: tiff:Orientation as an attribute or an element.
int xmp_orientation(ByteView xmp);

} // namespace framejudge
