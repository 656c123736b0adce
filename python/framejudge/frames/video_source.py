"""Where a video comes from: a path, a URL, bytes or a file object, opened as often as needed."""

from __future__ import annotations

import io
import os
import urllib.parse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framejudge.errors import InputError, VideoError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Source"]

_LIVE_SCHEMES = frozenset({"rtmp", "rtp", "rtsp", "rtsps", "srt", "tcp", "udp"})
_HEAD_BYTES = 4096
_JPEG_START = b"\xff\xd8\xff"


class _Bytes(io.RawIOBase):
    """A buffer as a file, without a copy of the whole."""

    def __init__(self, view: memoryview) -> None:
        self._view = view
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        end = len(self._view) if size < 0 else self._at + size
        piece = bytes(self._view[self._at : end])
        self._at += len(piece)
        return piece

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: len(self._view)}[whence]
        self._at = max(0, start + offset)
        return self._at

    def tell(self) -> int:
        return self._at


class Source:
    """What a video is read from."""

    def __init__(self, target: Any, name: str, *, scheme: str = "", is_file: bool = False) -> None:
        """Use `of`, which looks at what was given."""
        self._target = target
        self.name = name
        self.is_rtsp = scheme in ("rtsp", "rtsps")
        #: Whether all readers share one position.
        self.is_shared = is_file
        #: Whether it can't be read twice.
        self.is_live = scheme in _LIVE_SCHEMES or (is_file and not _is_seekable(target))
        self._is_used = False

    @classmethod
    def of(cls, source: Any) -> Self:
        """Look at what was given.

        Raises:
            InputError: If it is no path, URL, buffer or binary file object.
        """
        if isinstance(source, (bytes, bytearray, memoryview)):
            return cls(memoryview(source).cast("B"), f"{len(source)} bytes of video")
        if hasattr(source, "read"):
            return cls(source, str(getattr(source, "name", "file object")), is_file=True)
        if isinstance(source, (str, os.PathLike)):
            path = os.fspath(source)
            if isinstance(path, str):
                scheme = urllib.parse.urlsplit(path).scheme if "://" in path else ""
                return cls(path, _without_password(path) if scheme else path, scheme=scheme)
        raise InputError(
            f"a video is a path, a URL, bytes or a binary file object, got {type(source).__name__}"
        )

    def reopen(self) -> Any:
        """What FFmpeg is to open, at its beginning."""
        if isinstance(self._target, memoryview):
            return _Bytes(self._target)
        if self.is_shared:
            if self._is_used and self.is_live:
                raise VideoError(f"{self.name}: can be read only once")
            self._is_used = True
            if not self.is_live:
                self._target.seek(0)
        return self._target

    def looks_like_jpegs(self) -> bool:
        """Whether a JPEG begins near the start, as behind a multipart header."""
        if self.is_live or (isinstance(self._target, str) and not Path(self._target).is_file()):
            return False
        if isinstance(self._target, str):
            with Path(self._target).open("rb") as file:
                return _JPEG_START in file.read(_HEAD_BYTES)
        return _JPEG_START in self.reopen().read(_HEAD_BYTES)


def _is_seekable(file: Any) -> bool:
    return hasattr(file, "seek") and (not hasattr(file, "seekable") or bool(file.seekable()))


def _without_password(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return urllib.parse.urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
