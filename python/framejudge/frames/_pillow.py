"""Formats that the core doesn't read, through Pillow."""

from __future__ import annotations

import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from framejudge.errors import DamagedImageError, ImageLimitError, UnsupportedImageError
from framejudge.frames.records import DecodeInfo, ImageInfo, Limits

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["decode_with_pillow", "probe_with_pillow"]

logger = logging.getLogger("framejudge.frames")

# Picture formats that Pillow itself decodes; none that starts another program, as EPS does.
FORMATS = (
    "AVIF",
    "DDS",
    "GIF",
    "HEIF",
    "ICNS",
    "ICO",
    "JPEG",
    "JPEG2000",
    "PCX",
    "PNG",
    "QOI",
    "SGI",
    "TGA",
    "TIFF",
    "WEBP",
)


def _open(data: Any, limits: Limits, refusal: UnsupportedImageError) -> Image.Image:
    """Open the picture without decoding it; `refusal` is the core's, for the message."""
    import PIL  # noqa: PLC0415  # only when the core gave up
    from PIL import Image  # noqa: PLC0415

    Image.init()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # our own limit is checked below
        try:
            image = Image.open(io.BytesIO(data), formats=[f for f in FORMATS if f in Image.OPEN])
        except Image.DecompressionBombError as error:
            raise ImageLimitError(f"Pillow {PIL.__version__}: {error}") from error
        except Exception as error:
            raise UnsupportedImageError(
                f"{refusal}; Pillow {PIL.__version__} can't read it either"
            ) from error
    if image.width * image.height > limits.max_pixels:
        raise ImageLimitError(
            f"the header claims {image.width} x {image.height} pixels; the limit is "
            f"{limits.max_pixels}"
        )
    return image


def _facts(image: Image.Image) -> dict[str, Any]:
    from PIL import ExifTags  # noqa: PLC0415

    try:
        orientation = image.getexif().get(ExifTags.Base.Orientation, 1)
    except Exception:  # noqa: BLE001  # metadata never stop the pixels
        orientation = 1
    if orientation not in range(1, 9):
        orientation = 1
    width, height = image.size
    if orientation >= 5:  # noqa: PLR2004  # EXIF: 5 to 8 swap the sides
        width, height = height, width
    alpha = image.has_transparency_data
    return {
        "format": (image.format or "unknown").lower(),
        "width": width,
        "height": height,
        "channels": 4 if alpha else 1 if image.mode in {"1", "L", "I", "F"} else 3,
        "orientation": orientation,
        "animated": getattr(image, "n_frames", 1) > 1,
        "has_alpha": alpha,
    }


def probe_with_pillow(data: Any, limits: Limits, refusal: UnsupportedImageError) -> ImageInfo:
    """What Pillow reads from the header."""
    with _open(data, limits, refusal) as image:
        return ImageInfo(**_facts(image))


def decode_with_pillow(
    data: Any,
    limits: Limits,
    refusal: UnsupportedImageError,
    *,
    orient: bool,
    partial: bool = False,
    background: tuple[int, int, int] = (255, 255, 255),
) -> tuple[NDArray[np.uint8], DecodeInfo]:
    """The first frame as RGBA or RGB, upright if `orient`; all background if `partial` must be."""
    import PIL  # noqa: PLC0415
    from PIL import ImageOps  # noqa: PLC0415

    codec = f"Pillow {PIL.__version__}"
    with _open(data, limits, refusal) as image:
        facts = _facts(image)
        try:
            turned = ImageOps.exif_transpose(image) if orient else image
            pixels = np.array(turned.convert("RGBA" if facts["has_alpha"] else "RGB"))
        except Exception as error:
            damage = f"{codec}: {facts['format']}: {error}"
            if not partial:
                raise DamagedImageError(damage) from error
            blank = np.full((facts["height"], facts["width"], 3), background, dtype=np.uint8)
            return blank, DecodeInfo(**facts, codec=codec, damaged=True, damage=(damage,))
    logger.debug("%s decoded by %s", facts["format"], codec)
    return pixels, DecodeInfo(**facts, codec=codec, rows_read=image.height)
