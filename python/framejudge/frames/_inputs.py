"""Whatever a caller has a picture in, as bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from framejudge.errors import ImageLimitError, InputError

__all__ = ["Encoded", "encoded_bytes"]

Encoded: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8] | str | os.PathLike[str]


def encoded_bytes(data: Encoded, *, max_bytes: int) -> bytes | bytearray | memoryview:
    """The encoded picture; a path is read."""
    if isinstance(data, bytes | bytearray | memoryview):
        return data
    if isinstance(data, np.ndarray):
        if data.dtype != np.uint8 or data.ndim != 1:
            raise InputError(
                "data must be the encoded bytes, as one dimension of uint8; got shape "
                f"{data.shape} of {data.dtype}"
            )
        return np.ascontiguousarray(data).data
    if isinstance(data, str | os.PathLike):
        return _read(data, max_bytes)
    raise InputError(
        "data must be bytes, bytearray, memoryview, a uint8 array of the encoded bytes or a path; "
        f"got {type(data).__name__}"
    )


def _read(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123  # the path may be any os.PathLike
        # One byte more than allowed shows that there are too many, without reading them all.
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ImageLimitError(f"{os.fspath(path)} has more bytes than the limit of {max_bytes}")
    return content


def list_of_encoded(items: Sequence[Encoded]) -> list[Encoded]:
    """The items of a batch; one picture in place of a list is an error."""
    if isinstance(items, str | bytes | bytearray | memoryview | os.PathLike):
        raise InputError(f"items must be a list of pictures, got one {type(items).__name__}")
    return list(items)
