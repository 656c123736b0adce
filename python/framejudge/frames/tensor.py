"""Encoded pictures straight to a network's input."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from framejudge import _core
from framejudge.errors import ImageError, InputError, UnsupportedImageError
from framejudge.frames._inputs import Encoded, encoded_bytes
from framejudge.frames._pillow import decode_with_pillow
from framejudge.frames.decoding import Filter
from framejudge.frames.records import DecodeInfo, Limits

__all__ = ["decode_to_tensor"]

Color: TypeAlias = tuple[int, int, int]
Constants: TypeAlias = float | Sequence[float] | NDArray[np.floating[Any]]
Fit: TypeAlias = Literal["stretch", "crop", "pad"]

_DEFAULT_LIMITS = Limits()


@overload
def decode_to_tensor(
    items: Sequence[Encoded | NDArray[np.uint8]],
    *,
    size: tuple[int, int],
    mean: Constants,
    std: Constants,
    fit: Fit = "stretch",
    filter: Filter = "bilinear",  # resize calls it so too
    dtype: Literal["float32", "float16"] = "float32",
    out: NDArray[Any] | None = None,
    orient: bool = True,
    background: Color = (255, 255, 255),
    pad_color: Color = (0, 0, 0),
    partial: bool = False,
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    return_info: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def decode_to_tensor(
    items: Sequence[Encoded | NDArray[np.uint8]],
    *,
    size: tuple[int, int],
    mean: Constants,
    std: Constants,
    fit: Fit = "stretch",
    filter: Filter = "bilinear",  # resize calls it so too
    dtype: Literal["float32", "float16"] = "float32",
    out: NDArray[Any] | None = None,
    orient: bool = True,
    background: Color = (255, 255, 255),
    pad_color: Color = (0, 0, 0),
    partial: bool = False,
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    return_info: Literal[True],
) -> tuple[NDArray[Any], list[DecodeInfo]]: ...
def decode_to_tensor(
    items: Sequence[Encoded | NDArray[np.uint8]],
    *,
    size: tuple[int, int],
    mean: Constants,
    std: Constants,
    fit: Fit = "stretch",
    filter: Filter = "bilinear",  # noqa: A002  # resize calls it so too
    dtype: Literal["float32", "float16"] = "float32",
    out: NDArray[Any] | None = None,
    orient: bool = True,
    background: Color = (255, 255, 255),
    pad_color: Color = (0, 0, 0),
    partial: bool = False,
    limits: Limits = _DEFAULT_LIMITS,
    threads: int | None = None,
    on_error: Literal["raise", "record"] = "raise",
    return_info: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], list[DecodeInfo]]:
    """Decode, resize and normalise pictures, straight into one array.

    A JPEG is decoded at the smallest of 1, 1/2, 1/4 and 1/8 that is not below `size`, then resized
    with antialiasing. The GIL is released and the core's threads share the items.

    Args:
        items: Each is what `decode` takes, or a picture (H, W), (H, W, 1), (H, W, 3) or (H, W, 4)
            uint8.
        size: (height, width) of the result.
        mean: In units of pixel / 255; one number, or one per channel.
        std: The same, positive: numbers are ``(pixel / 255 - mean) / std``.
        fit: How other proportions become `size`: ``"stretch"`` (default); ``"crop"``, the middle;
            or ``"pad"``, the whole with bars of `pad_color`.
        filter: ``"area"``, ``"bilinear"`` (default), ``"bicubic"`` or ``"lanczos"``.
        dtype: ``"float32"`` (default) or ``"float16"``.
        out: A C-contiguous array of the result's shape and dtype to write to; None (default) makes
            one.
        orient: Turn pictures upright as EXIF or XMP says; default True.
        background: RGB under transparent pixels.
        pad_color: RGB of the bars.
        partial: Accept damaged pictures; their info says so.
        limits: What decoding one picture may cost.
        threads: At most so many; None (default) takes the pool's size.
        on_error: ``"raise"`` (default) the first failed item's error, or ``"record"`` it in the
            item's info. A failed item's numbers are NaN.
        return_info: Return (array, infos) instead of the array.

    Returns:
        (N, 3, H, W) in the order of the items; `out` if that was given. With `return_info`, a pair
        with a list of `DecodeInfo`.

    Raises:
        ImageError: If an item can't be decoded; the message says which and why.
        InputError: If an argument can't be used.

    >>> import numpy as np
    >>> from framejudge import frames
    >>> jpeg = frames.encode_jpeg(np.full((48, 64, 3), 255, dtype=np.uint8))
    >>> tensor = frames.decode_to_tensor([jpeg, jpeg], size=(2, 2), mean=0.5, std=0.5)
    >>> tensor.shape, tensor.round(6).min().item(), tensor.round(6).max().item()
    ((2, 3, 2, 2), 1.0, 1.0)
    """
    if on_error not in {"raise", "record"}:
        raise InputError(f"on_error must be 'raise' or 'record', got {on_error!r}")
    options = _core.TensorOptions(
        size=size,
        fit=fit,
        filter=filter,
        pad_color=pad_color,
        mean=mean,
        std=std,
        dtype=dtype,
        orient=orient,
        partial=partial,
        background=background,
        limits=_core.DecodeLimits(
            limits.max_pixels, limits.max_bytes, limits.max_scans, limits.time_budget_s
        ),
    )
    contents, errors = _contents(items, limits)
    array, reports = _core.decode_to_tensor(contents, options, threads, out)
    infos = [DecodeInfo(**report) for report, _ in reports]
    for i, (_, failure) in enumerate(reports):
        error = failure
        if isinstance(failure, UnsupportedImageError) and i not in errors:
            error, infos[i] = _through_pillow(
                contents[i], options, array[i], failure, limits, orient
            )
        if error is not None:
            errors.setdefault(i, error)
    for i, error in sorted(errors.items()):
        if on_error == "raise" or not isinstance(error, ImageError):
            error.add_note(f"item {i} of {len(contents)}")
            raise error
        infos[i] = dataclasses.replace(infos[i], damaged=True, error=error)
    return (array, infos) if return_info else array


def _contents(
    items: Sequence[Encoded | NDArray[np.uint8]], limits: Limits
) -> tuple[list[Any], dict[int, Exception]]:
    """The items' bytes or pixels, and why there are none."""
    if isinstance(items, str | bytes | bytearray | memoryview | os.PathLike):
        raise InputError(f"items must be a list of pictures, got one {type(items).__name__}")
    contents: list[Any] = []
    errors: dict[int, Exception] = {}
    for i, item in enumerate(items):
        if isinstance(item, np.ndarray) and item.ndim != 1:
            contents.append(item)
            continue
        try:
            contents.append(encoded_bytes(item, max_bytes=limits.max_bytes))
        except ImageError as error:
            contents.append(b"")
            errors[i] = error
    return contents, errors


def _through_pillow(
    content: Any,
    options: Any,
    tensor: NDArray[Any],
    refusal: UnsupportedImageError,
    limits: Limits,
    orient: bool,
) -> tuple[Exception | None, DecodeInfo]:
    """Decode what the core doesn't know into its place."""
    try:
        pixels, info = decode_with_pillow(content, limits, refusal, orient=orient)
    except ImageError as error:
        return error, DecodeInfo(format="unknown", width=0, height=0, channels=0)
    _core.decode_to_tensor([pixels], options, 1, tensor[np.newaxis])
    return None, info
