"""A rollout's frames, found, chosen and made ready for a judge.

A rollout is a folder (or a file) with pictures, an array or a video; the first kind that is there
counts, in this order, and what is left out is named. Pictures are turned upright, laid over white
where they are transparent, scaled down to the longest side that is allowed, and written without any
metadata.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from framejudge._core import encode_jpeg, encode_png, resize
from framejudge._files import place
from framejudge.errors import DamagedVideoError, DataError, InputError, VideoError
from framejudge.frames.decoding import decode, probe
from framejudge.frames.episode_arrays import array_preference, open_frames
from framejudge.frames.hash import sha256
from framejudge.frames.selection import FrameSelection, select_indices
from framejudge.frames.video import Video
from framejudge.schemas import FrameEvidence, SubmittedFrame

__all__ = ["FRAME_FORMATS", "CollectedFrames", "collect_frames", "natural_key"]

FrameFormat = Literal["png", "jpeg"]
FRAME_FORMATS: tuple[FrameFormat, ...] = ("png", "jpeg")

_PICTURES = frozenset({".bmp", ".jpeg", ".jpg", ".png", ".ppm", ".webp"})
_ARRAYS = frozenset({".npy", ".npz"})
_VIDEOS = frozenset({".avi", ".mov", ".mp4", ".mpeg", ".mpg", ".webm"})
_FALLBACK_EVERY_S = 1.0
_JPEG_QUALITY = 90

Picture = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectedFrames:
    """Frames to submit, and what the caller should know about the choice."""

    frames: tuple[SubmittedFrame, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Raw:
    """Pixels of a chosen frame and where they are from."""

    pixels: Picture
    label: str
    kind: Literal["image-sequence", "numpy-episode", "video"]
    index: int | None
    count: int | None
    pts_s: float | None = None


def collect_frames(
    path: str | os.PathLike[str],
    *,
    frame_selection: FrameSelection = "keyframes",
    max_frames: int = 4,
    max_side_px: int = 768,
    frame_format: FrameFormat = "png",
    share: float = 1.0,
) -> CollectedFrames:
    """Find a rollout's frames, choose some, and make them ready.

    Args:
        path: a folder or a file.
        frame_selection: "final", "keyframes" or "sequence"; see `select_indices`.
        max_frames: how many may be sent.
        max_side_px: the longer side's greatest length; smaller frames stay as they are.
        frame_format: "png" (deterministic, lossless) or "jpeg".
        share: of the source, from its start, as if it ended there; at least `max_frames`.

    Returns:
        The frames in order, and warnings that name what was left out.

    Raises:
        DataError: no frames, or a file that can't be read, by name.
        ImageError: a picture that can't be decoded, by name.
        VideoError: a video that can't be read, by name.

    >>> import numpy as np, tempfile, pathlib
    >>> from framejudge import frames
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for k in (2, 10):
    ...         picture = frames.encode_png(np.full((8, 8, 3), k, np.uint8))
    ...         _ = (pathlib.Path(folder) / f"frame_{k}.png").write_bytes(picture)
    ...     found = collect_frames(folder, frame_selection="sequence")
    >>> [frame.evidence.label for frame in found.frames]
    ['frame_2.png', 'frame_10.png']
    """
    if max_side_px < 1:
        raise InputError(f"max_side_px must be at least 1, got {max_side_px}")
    if frame_format not in FRAME_FORMATS:
        raise InputError(f"frame_format must be png or jpeg, got {frame_format!r}")
    select_indices(0, max_frames, frame_selection)  # checks both
    root = place(path)
    found = _discover(root)
    warnings = found.warnings()

    def choose(count: int) -> list[int]:
        kept = min(count, max(max_frames, math.ceil(share * count)))
        return select_indices(kept, max_frames, frame_selection)

    if found.pictures:
        raw = _read_pictures(root, found.pictures, choose, max_side_px)
    elif found.arrays:
        raw = _read_array(root, found.arrays, choose)
    elif found.videos:
        raw, note = _read_video(
            root, found.videos[0], choose, max_frames, max_side_px, frame_selection
        )
        warnings += note
    else:
        raise DataError(
            f"{root}: holds no frames; expected pictures ({', '.join(sorted(_PICTURES))}), "
            f"arrays ({', '.join(sorted(_ARRAYS))}) or a video ({', '.join(sorted(_VIDEOS))})"
        )
    return CollectedFrames(
        frames=tuple(_submitted(one, max_side_px, frame_format) for one in raw),
        warnings=tuple(warnings),
    )


@dataclass(slots=True)
class _Found:
    root: Path
    pictures: list[Path]
    arrays: list[Path]
    videos: list[Path]

    def warnings(self) -> list[str]:
        """What will be left out or mixed, by name."""
        kinds = [
            ("pictures", self.pictures),
            ("arrays", self.arrays),
            ("videos", self.videos),
        ]
        there = [(name, files) for name, files in kinds if files]
        told = [
            f"{self.root}: only the {there[0][0]} are judged; left out: {_names(self.root, files)}"
            for _, files in there[1:]
        ]
        chosen = there[0][1] if there else []
        if not self.pictures and len(chosen) > 1:
            told.append(
                f"{self.root}: only {_label(self.root, chosen[0])} is judged; "
                f"left out: {_names(self.root, chosen[1:])}"
            )
        folders = {file.relative_to(self.root).parts[0] for file in chosen if file != self.root}
        folders = {name for name in folders if (self.root / name).is_dir()}
        if len(folders) > 1:
            several = ", ".join(sorted(folders, key=natural_key)[:5])
            told.append(
                f"{self.root}: holds several folders with frames ({several}), which are judged as "
                "one rollout; use `framejudge loop` to judge each"
            )
        return told


def _discover(root: Path) -> _Found:
    if not root.exists():
        raise DataError(f"{root}: does not exist")
    found = _Found(root, [], [], [])
    for file in _files_under(root):
        suffix = file.suffix.lower()
        for suffixes, kind in (
            (_PICTURES, found.pictures),
            (_ARRAYS, found.arrays),
            (_VIDEOS, found.videos),
        ):
            if suffix in suffixes:
                kind.append(file)
    for kind in (found.pictures, found.videos):
        kind.sort(key=lambda file: natural_key(_label(root, file)))
    found.arrays.sort(
        key=lambda file: (array_preference(file.name), natural_key(_label(root, file)))
    )
    return found


def _files_under(root: Path) -> Iterable[Path]:
    """Every file that is not hidden; links to folders aren't followed."""
    if not root.is_dir():
        yield root
    elif isinstance(root, Path):
        for folder, folders, names in os.walk(root):
            _keep_visible(folders)
            files = (Path(folder) / name for name in names if not name.startswith("."))
            yield from (file for file in files if file.is_file())  # a pipe would never end
    else:  # a store lists all at once
        for file in root.rglob("*"):
            if not any(part.startswith(".") for part in file.relative_to(root).parts):
                yield file


