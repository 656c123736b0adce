"""Packets of one opening of a video, and what the decoder makes of them.

NOTE [threads and damage]
FFmpeg's decoders give the same frames with one thread or many as long as the data are whole. In
damaged data, those that share slices lose the flag of some corrupt frames, and those that work on
several frames conceal by chance and lose frames behind an error. So slices are never shared, and at
the first sign of damage the source is read again by one thread, from the frame that comes next. A
live source can't be read again and has one thread from the start.
"""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from framejudge.errors import ConfigurationError, VideoError, VideoTimeoutError
from framejudge.frames.video_frame import JpegPicture
from framejudge.frames.video_index import DamageTracker, Entry, PacketInfo, Settler

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Reporter", "Stream", "moving_pictures", "seconds_of"]

# Reading so many packets and dropping them is cheaper, and surer, than seeking.
_PACKETS_WORTH_DROPPING = 300
# Tags of length are rounded, and count what a muxer thinks of the last frame.
_LENGTH_SLACK_S = 0.5
_ATTACHED_PICTURE = 0x400  # FFmpeg's AV_DISPOSITION_ATTACHED_PIC


class Reporter(NamedTuple):
    """What a stream needs to tell of its troubles."""

    name: str
    errors: type[Exception]
    interruption: type[Exception]
    note: Callable[[str], None]
    read_timeout_s: float | None
    hw: str | None


