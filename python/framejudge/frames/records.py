"""What is said about a picture, and what a picture may cost."""

from __future__ import annotations

from dataclasses import dataclass

from framejudge.errors import ImageError

__all__ = ["DecodeInfo", "ImageInfo", "JpegFrame", "Limits"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What decoding one picture may cost; more is an `ImageLimitError`.

    Attributes:
        max_pixels: Width times height, checked before anything is allocated.
        max_bytes: Length of the encoded picture.
        max_scans: Passes over a progressive JPEG, counted before the first is decoded.
        time_budget_s: Seconds, checked while a JPEG, PNG or WebP is decoded: between pieces of work
            that take milliseconds; at the worst tenths of a second for a WebP of few bytes and many
            pixels, and some seconds for a PNG of tens of megabytes.
    """

    max_pixels: int = 178_000_000
    max_bytes: int = 1 << 30
    max_scans: int = 100
    time_budget_s: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInfo:
    """What a picture's header says.

    Attributes:
        format: ``"jpeg"``, ``"png"``, ``"webp"``, ``"pnm"``, ``"bmp"``, or what Pillow calls it, in
            lower case.
        width: Pixels, after orientation.
        height: Pixels, after orientation.
        channels: As stored, 1 to 4; a palette counts as what it holds.
        bit_depth: Of one stored sample.
        orientation: As EXIF or XMP stores it, 1 to 8; anything else there counts as 1.
        animated: Whether there is more than one frame; only the first is decoded.
        has_alpha: Whether pixels can be transparent.
        progressive: Whether it comes in several scans or interlaced.
        damaged: Whether data are missing. A probe sees only what needs no decoding.
    """

    format: str
    width: int
    height: int
    channels: int
    bit_depth: int = 8
    orientation: int = 1
    animated: bool = False
    has_alpha: bool = False
    progressive: bool = False
    damaged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeInfo(ImageInfo):
    """What happened while a picture was decoded.

    Attributes:
        scale_denominator: 1, 2, 4 or 8: a JPEG that was decoded to a fraction of its sides before
            it was resized.
        damage: What was lost and where.
        rows_read: Whole rows that hold decoded pixels, in stored orientation and at the scale that
            was decoded; the others show the background.
        warnings: What is odd without losing anything, as stray bytes that some cameras write.
        codec: Library and version.
        error: Why there is no picture, in a batch with ``on_error="record"``.
    """

    scale_denominator: int = 1
    damage: tuple[str, ...] = ()
    rows_read: int = 0
    warnings: tuple[str, ...] = ()
    codec: str = ""
    error: ImageError | None = None


@dataclass(frozen=True, slots=True)
class JpegFrame:
    """One picture of a Motion-JPEG or multipart stream.

    Attributes:
        data: Its bytes, a view into the stream.
        offset: Where it begins in the stream.
        complete: Whether it ends with its own end marker. One that doesn't was cut off, by the next
            picture or by the end of the stream.
    """

    data: memoryview
    offset: int
    complete: bool