def _keep_visible(folders: list[str]) -> None:
    """Leave hidden folders out of the walk, which goes on with what stays in the list."""
    folders[:] = [name for name in folders if not name.startswith(".")]


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """So that frame_2 comes before frame_10."""
    parts = re.split(r"(\d+)", text.lower())
    return tuple((0, int(p), p) if p.isdecimal() else (1, 0, p) for p in parts if p)


def _label(root: Path, file: Path) -> str:
    return file.name if file == root else file.relative_to(root).as_posix()


def _names(root: Path, files: Sequence[Path]) -> str:
    shown = ", ".join(_label(root, file) for file in files[:5])
    return shown + (f" and {len(files) - 5} more" if len(files) > 5 else "")  # noqa: PLR2004


def _read_pictures(
    root: Path, files: list[Path], choose: Callable[[int], list[int]], max_side_px: int
) -> list[_Raw]:
    raw = []
    for index in choose(len(files)):
        file = files[index]
        try:
            pixels = _flat_picture(file.read_bytes(), max_side_px)
        except ValueError as error:  # of the picture; its class stays what it was
            raise type(error)(f"{file}: {error}") from None
        raw.append(
            _Raw(
                pixels=pixels,
                label=_label(root, file),
                kind="image-sequence",
                index=index,
                count=len(files),
            )
        )
    return raw


