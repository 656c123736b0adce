"""Video files and streams as exact, upright frames; the only module that imports PyAV."""

from __future__ import annotations

import itertools
import logging
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, Self

from framejudge import _core
from framejudge.errors import (
    ConfigurationError,
    DamagedVideoError,
    InputError,
    MissingExtraError,
    VideoError,
    VideoTimeoutError,
)
from framejudge.frames.decoding import Filter, Mode
from framejudge.frames.video_frame import FrameView, JpegPicture, MjpegFrame, VideoFrame
from framejudge.frames.video_index import FrameCounter, PacketTable
from framejudge.frames.video_picker import Picker
from framejudge.frames.video_source import Source
from framejudge.frames.video_stream import Reporter, Stream, moving_pictures, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import ModuleType, TracebackType

__all__ = ["Video", "VideoFrame"]

logger = logging.getLogger("framejudge.frames.video")

OnDamage = Literal["flag", "skip", "raise"]

# Ticks of `every_s` and `times_s` that miss a timestamp by less than this, hit it.
_SLACK_S = 1e-6


def _av() -> ModuleType:
    try:
        import av  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("Reading video", extra="video") from error
    module: ModuleType = av
    return module


class Video:
    """A video file, its bytes, or a stream.

    Frames come in the order of showing, with the timestamps of the container, turned upright.
    Damage does not stop it: frames that the decoder flags, and those that lean on them, have
    ``is_corrupt``, and `damage` says what is wrong where; ``on_damage="raise"`` makes it an error.
    Motion JPEG is decoded by framejudge's own decoder, as FFmpeg's gives half a picture for half a
    frame without a word.

    Close it, or use it as a context manager. One object may be read several times, also at once
    unless its source is a file object.
    """

    def __init__(
        self,
        source: Any,
        *,
        format: str | None = None,  # noqa: A002 - FFmpeg's word
        hw: str | None = None,
        threads: int | Literal["auto"] = "auto",
        open_timeout_s: float | None = 10.0,
        read_timeout_s: float | None = 10.0,
        on_damage: OnDamage = "flag",
        assume_intact: bool = False,
        max_pixels: int = 178_000_000,
        options: dict[str, str] | None = None,
    ) -> None:
        """Open a video.

        Args:
            source: A path, a URL, bytes (or another buffer), or a binary file object.
            format: FFmpeg's name of the container, where its first bytes do not tell.
            hw: A hardware decoder such as ``"cuda"``; None (default) decodes on the CPU.
            threads: Of the decoder; ``"auto"`` (default) is the size of framejudge's pool.
            open_timeout_s: Seconds that a server may take to answer, 10 by default; None waits.
            read_timeout_s: Seconds that a server may be silent, 10 by default; None waits.
            on_damage: ``"flag"`` (default) gives damaged frames with ``is_corrupt``, ``"skip"``
                leaves them out, ``"raise"`` ends with `DamagedVideoError`.
            assume_intact: Whether, on the way to a frame that was asked for, pictures that no
                other leans on may be skipped. It saves up to half of the time between keyframes,
                and damage to them, or by a picture that poses as one, is not noticed.
            max_pixels: Width times height of a frame; more is an error.
            options: FFmpeg's options of the container, such as ``rtsp_transport``; RTSP goes over
                TCP unless they say otherwise.

        Raises:
            MissingExtraError: Without the extra ``[video]``.
            VideoError: If it can't be opened or holds no video.
            ConfigurationError: If `hw` does not work here, or not for this codec.
            VideoTimeoutError: If the server does not answer in time.

        >>> import numpy as np
        >>> from framejudge import frames
        >>> motion_jpeg = 3 * frames.encode_jpeg(np.zeros((48, 64, 3), dtype=np.uint8))
        >>> with frames.Video(motion_jpeg, format="mjpeg") as video:
        ...     [(frame.index, frame.pixels.shape) for frame in video.frames(indices=[2, 0])]
        [(2, (48, 64, 3)), (0, (48, 64, 3))]
        """
        if threads != "auto" and (not isinstance(threads, int) or threads < 1):
            raise InputError(f'threads must be "auto" or at least 1, got {threads!r}')
        if on_damage not in ("flag", "skip", "raise"):
            raise InputError(f"on_damage must be flag, skip or raise, got {on_damage!r}")
        self._source = Source.of(source)
        self._format = format
        self.hw = hw
        self._threads = _core.threads() if threads == "auto" else threads
        self.open_timeout_s = open_timeout_s
        self.read_timeout_s = read_timeout_s
        self._on_damage = on_damage
        self._assume_intact = assume_intact
        self._max_pixels = max_pixels
        self._options = {"rtsp_transport": "tcp"} if self._source.is_rtsp else {}
        self._options |= options or {}
        self._damage: dict[str, None] = {}
        self._table: PacketTable | None = None
        self._is_closed = False
        self._streams: list[Stream] = []
        self._parked: Stream | None = None
        self._spare: Any = None
        self._spare = self._open_container()
        stream = self._spare.streams.video[0]
        self._declared_frames: int = stream.frames
        self._time_base = seconds_of(stream.time_base)
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > max_pixels:
            self.close()
            raise VideoError(f"{self.name}: {width} x {height} is more than {max_pixels} pixels")
        #: FFmpeg's name of the codec.
        self.codec: str = stream.codec_context.name

    @property
    def name(self) -> str:
        """The source, for messages; without the password of a URL."""
        return self._source.name

    @property
    def damage(self) -> tuple[str, ...]:
        """What was found damaged by what was read so far."""
        return tuple(self._damage)

    def count_frames(self) -> int:
        """How many frames there are; reads the whole file once, without decoding.

        Raises:
            VideoError: If only decoding can tell: a live source, or no usable timestamps.
        """
        table = self._packet_table()
        if not table.is_seekable:
            raise VideoError(f"{self.name}: its timestamps do not tell how many frames it has")
        return len(table.pts)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give back files, sockets and decoders; iterators that still run end with an error."""
        self._is_closed = True
        for stream in self._streams:
            stream.close()
        self._streams.clear()
        self._parked = None
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    def frames(
        self,
        *,
        indices: Iterable[int] | None = None,
        times_s: Iterable[float] | None = None,
        every_s: float | None = None,
        mode: Mode = "rgb",
        size: tuple[int, int] | None = None,
        max_side_px: int | None = None,
        filter: Filter = "area",  # noqa: A002 - the name that resize has
    ) -> Iterator[VideoFrame]:
        """The frames, or those that are asked for, in the order asked.

        Args:
            indices: Numbers of frames, from 0; or
            times_s: seconds, each giving the frame on screen then; or
            every_s: seconds, giving the first frame at or after each multiple from the first
                frame on, none twice. None of the three (default) gives all.
            mode: Of `VideoFrame.pixels`: ``"rgb"`` (default), ``"gray"`` or ``"rgba"``.
            size: (height, width) of them; or
            max_side_px: the longer side's greatest length. Neither (default) keeps the size.
            filter: Used with a size: ``"area"`` (default), ``"bilinear"``, ``"bicubic"`` or
                ``"lanczos"``.

        Yields:
            One frame after the other. A frame that can't be decoded is left out and noted in
            `damage`.

        Raises:
            InputError: For options that can't work, or a number beyond the last frame.
            VideoError: If nothing can be decoded, or what is asked needs timestamps that the
                source does not have.
            DamagedVideoError: For damage, with ``on_damage="raise"``.
            VideoTimeoutError: If the server is silent for too long.
        """
        if sum(choice is not None for choice in (indices, times_s, every_s)) > 1:
            raise InputError("give one of indices=, times_s= and every_s=")
        if every_s is not None and not (math.isfinite(every_s) and every_s > 0):
            raise InputError(f"every_s must be a positive number of seconds, got {every_s!r}")
        view = FrameView(mode, size, max_side_px, filter)
        if indices is not None:
            return self._at_indices([_checked_index(i) for i in indices], view)
        if times_s is not None:
            return self._at_times([float(t) for t in times_s], view)
        return self._through(view) if every_s is None else self._every(every_s, view)

    def __iter__(self) -> Iterator[VideoFrame]:
        """All frames."""
        return self.frames()

    def _open_container(self) -> Any:
        if self._is_closed:
            raise VideoError(f"{self.name}: it is closed")
        if self._spare is not None:
            container, self._spare = self._spare, None
            return container
        av = _av()
        started = time.monotonic()
        try:
            container = self._opened(av, self._format)
        except (av.error.FFmpegError, RuntimeError) as error:
            limit = self.open_timeout_s
            is_late = limit is not None and time.monotonic() - started >= limit * 0.95
            if is_late or isinstance(error, av.error.ExitError):
                raise VideoTimeoutError(f"{self.name}: no answer in {limit} s") from error
            if self.hw is not None:
                text = f"{self.name}: can't be opened with hw={self.hw!r}: {error}"
                raise ConfigurationError(text) from error
            if self._format is not None or not self._source.looks_like_jpegs():
                raise VideoError(f"{self.name}: can't be opened as video: {error}") from error
            container = self._opened_as_jpegs(av)
        if not moving_pictures(container):
            told = "holds no video" + (", only a cover picture" if container.streams.video else "")
            container.close()
            raise VideoError(f"{self.name}: {told}")
        return container

    def _opened_as_jpegs(self, av: ModuleType) -> Any:
        try:
            return self._opened(av, "mjpeg")
        except av.error.FFmpegError as error:
            raise VideoError(f"{self.name}: can't be opened as video: {error}") from error

    def _opened(self, av: ModuleType, container_format: str | None) -> Any:
        hwaccel = None
        if self.hw is not None:
            kinds = av.codec.hwaccel.hwdevices_available()
            if self.hw not in kinds:
                raise ConfigurationError(f"hw must be one of {kinds}, got {self.hw!r}")
            hwaccel = av.codec.hwaccel.HWAccel(self.hw, allow_software_fallback=False)
        return av.open(
            self._source.reopen(),
            format=container_format,
            options=self._options,
            timeout=(self.open_timeout_s, self.read_timeout_s),
            hwaccel=hwaccel,
        )

    def _stream(self, *, threads: int = 1) -> Stream:
        if self._source.is_shared:
            for other in self._streams:
                other.close()
            self._streams.clear()
            self._parked = None
        stream = Stream(
            self._open_container(), self._reporter(), threads=threads, max_pixels=self._max_pixels
        )
        self._streams.append(stream)
        return stream

    def _reporter(self) -> Reporter:
        error = _av().error
        return Reporter(
            self.name,
            error.FFmpegError,
            error.ExitError,
            self._note,
            self.read_timeout_s,
            self.hw,
        )

    def _release(self, stream: Stream) -> None:
        stream.close()
        with suppress(ValueError):  # closed with the whole already
            self._streams.remove(stream)

    def _note(self, text: str) -> None:
        if text not in self._damage:
            self._damage[text] = None
            logger.info("%s: %s", self.name, text)
        if self._on_damage == "raise":
            raise DamagedVideoError(f"{self.name}: {text}")

    def _packet_table(self) -> PacketTable:
        if self._table is None:
            if self._source.is_live:
                raise VideoError(f"{self.name}: a live source has no frame numbers; use every_s")
            stream = self._stream()
            packets = []
            try:
                while (packet := stream.next_packet()) is not None:
                    packets.append(stream.info(packet))
            except BaseException:
                self._release(stream)
                raise
            self._table = PacketTable(packets)
            self._park(stream)
        return self._table

    def _frame(self, raw: Any, index: int, stream: Stream, view: FrameView) -> VideoFrame | None:
        """A decoded frame for the user, or None if it is damaged and those are left out."""
        pts_s = None if raw.pts is None else raw.pts * stream.time_base
        is_fresh = raw.key_frame and not raw.is_corrupt
        tainted = stream.tracker.is_tainted(raw.dts, is_key=is_fresh)
        frame: VideoFrame
        if isinstance(raw, JpegPicture):
            frame = MjpegFrame.decoded(raw, index, pts_s, view)
        else:
            is_corrupt = bool(raw.is_corrupt or tainted)
            rotation = int(raw.rotation) % 360
            frame = VideoFrame(index, pts_s, bool(raw.key_frame), is_corrupt, rotation, raw, view)
        if frame.is_corrupt:
            # One that only leans on a damaged one is worth a note if that ends all.
            if raw.is_corrupt or not tainted or self._on_damage == "raise":
                self._note(f"frame {index}{stream.at(raw.pts)} is damaged")
            if self._on_damage == "skip":
                return None
        return frame

    def _through(self, view: FrameView) -> Iterator[VideoFrame]:
        due = 0
        for threads in (1,) if self._source.is_live else (self._threads, 1):
            stream = self._stream(threads=threads)
            try:
                for index, raw in self._numbered(stream):
                    if stream.is_suspect:
                        break
                    if index >= due:
                        due = index + 1
                        frame = self._frame(raw, index, stream, view)
                        if frame is not None:
                            yield frame
            finally:
                self._release(stream)
            if not stream.is_suspect:
                break
        if due == 0:
            raise VideoError(f"{self.name}: no frame can be decoded")

    def _numbered(self, stream: Stream) -> Iterator[tuple[int, Any]]:
        """Numbers and decoded frames to the end; notes what is missing."""
        counter = FrameCounter()
        while not stream.is_drained:
            packet = stream.next_packet()
            if packet is not None:
                counter.feed(stream.info(packet))
            for raw in stream.decode(packet):
                yield counter.number(raw.pts), raw
        if stream.is_suspect:
            return
        counter.finish()
        for pts in counter.missing:
            self._note(f"the frame at {pts * stream.time_base:.6f} s can't be decoded")
        if 0 < stream.ordinal < self._declared_frames:
            self._note(f"{self._declared_frames} frames declared, {stream.ordinal} there")

    def _every(self, every_s: float, view: FrameView) -> Iterator[VideoFrame]:
        if not self._source.is_live:
            table = self._packet_table()
            if table.is_seekable:
                return self._picked(
                    table.ticks(every_s, self._time_base, slack_s=_SLACK_S), table, view
                )
        return self._every_streamed(every_s, view)

    def _every_streamed(self, every_s: float, view: FrameView) -> Iterator[VideoFrame]:
        first: float | None = None
        due = -math.inf
        for frame in self._through(view):
            if frame.pts_s is None:
                raise VideoError(f"{self.name}: has no timestamps; use indices")
            if first is None or frame.pts_s < first:
                first, due = frame.pts_s, frame.pts_s
            if frame.pts_s >= due - _SLACK_S:
                yield frame
                due = first + (math.floor((frame.pts_s - first + _SLACK_S) / every_s) + 1) * every_s

    def _at_times(self, times_s: list[float], view: FrameView) -> Iterator[VideoFrame]:
        table = self._packet_table()
        if not table.is_seekable:
            raise VideoError(f"{self.name}: its timestamps can't be used; use indices")
        for time_s in times_s:
            if not math.isfinite(time_s):
                raise InputError(f"times_s must be finite seconds, got {time_s!r}")
        picked = [table.index_at((time_s + _SLACK_S) / self._time_base) for time_s in times_s]
        return self._picked(picked, table, view)

    def _at_indices(self, indices: list[int], view: FrameView) -> Iterator[VideoFrame]:
        table = self._packet_table()
        if not table.is_seekable:
            return self._counted(indices, view)
        for index in indices:
            if index >= len(table.pts):
                raise InputError(
                    f"{self.name}: has frames 0 to {len(table.pts) - 1}, got index {index}"
                )
        return self._picked(indices, table, view)

    def _counted(self, indices: list[int], view: FrameView) -> Iterator[VideoFrame]:
        """Frames by counting from the start; an index below the one before starts over."""
        passing: Iterator[VideoFrame] = iter(())
        frame: VideoFrame | None = None
        for index in indices:
            if frame is None or frame.index > index:
                passing, frame = self._through(view), None
            while frame is None or frame.index < index:
                frame = next(passing, None)
                if frame is None:
                    raise InputError(f"{self.name}: has no frame {index}")
            if frame.index == index:
                yield frame

    def _picked(
        self, indices: list[int], table: PacketTable, view: FrameView
    ) -> Iterator[VideoFrame]:
        if not indices:
            return
        span = max(indices) - min(indices) + 1
        # Frames that threads work on ahead are thrown away at each jump.
        is_sparse = len(set(indices)) * 4 < span or self._threads == 1
        stream = self._unparked() if is_sparse else self._stream(threads=self._threads)
        try:
            wanted = {table.pts[i] for i in indices} if self._assume_intact else None
            picker = Picker(stream, table, wanted, self._stream_again)
            for index, following in itertools.zip_longest(indices, indices[1:]):
                goes_on = following is not None and following >= index
                next_pts = table.pts[following] if goes_on else None
                raw = picker.find(table.pts[index], next_pts)
                stream = picker.stream
                if raw is None:
                    self._note(f"frame {index}{stream.at(table.pts[index])} can't be decoded")
                    continue
                frame = self._frame(raw, index, stream, view)
                if frame is not None:
                    yield frame
        except BaseException:
            self._release(stream)
            raise
        self._park(stream)

    def _stream_again(self, old: Stream) -> Stream:
        self._release(old)
        return self._stream()

    def _park(self, stream: Stream) -> None:
        """Keep a stream of one thread for the next search: opening one costs many frames."""
        if stream.is_threaded or self._parked is not None or stream not in self._streams:
            self._release(stream)
        else:
            stream.is_drained = True  # so that the next search starts with a jump
            self._parked = stream

    def _unparked(self) -> Stream:
        stream, self._parked = self._parked, None
        return stream if stream is not None and stream in self._streams else self._stream()


def _checked_index(index: Any) -> int:
    if isinstance(index, bool) or not hasattr(index, "__index__") or int(index) < 0:
        raise InputError(f"indices must be whole numbers from 0, got {index!r}")
    return int(index)
