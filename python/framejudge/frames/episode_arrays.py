"""Arrays of frames, whatever their numbers, as RGB frames: one at a time, by memory map."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from framejudge.errors import DataError

__all__ = ["FrameArray", "array_preference", "open_frames"]

_RGB = 3
_NDIM = 4
_WORDS = (("workspace",), ("image", "frame"), ("wrist",))


class FrameArray:
    """Frames of one array; how its numbers become 0 to 255 is decided once, for all of it.

    NOTE [scaling]: uint8 stays, uint16 loses its lower half, and floats are either shares of one or
    levels up to 255: the largest of the whole array decides, so that a dark frame of a bright
    episode stays dark.
    """

    def __init__(self, array: NDArray[Any], name: str) -> None:
        """Take an array of frames.

        Args:
            array: (N, H, W, 3).
            name: what messages call it.

        Raises:
            DataError: another shape, or numbers that are no levels.
        """
        if not _is_frames(array):
            raise DataError(f"{name}: frames are (N, H, W, 3) numbers, got {_shown(array)}")
        self._array = array
        self._name = name
        self._scale = 1.0
        if array.dtype.kind == "f":
            highest = max(
                (float(np.nanmax(frame)) for frame in array if not np.isnan(frame).all()),
                default=0.0,
            )
            self._scale = 255.0 if highest <= 1.0 else 1.0

    def __len__(self) -> int:
        """How many frames there are."""
        return len(self._array)

    def frame(self, index: int) -> NDArray[np.uint8]:
        """Return one frame, (H, W, 3) uint8.

        Raises:
            DataError: NaN, infinity, or a level outside 0 to 255, by the frame's number.
        """
        frame = np.asarray(self._array[index])
        if frame.dtype == np.uint8:
            return np.ascontiguousarray(frame)
        if frame.dtype == np.uint16:
            return (frame >> 8).astype(np.uint8)
        if not np.isfinite(frame).all():
            raise DataError(f"{self._name}: frame {index} holds NaN or infinity")
        levels = np.rint(frame.astype(np.float64) * self._scale)
        if levels.min() < 0 or levels.max() > 255:  # noqa: PLR2004
            raise DataError(
                f"{self._name}: frame {index} has levels from {levels.min():g} to "
                f"{levels.max():g}; accepted: 0 to 255, or floats from 0 to 1"
            )
        return levels.astype(np.uint8)


def open_frames(
    path: str | os.PathLike[str], *, name: str | None = None
) -> tuple[str | None, FrameArray]:
    """Open the frames of a .npy or .npz file.

    Args:
        path: the file. Of an archive, the first array that can be frames counts, names with
            "workspace" before "image" or "frame" before "wrist" before others.
        name: what messages call it; default: the path.

    Returns:
        The archive's key (None for .npy), and the frames.

    Raises:
        DataError: the file can't be read, holds no frames, or holds pickled objects.
    """
    name = name or os.fspath(path)
    try:
        if Path(path).suffix.lower() == ".npy":
            return None, FrameArray(np.load(path, mmap_mode="r", allow_pickle=False), name)
        with np.load(path, allow_pickle=False) as archive:
            seen = []
            for key in sorted(archive.files, key=lambda key: (array_preference(key), key.lower())):
                array = archive[key]
                if _is_frames(array):
                    return key, FrameArray(array, f"{name}:{key}")
                seen.append(f"{key} {_shown(array)}")
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: can't be read as arrays: {error}") from None
    raise DataError(f"{name}: frames are (N, H, W, 3) numbers; it holds {', '.join(seen) or '-'}")


def _is_frames(array: Any) -> bool:
    return (
        isinstance(array, np.ndarray)
        and array.ndim == _NDIM
        and array.shape[-1] == _RGB
        and min(array.shape) > 0
        and array.dtype.kind in "uif"
    )


def _shown(array: NDArray[Any]) -> str:
    return f"{array.shape} {array.dtype}"


def array_preference(name: str) -> int:
    """The view of the whole scene comes before a wrist's: the lower, the better."""
    lower = name.lower()
    return next((n for n, some in enumerate(_WORDS) if any(w in lower for w in some)), len(_WORDS))
