"""Recorded episodes: arrays of frames in .npy and .npz files, read where they lie."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from framejudge import _core
from framejudge.errors import DataError, InputError
from framejudge.frames.decoding import Filter
from framejudge.frames.video_frame import FrameView

__all__ = ["Episode", "EpisodeFrame", "open_episode"]

_CHANNELS = (1, 3, 4)
_LAYOUTS = "(T, H, W), (T, H, W, C) or (T, C, H, W) uint8 with C 1, 3 or 4"
_LOCAL_HEADER_BYTES = 30
_DEFAULT_MAX_BYTES = 1 << 32
# A multiple of `every_s` that misses a time by less than this, hits it.
_SLACK_S = 1e-6


@dataclass(frozen=True)
class EpisodeFrame:
    """A frame of an episode.

    Attributes:
        index: Its number.
        pts_s: When it was taken, in seconds; None if the episode has no times.
        pixels: (H, W, C) uint8; read-only where it is the file's own memory.
    """

    index: int
    pts_s: float | None
    pixels: NDArray[np.uint8]


class Episode:
    """Frames in an array; a memory-mapped one is read when a frame is looked at."""

    def __init__(
        self, array: NDArray[np.uint8], *, times_s: NDArray[np.float64] | None = None, name: str
    ) -> None:
        """Use `open_episode` for files.

        Args:
            array: (T, H, W), (T, H, W, C) or (T, C, H, W) uint8, with C 1, 3 or 4.
            times_s: (T,) seconds that never run backwards; None if there are none.
            name: What messages call it.

        Raises:
            DataError: For another shape or dtype, or times that can't be.
        """
        self.name = name
        self._array = _channels_last(array, name)
        self._times_s = None if times_s is None else _checked_times(times_s, len(array), name)

    def __len__(self) -> int:
        """How many frames there are."""
        return len(self._array)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """(H, W, C) uint8 of one frame, without a copy; negative numbers count from the end."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"{self.name}: has {len(self)} frames, got index {index}")
        frame: NDArray[np.uint8] = self._array[index]
        return frame

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop the array; frames that were given out keep their memory."""
        self._array = self._array[:0]

    def frames(
        self,
        *,
        indices: Iterable[int] | None = None,
        times_s: Iterable[float] | None = None,
        every_s: float | None = None,
        size: tuple[int, int] | None = None,
        max_side_px: int | None = None,
        filter: Filter = "area",  # noqa: A002 - the name that resize has
    ) -> Iterator[EpisodeFrame]:
        """The frames, or those that are asked for, in the order asked.

        Args:
            indices: Numbers of frames, from 0; or
            times_s: seconds, each giving the last frame taken by then, or the first; or
            every_s: seconds, giving the first frame at or after each multiple from the first
                frame on, none twice. None of the three (default) gives all.
            size: (height, width) of the pixels; or
            max_side_px: the longer side's greatest length. Neither (default) keeps the size.
            filter: Used with a size: ``"area"`` (default), ``"bilinear"``, ``"bicubic"`` or
                ``"lanczos"``.

        Raises:
            InputError: For options that can't work, or times of an episode that has none.
        """
        view = FrameView("rgb", size, max_side_px, filter)
        if sum(choice is not None for choice in (indices, times_s, every_s)) > 1:
            raise InputError("give one of indices=, times_s= and every_s=")
        picked: Iterable[int] = range(len(self))
        if indices is not None:
            picked = [self._checked_index(index) for index in indices]
        elif times_s is not None:
            known = self._known_times()
            places = np.searchsorted(known, np.fromiter(times_s, np.float64), side="right")
            picked = [max(0, int(place) - 1) for place in places]
        elif every_s is not None:
            picked = self._every(every_s)
        return self._chosen(picked, view)

    def _chosen(self, picked: Iterable[int], view: FrameView) -> Iterator[EpisodeFrame]:
        for index in picked:
            pixels = self._array[index]
            size = view.size_of(*pixels.shape[:2])
            if size is not None:
                pixels = _core.resize(pixels, size=size, filter=view.filter)
            pts_s = None if self._times_s is None else float(self._times_s[index])
            yield EpisodeFrame(index, pts_s, pixels)

    def _checked_index(self, index: int) -> int:
        if not 0 <= index < len(self):
            raise InputError(f"{self.name}: has frames 0 to {len(self) - 1}, got index {index!r}")
        return int(index)

    def _known_times(self) -> NDArray[np.float64]:
        if self._times_s is None:
            raise InputError(f"{self.name}: has no times; use indices")
        return self._times_s

    def _every(self, every_s: float) -> Iterator[int]:
        if not (math.isfinite(every_s) and every_s > 0):
            raise InputError(f"every_s must be a positive number of seconds, got {every_s!r}")
        due = -math.inf
        times_s = self._known_times()
        for index, time_s in enumerate(times_s):
            if time_s >= due - _SLACK_S:
                yield index
                passed = math.floor((time_s - times_s[0] + _SLACK_S) / every_s)
                due = times_s[0] + (passed + 1) * every_s


def open_episode(
    path: str | os.PathLike[str],
    *,
    key: str | None = None,
    times_key: str | None = None,
    max_bytes: int = _DEFAULT_MAX_BYTES,
) -> Episode:
    """Open an episode by memory map.

    Args:
        path: A .npy file, or a .npz archive. Arrays stored without compression are read where they
            lie; compressed ones are unpacked into memory.
        key: The archive's array of frames; None (default) takes the only one that can be frames.
        times_key: The archive's array of seconds, one per frame; None (default) for no times.
        max_bytes: Of a compressed array once unpacked; more is an error.

    Returns:
        The episode.

    Raises:
        DataError: If the file is damaged, holds no frames, or holds pickled objects, which are
            never loaded.

    >>> import numpy as np, tempfile, pathlib
    >>> from framejudge.frames.episode import open_episode
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name) / "episode.npz"
    >>> np.savez(file, rgb=np.zeros((5, 4, 6, 3), np.uint8), t=np.arange(5) / 10)
    >>> with open_episode(file, times_key="t") as episode:
    ...     [(frame.index, frame.pts_s) for frame in episode.frames(every_s=0.2)]
    [(0, 0.0), (2, 0.2), (4, 0.4)]
    >>> folder.cleanup()
    """
    name = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            is_archive = file.read(2) == b"PK"
        if not is_archive:
            if key is not None or times_key is not None:
                raise DataError(f"{name}: is one array; key and times_key are for .npz archives")
            return Episode(np.load(path, mmap_mode="r", allow_pickle=False), name=name)
        with zipfile.ZipFile(path) as archive:
            return _from_archive(archive, Path(path), key, times_key, max_bytes)
    except (ValueError, EOFError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{name}: can't be read as an array: {error}") from error


def _from_archive(
    archive: zipfile.ZipFile, path: Path, key: str | None, times_key: str | None, max_bytes: int
) -> Episode:
    members = {
        info.filename.removesuffix(".npy"): info
        for info in archive.infolist()
        if info.filename.endswith(".npy")
    }
    for wanted in (key, times_key):
        if wanted is not None and wanted not in members:
            raise DataError(f"{path}: has arrays {sorted(members)}, not {wanted!r}")
    if key is None:
        able = [name for name, info in members.items() if _can_be_frames(archive, info)]
        if len(able) != 1:
            raise DataError(
                f"{path}: {len(able)} of its arrays can be frames ({sorted(able)} of "
                f"{sorted(members)}); name one by key="
            )
        key = able[0]
    times_s = None
    if times_key is not None:
        times_s = _member(archive, path, members[times_key], max_bytes)
    frames = _member(archive, path, members[key], max_bytes)
    return Episode(frames, times_s=times_s, name=f"{path}[{key}]")


def _can_be_frames(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bool:
    with archive.open(info) as file:
        shape, _, dtype = _header(file)
    return dtype == np.uint8 and _is_layout(shape)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise DataError(f"an array of format {version} can't be read")
    shape, is_fortran, dtype = read(file)
    if dtype.hasobject:
        raise DataError("an array of pickled objects is never loaded")
    return shape, is_fortran, dtype


def _member(
    archive: zipfile.ZipFile, path: Path, info: zipfile.ZipInfo, max_bytes: int
) -> NDArray[Any]:
    if info.compress_type != zipfile.ZIP_STORED:
        if info.file_size > max_bytes:
            raise DataError(
                f"{path}: {info.filename} unpacks to {info.file_size} bytes, "
                f"more than the limit of {max_bytes}"
            )
        with archive.open(info) as file:
            unpacked: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
            return unpacked
    with path.open("rb") as file:
        file.seek(info.header_offset)
        local = file.read(_LOCAL_HEADER_BYTES)
        if len(local) < _LOCAL_HEADER_BYTES or local[:4] != b"PK\x03\x04":
            raise DataError(f"{path}: {info.filename} is not where the archive says")
        names = int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little")
        begin = file.seek(names, os.SEEK_CUR)
        shape, is_fortran, dtype = _header(file)
        if file.tell() - begin + math.prod(shape) * dtype.itemsize > info.file_size:
            raise DataError(f"{path}: {info.filename} claims {shape}, more than it holds")
        order = "F" if is_fortran else "C"
        return np.memmap(path, dtype, "r", file.tell(), shape, order)  # type: ignore[call-overload,no-any-return]


def _is_layout(shape: tuple[int, ...]) -> bool:
    if min(shape, default=0) < 1:
        return False
    is_gray = len(shape) == 3  # noqa: PLR2004
    return is_gray or (len(shape) == 4 and (shape[3] in _CHANNELS or shape[1] in _CHANNELS))  # noqa: PLR2004


def _channels_last(array: NDArray[Any], name: str) -> NDArray[np.uint8]:
    if array.dtype != np.uint8 or not _is_layout(array.shape):
        raise DataError(f"{name}: frames are {_LAYOUTS}, got {array.shape} {array.dtype}")
    if array.ndim == 3:  # noqa: PLR2004
        return array[..., None]
    return array if array.shape[3] in _CHANNELS else array.transpose(0, 2, 3, 1)


def _checked_times(times_s: NDArray[Any], count: int, name: str) -> NDArray[np.float64]:
    if times_s.shape != (count,) or times_s.dtype.kind not in "fiu":
        raise DataError(
            f"{name}: needs {count} times in seconds, got {times_s.shape} {times_s.dtype}"
        )
    seconds = np.asarray(times_s, dtype=np.float64)
    if not np.all(np.isfinite(seconds)) or np.any(np.diff(seconds) < 0):
        raise DataError(f"{name}: its times must be finite and never run backwards")
    return seconds