def _flat_picture(content: bytes, max_side_px: int) -> Picture:
    """Upright RGB, over white."""
    if not probe(content).has_alpha:
        return decode(content, max_side_px=max_side_px)
    rgba = decode(content, mode="rgba", max_side_px=max_side_px)
    alpha = rgba[..., 3:].astype(np.uint32)
    over_white = rgba[..., :3] * alpha + 255 * (255 - alpha)
    return ((over_white + 127) // 255).astype(np.uint8)


def _read_array(root: Path, files: list[Path], choose: Callable[[int], list[int]]) -> list[_Raw]:
    file = files[0]
    with ExitStack() as opened:
        for file in files:  # the first that holds frames; an episode's actions lie beside them
            local = opened.enter_context(_on_disk(file))
            try:
                key, array = open_frames(local, name=str(file))
                break
            except DataError:
                if file == files[-1]:
                    raise
        label = _label(root, file) + (f":{key}" if key else "")
        return [
            _Raw(
                pixels=array.frame(index),
                label=f"{label}:{index}",
                kind="numpy-episode",
                index=index,
                count=len(array),
            )
            for index in choose(len(array))
        ]


@contextmanager
def _on_disk(file: Path) -> Iterator[Path]:
    """Yield the file itself, or a copy of what is behind a URL."""
    if isinstance(file, Path):
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / file.name
        with file.open("rb") as source, local.open("wb") as target:
            shutil.copyfileobj(source, target)
        yield local


def _read_video(
    root: Path,
    file: Path,
    choose: Callable[[int], list[int]],
    max_frames: int,
    max_side_px: int,
    frame_selection: FrameSelection,
) -> tuple[list[_Raw], list[str]]:
    label = _label(root, file)
    with _on_disk(file) as local, Video(local) as video:
        try:
            count: int | None = video.count_frames()
        except VideoError:
            count = None
        if count is None:
            return _sampled(video, label, max_frames, max_side_px, frame_selection)
        if video.damage:  # its end is not what it was, and the last frames say the most
            raise DamagedVideoError(f"{file}: {'; '.join(video.damage)}")
        indices = choose(count)
        raw: list[_Raw] = []
        for frame in video.frames(indices=indices, max_side_px=max_side_px):
            if frame.is_corrupt:
                raise DamagedVideoError(f"{file}: frame {frame.index} is damaged")
            raw.append(
                _Raw(
                    pixels=frame.pixels,
                    label=f"{label}:frame-{len(raw) + 1:03d}.png",
                    kind="video",
                    index=frame.index,
                    count=count,
                    pts_s=frame.pts_s,
                )
            )
        if len(raw) < len(indices):
            told = "; ".join(video.damage) or "no reason given"
            raise DamagedVideoError(
                f"{file}: {len(indices)} frames were chosen and {len(raw)} could be read: {told}"
            )
        return raw, []


def _sampled(
    video: Video, label: str, max_frames: int, max_side_px: int, frame_selection: FrameSelection
) -> tuple[list[_Raw], list[str]]:
    """Where nothing tells how many frames there are: one a second from the start, or the last."""
    picked: list[Picture] = []
    if frame_selection == "final":
        for frame in video.frames(max_side_px=max_side_px):
            picked = [frame.pixels]
    else:
        for frame in video.frames(every_s=_FALLBACK_EVERY_S, max_side_px=max_side_px):
            picked.append(frame.pixels)
            if len(picked) == max_frames:
                break
    if not picked:
        raise VideoError(f"{video.name}: no frame could be read")
    raw = [
        _Raw(
            pixels=pixels,
            label=f"{label}:frame-{number:03d}.png",
            kind="video",
            index=None,
            count=None,
        )
        for number, pixels in enumerate(picked, start=1)
    ]
    note = (
        f"{video.name}: how many frames it has is not known; "
        "one a second is judged, from the start, and its end may not be among them"
    )
    return raw, [note]


def _submitted(raw: _Raw, max_side_px: int, frame_format: FrameFormat) -> SubmittedFrame:
    pixels = np.ascontiguousarray(raw.pixels)
    if max(pixels.shape[:2]) > max_side_px:
        pixels = resize(pixels, max_side_px=max_side_px)
    if frame_format == "png":
        data, seen = encode_png(pixels), pixels
    else:
        data = encode_jpeg(pixels, quality=_JPEG_QUALITY)
        seen = decode(data)
    height, width = pixels.shape[:2]
    return SubmittedFrame(
        data=data,
        evidence=FrameEvidence(
            label=raw.label,
            media_type=f"image/{frame_format}",
            sha256=sha256(data).hex(),
            byte_count=len(data),
            width=width,
            height=height,
            source_kind=raw.kind,
            source_index=raw.index,
            source_count=raw.count,
            source_timestamp_s=raw.pts_s,
            decoded_rgb_sha256=sha256(seen.tobytes()).hex(),
        ),
    )
