"""Pictures from bytes: probe, decode, decode_batch."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from framejudge import _core
from framejudge.errors import ImageError, InputError, UnsupportedImageError
from framejudge.frames._inputs import Encoded, encoded_bytes, list_of_encoded
from framejudge.frames.records import DecodeInfo, ImageInfo, Limits

__all__ = ["decode", "decode_batch", "probe"]

Picture: TypeAlias = NDArray[np.uint8]
Mode: TypeAlias = Literal["rgb", "gray", "rgba"]
Filter: TypeAlias = Literal["area", "bilinear", "bicubic", "lanczos"]

_WHITE = (255, 255, 255)
_DEFAULT_LIMITS = Limits()


@functools.lru_cache(maxsize=64)
def _core_limits(limits: Limits) -> Any:
    return _core.DecodeLimits(
        limits.max_pixels, limits.max_bytes, limits.max_scans, limits.time_budget_s
    )


@functools.lru_cache(maxsize=256)
def _plan(
    mode: str,
    orient: bool,
    partial: bool,
    background: tuple[int, int, int],
    size: tuple[int, int] | None,
    max_side_px: int | None,
    filter_name: str,
    limits: Limits,
) -> Any:
    """The checked options, made once for all calls that share them."""
    return _core.DecodePlan(
        mode, orient, partial, background, size, max_side_px, filter_name, _core_limits(limits)
    )


def _checked_plan(**options: Any) -> Any:
    try:
        return _plan(**options)
    except TypeError as error:
        raise InputError(
            "mode must be 'rgb', 'gray' or 'rgba', size (height, width), max_side_px a whole "
            f"number, background three whole numbers; got {options}"
        ) from error


def probe(data: Encoded, *, limits: Limits = _DEFAULT_LIMITS) -> ImageInfo:
    """What a picture is, from its bytes, without decoding pixels.

    Args:
        data: The encoded picture as bytes, bytearray, memoryview or one-dimensional uint8 array, or
            a path. It is typed by its bytes; names don't matter.
        limits: What it may cost.

    Returns:
        Format, size after orientation, channels and so on.

    Raises:
        UnsupportedImageError: The bytes are no picture that the core or Pillow reads.
        DamagedImageError: The header is missing or contradicts itself.
        ImageLimitError: It claims more than `limits`.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> info = frames.probe(frames.encode_jpeg(np.zeros((48, 64, 3), dtype=np.uint8)))
    >>> info.format, info.width, info.height, info.channels
    ('jpeg', 64, 48, 3)
    """
    content = encoded_bytes(data, max_bytes=limits.max_bytes)
    try:
        return ImageInfo(**_core.probe_bytes(content, _core_limits(limits)))
    except UnsupportedImageError as refusal:
        from framejudge.frames._pillow import probe_with_pillow  # noqa: PLC0415

        return probe_with_pillow(content, limits, refusal)


@overload
def decode(
    data: Encoded,
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    return_info: Literal[False] = False,
) -> Picture: ...
@overload
def decode(
    data: Encoded,
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    return_info: Literal[True],
) -> tuple[Picture, DecodeInfo]: ...
def decode(
    data: Encoded,
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # noqa: A002  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    return_info: bool = False,
) -> Picture | tuple[Picture, DecodeInfo]:
    """The pixels of a picture.

    JPEG, PNG, WebP, PNM and BMP are decoded by the core without the GIL, anything else by Pillow.
    Of an animation, the first frame. Data that are lost are an error, unless `partial`.

    Args:
        data: The encoded picture as bytes, bytearray, memoryview or one-dimensional uint8 array, or
            a path.
        max_side_px: The longer side's greatest length, in pixels; a smaller picture stays as it is.
        size: (height, width) in pixels, whatever the proportion. Not together with `max_side_px`.
        mode: ``"rgb"`` (default), ``"gray"`` (BT.601 luma) or ``"rgba"`` (straight alpha).
        orient: Turn it upright as EXIF or XMP says.
        background: RGB, 0 to 255, in rows that `partial` could not read, and under transparent
            pixels that are resized without their alpha. At full size ``"rgb"`` and ``"gray"`` drop
            the alpha: a transparent pixel shows the colour it stores.
        partial: Return what is there of a damaged picture.
        filter: Of the antialiased resize: ``"area"``, ``"bilinear"``, ``"bicubic"``, ``"lanczos"``.
        limits: What it may cost.
        return_info: Return (array, info).

    Returns:
        uint8 of shape (H, W, C), with C 1, 3 or 4 by `mode`; with `return_info` a pair of it and a
        `DecodeInfo`.

    Raises:
        DamagedImageError: Data are missing or contradict each other; the message says where.
        UnsupportedImageError: The bytes are no picture that the core or Pillow reads.
        ImageLimitError: It is larger, or takes longer, than `limits`.
        InputError: An option can't be used.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> jpeg = frames.encode_jpeg(np.full((48, 64, 3), 200, dtype=np.uint8))
    >>> frames.decode(jpeg, max_side_px=16).shape
    (12, 16, 3)
    >>> array, info = frames.decode(jpeg[:-2], partial=True, return_info=True)
    >>> array.shape, info.damaged
    ((48, 64, 3), True)
    """
    plan = _checked_plan(
        mode=mode,
        orient=orient,
        partial=partial,
        background=background,
        size=size,
        max_side_px=max_side_px,
        filter_name=filter,
        limits=limits,
    )
    content = data if type(data) is bytes else encoded_bytes(data, max_bytes=limits.max_bytes)
    try:
        result = _core.decode_bytes(content, plan, return_info)
    except UnsupportedImageError as refusal:
        array, info = _fallback(
            content,
            plan,
            refusal,
            limits=limits,
            orient=orient,
            partial=partial,
            background=background,
        )
        return (array, info) if return_info else array
    if not return_info:
        pixels: Picture = result
        return pixels
    array, report = result
    return array, DecodeInfo(**report)


def _fallback(
    content: Any, plan: Any, refusal: UnsupportedImageError, *, limits: Limits, **options: Any
) -> tuple[Picture, DecodeInfo]:
    """Decode through Pillow, then as the plan says."""
    from framejudge.frames._pillow import decode_with_pillow  # noqa: PLC0415

    pixels, info = decode_with_pillow(content, limits, refusal, **options)
    return _core.fit_pixels(pixels, plan), info


def _content_or_error(item: Encoded, limits: Limits) -> Any:
    try:
        return encoded_bytes(item, max_bytes=limits.max_bytes)
    except ImageError as error:
        return error


def _failed(error: ImageError) -> DecodeInfo:
    return DecodeInfo(format="unknown", width=0, height=0, channels=0, damaged=True, error=error)


@overload
def decode_batch(
    items: Sequence[Encoded],
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise"] = "raise",
    return_info: Literal[False] = False,
) -> list[Picture]: ...
@overload
def decode_batch(
    items: Sequence[Encoded],
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["record"],
    return_info: Literal[False] = False,
) -> list[Picture | ImageError]: ...
@overload
def decode_batch(
    items: Sequence[Encoded],
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    return_info: Literal[True],
) -> tuple[list[Picture | ImageError], list[DecodeInfo]]: ...
def decode_batch(
    items: Sequence[Encoded],
    *,
    max_side_px: int | None = None,
    size: tuple[int, int] | None = None,
    mode: Mode = "rgb",
    orient: bool = True,
    background: tuple[int, int, int] = _WHITE,
    partial: bool = False,
    filter: Filter = "area",  # noqa: A002  # resize calls it so too
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    return_info: bool = False,
) -> (
    list[Picture] | list[Picture | ImageError] | tuple[list[Picture | ImageError], list[DecodeInfo]]
):
    """The pixels of many pictures, on the core's thread pool, in the order of the list.

    Args:
        items: The encoded pictures; each may be whatever `decode` takes.
        max_side_px: As in `decode`.
        size: As in `decode`.
        mode: As in `decode`.
        orient: As in `decode`.
        background: As in `decode`.
        partial: As in `decode`.
        filter: As in `decode`.
        limits: Of each picture.
        threads: At most so many; None (default) takes the pool's size.
        on_error: ``"raise"`` (default) the first failure of the list, or ``"record"`` each one in
            the place of its picture.
        return_info: Return (arrays, infos).

    Returns:
        A list of uint8 arrays of shape (H, W, C), with ``on_error="record"`` an `ImageError` where
        there is none; with `return_info` a pair of it and a list of `DecodeInfo`.

    Raises:
        ImageError: With ``on_error="raise"``; the message names the item.
        InputError: An option can't be used, or an item is nothing that can hold a picture.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> jpeg = frames.encode_jpeg(np.zeros((48, 64, 3), dtype=np.uint8))
    >>> good, bad = frames.decode_batch([jpeg, b"nothing"], on_error="record")
    >>> good.shape, type(bad).__name__
    ((48, 64, 3), 'UnsupportedImageError')
    """
    if on_error not in {"raise", "record"}:
        raise InputError(f"on_error must be 'raise' or 'record', got {on_error!r}")
    plan = _checked_plan(
        mode=mode,
        orient=orient,
        partial=partial,
        background=background,
        size=size,
        max_side_px=max_side_px,
        filter_name=filter,
        limits=limits,
    )
    contents = [_content_or_error(item, limits) for item in list_of_encoded(items)]
    sound = [b"" if isinstance(content, ImageError) else content for content in contents]
    arrays: list[Any] = []
    infos: list[DecodeInfo] = []
    for index, (content, (result, report)) in enumerate(
        zip(contents, _core.decode_many(sound, plan, return_info, threads), strict=True)
    ):
        value = content if isinstance(content, ImageError) else result
        info = DecodeInfo(**report) if report is not None else None
        if value is result and isinstance(value, UnsupportedImageError):
            try:
                value, info = _fallback(
                    content,
                    plan,
                    value,
                    limits=limits,
                    orient=orient,
                    partial=partial,
                    background=background,
                )
            except ImageError as error:
                value = error
        if isinstance(value, Exception):
            if on_error == "raise" or not isinstance(value, ImageError):
                raise type(value)(f"item {index}: {value}") from value
            info = _failed(value)
        arrays.append(value)
        if info is not None:
            infos.append(info)
    return (arrays, infos) if return_info else arrays