class Stream:
    """One opening of a source: packets, and what the decoder makes of them."""

    def __init__(
        self, container: Any, reporter: Reporter, *, threads: int, max_pixels: int
    ) -> None:
        """Set up the decoder of an opened container, which is closed with this."""
        self._report = reporter
        self._errors = reporter.errors
        self._container = container
        self._stream = moving_pictures(self._container)[0]
        self._context = self._stream.codec_context
        self.time_base = seconds_of(self._stream.time_base)
        self.is_jpeg = self._context.name == "mjpeg"
        if not self.is_jpeg:
            self._stream.thread_type = "NONE" if threads == 1 else "AUTO"
            self._context.thread_count = threads
            self._context.options = {"max_pixels": str(max_pixels)}  # sizes can change on the way
        self._packets: Iterator[Any] = self._container.demux(self._stream)
        self.ordinal = 0
        self.tracker = DamageTracker()
        self._settler = Settler()
        self._dts_of: dict[int | None, int] = {}
        self.is_threaded = threads > 1 and not self.is_jpeg
        #: Whether it has to be read again by one thread; see NOTE [threads and damage].
        self.is_suspect = False
        self.is_drained = False
        self.leading_until: int | None = None
        self._declared_s = declared_seconds(self._stream.metadata.get("DURATION", ""))
        self._ends_at: int | None = None

    def close(self) -> None:
        """Give everything back now."""
        self._container.close()

    def next_packet(self) -> Any | None:
        """The next packet, or None at the end; a container that breaks off ends there."""
        started = time.monotonic()
        failure: Exception | None = None
        packet = None
        try:
            packet = next(self._packets, None)
        except self._errors as error:
            failure = error
        if packet is not None and (packet.size > 0 or packet.dts is not None):
            self.ordinal += 1
            if packet.pts is not None:
                end = packet.pts + (packet.duration or 0)
                self._ends_at = end if self._ends_at is None else max(self._ends_at, end)
            return packet
        # A read that timed out is an interruption, or whatever the demuxer makes of it.
        limit = self._report.read_timeout_s
        is_late = limit is not None and time.monotonic() - started >= limit * 0.95
        if is_late or isinstance(failure, self._report.interruption):
            raise VideoTimeoutError(
                f"{self._report.name}: no data for {limit} s after packet {self.ordinal}"
            ) from failure
        if failure is not None:
            self._report.note(f"the stream breaks off after packet {self.ordinal}: {failure}")
        elif self._declared_s is not None and self._ends_at is not None:
            # Matroska has no count of frames: where it is cut, nothing else tells.
            end_s = self._ends_at * self.time_base
            if end_s < self._declared_s - _LENGTH_SLACK_S:
                self._report.note(f"the stream ends at {end_s:.2f} s of {self._declared_s:.2f} s")
        return None

    def decode(self, packet: Any | None, *, is_wanted: bool = True) -> list[Any]:
        """What the decoder gives for a packet; for None, all that it still holds."""
        if packet is None:
            self.is_drained = True
        else:
            self._feed(packet, is_wanted=is_wanted)
        if self.is_jpeg:
            return [] if packet is None else [JpegPicture(packet.pts, packet.dts, bytes(packet))]
        frames = []
        try:
            frames = self._context.decode(packet)
        except EOFError:
            pass
        except self._errors as error:
            self._refuse(packet, error)
        for frame in frames:
            # FFmpeg's own is that of another packet where frames are reordered.
            frame.dts = self._dts_of.pop(frame.pts, None)
            if frame.is_corrupt:
                self.is_suspect |= self.is_threaded
                self.tracker.damage(frame.dts)
        return self._settler.release(frames, is_last=packet is None)

    def _feed(self, packet: Any, *, is_wanted: bool) -> None:
        if packet.is_keyframe:
            self.tracker.feed_key(packet.dts)
        if self.is_jpeg:
            return
        skip = "DEFAULT" if is_wanted else "NONREF"
        if self._context.skip_frame != skip:
            self._context.skip_frame = skip
        if is_wanted and packet.pts is not None and packet.dts is not None:
            self._settler.feed(packet.dts)
            self._dts_of[packet.pts] = packet.dts

    def _refuse(self, packet: Any | None, error: Exception) -> None:
        if self._report.hw is not None:
            raise ConfigurationError(f"hw={self._report.hw!r} does not work: {error}") from error
        if self.is_threaded:
            self.is_suspect = True
            return
        pts, dts = (None, None) if packet is None else (packet.pts, packet.dts)
        self._settler.settle(dts)
        self.tracker.damage(dts)
        where = "at the end" if packet is None else f"in packet {self.ordinal - 1}"
        self._report.note(f"{where}{self.at(pts)}: {error}")

    def at(self, pts: int | None) -> str:
        """A timestamp, for messages."""
        return "" if pts is None else f" ({pts * self.time_base:.6f} s)"

    def info(self, packet: Any) -> PacketInfo:
        """What the index needs of a packet."""
        return PacketInfo(packet.pts, packet.dts, packet.is_keyframe, not packet.is_discard)

    def jump(self, entry: Entry) -> bool:
        """Make the packet of a keyframe the next; false if it can't be found again."""
        self.leading_until = entry.pts
        self.is_drained = False
        self._settler.clear()
        self._dts_of.clear()
        self.tracker.forget_order()
        if not self.is_jpeg and self._context.is_open:
            self._context.flush_buffers()
        if 0 <= entry.ordinal - self.ordinal <= _PACKETS_WORTH_DROPPING:
            return self.drop_until(entry)
        return self._seek(entry)

    def drop_until(self, entry: Entry) -> bool:
        """Read on to the packet of a keyframe, and make it the next."""
        while self.ordinal < entry.ordinal:
            if self.next_packet() is None:
                return False
        return True

    def _seek(self, entry: Entry) -> bool:
        try:
            self._container.seek(entry.pts, stream=self._stream, backward=True, any_frame=False)
        except self._errors:
            return False  # raw streams can't
        self._packets = self._container.demux(self._stream)
        while (packet := self.next_packet()) is not None:
            if packet.is_keyframe and packet.pts == entry.pts:
                self._packets = itertools.chain([packet], self._packets)
                self.ordinal = entry.ordinal
                return True
            if packet.is_keyframe and packet.pts is not None and packet.pts > entry.pts:
                return False
        return False


def moving_pictures(container: Any) -> list[Any]:
    """The streams of video; a cover picture of what is heard is none."""
    return [
        stream for stream in container.streams.video if not stream.disposition & _ATTACHED_PICTURE
    ]


def declared_seconds(text: str) -> float | None:
    """The length that Matroska's tag of a track gives, as in 00:00:03.000000000.

    >>> declared_seconds("00:01:03.500000000")
    63.5
    """
    parts = text.split(":")
    try:
        hours, minutes, seconds = (float(part) for part in parts)
    except ValueError:
        return None
    total = 3600 * hours + 60 * minutes + seconds
    return total if 0 < total < float("inf") else None


def seconds_of(time_base: Any) -> float:
    """A time base, whichever class of PyAV holds it."""
    numerator = getattr(time_base, "numerator", None) or getattr(time_base, "num", 0)
    denominator = getattr(time_base, "denominator", None) or getattr(time_base, "den", 0)
    if not numerator or not denominator:
        raise VideoError(f"the container has no usable time base: {time_base!r}")
    return float(numerator) / float(denominator)
