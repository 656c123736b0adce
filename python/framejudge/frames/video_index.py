"""Which packets a video's frames come from, and where decoding can start; knows no decoder.

NOTE [frame numbers]
Frame ``i`` is the one with the ``i``-th timestamp of the packets that are meant to be shown. So a
frame that can't be decoded keeps its number, and seeking and reading through agree. Where packets
have no timestamps, or these run backwards (a stream spliced from two), frames are counted as they
come out of the decoder and nothing is skipped.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import math
from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

__all__ = ["DamageTracker", "Entry", "FrameCounter", "PacketInfo", "PacketTable", "Settler"]

# The most that a standard lets a decoder hold back (H.264 and H.265: 16 frames).
_MOST_HELD = 16


class PacketInfo(NamedTuple):
    """What the container says of one packet, in units of the stream's time base."""

    pts: int | None
    dts: int | None
    is_key: bool
    is_shown: bool


@dataclass(frozen=True)
class Entry:
    """Where decoding starts for a frame: the keyframe's place in the file and its timestamp."""

    ordinal: int
    pts: int


class PacketTable:
    """The packets of a stream, read once without decoding."""

    def __init__(self, packets: list[PacketInfo]) -> None:
        """Sort out what can be seeked; `packets` are in the file's order."""
        self.n_packets = len(packets)
        shown = [p.pts for p in packets if p.is_shown]
        known = [pts for pts in shown if pts is not None]
        decode_times = [p.dts for p in packets if p.dts is not None]
        #: Whether timestamps say which frame is which; see NOTE [frame numbers].
        self.is_seekable = (
            len(known) == len(shown) > 0
            and len(set(known)) == len(known)
            and all(a <= b for a, b in itertools.pairwise(decode_times))
        )
        self.pts = sorted(known) if self.is_seekable else []
        self._entries = [
            Entry(ordinal, p.pts)
            for ordinal, p in enumerate(packets)
            if p.is_key and p.pts is not None
        ]
        self._entries.sort(key=lambda entry: entry.pts)
        self._entry_pts = [entry.pts for entry in self._entries]

    def entries_before(self, pts: int) -> list[Entry]:
        """Keyframes at or before `pts`, the latest first."""
        return self._entries[: bisect.bisect_right(self._entry_pts, pts)][::-1]

    def entry_before(self, pts: int) -> Entry | None:
        """The latest keyframe at or before `pts`."""
        at = bisect.bisect_right(self._entry_pts, pts)
        return self._entries[at - 1] if at else None

    def index_at(self, pts: float) -> int:
        """The frame on screen at `pts`: the last that began by then, or the first."""
        return max(0, bisect.bisect_right(self.pts, pts) - 1)

    def index_from(self, pts: float) -> int | None:
        """The first frame at or after `pts`; None behind the last."""
        at = bisect.bisect_left(self.pts, pts)
        return at if at < len(self.pts) else None

    def ticks(self, every_s: float, time_base: float, *, slack_s: float) -> list[int]:
        """The first frame at or after each multiple of `every_s` from the first frame on."""
        picked: list[int] = []
        first_s = self.pts[0] * time_base
        due_s = first_s
        while (at := self.index_from((due_s - slack_s) / time_base)) is not None:
            picked.append(at)
            passed_s = self.pts[at] * time_base - first_s
            due_s = first_s + (math.floor((passed_s + slack_s) / every_s) + 1) * every_s
        return picked


class FrameCounter:
    """Numbers frames while a stream is read through; see NOTE [frame numbers]."""

    def __init__(self) -> None:
        """Start at frame 0."""
        self._waiting: list[int] = []
        self._next = 0
        self._last_dts: int | None = None
        self._by_pts = True
        #: Timestamps of packets whose frames never came, since last asked.
        self.missing: list[int] = []

    def feed(self, packet: PacketInfo) -> None:
        """Note a packet that goes to the decoder."""
        runs_backwards = (
            packet.dts is not None and self._last_dts is not None and packet.dts < self._last_dts
        )
        if packet.dts is not None:
            self._last_dts = packet.dts
        if packet.pts is None or runs_backwards:
            self._by_pts = False
        elif packet.is_shown and self._by_pts:
            heapq.heappush(self._waiting, packet.pts)

    def number(self, pts: int | None) -> int:
        """The number of the frame that the decoder just gave."""
        if self._by_pts and pts is not None:
            while self._waiting and self._waiting[0] < pts:
                self.missing.append(heapq.heappop(self._waiting))
                self._next += 1
            if self._waiting and self._waiting[0] == pts:
                heapq.heappop(self._waiting)
        index = self._next
        self._next += 1
        return index

    def finish(self) -> None:
        """Note that the decoder is empty: what is still waited for is missing."""
        if self._by_pts:
            self.missing += sorted(self._waiting)
            self._waiting.clear()


class Settler:
    """Holds frames back until all that they may lean on are out, and their damage known.

    A picture can be shown before one that it leans on. The decoder flags the latter only when that
    comes out; the former has to wait for it.
    """

    def __init__(self) -> None:
        """Start with nothing in the decoder."""
        self._inside: list[int] = []
        self._done: set[int] = set()
        self._held: deque[Any] = deque()

    def feed(self, dts: int | None) -> None:
        """Note a packet that goes to the decoder."""
        if dts is not None:
            heapq.heappush(self._inside, dts)

    def settle(self, dts: int | None) -> None:
        """Note a packet that no frame will come of any more."""
        if dts is not None:
            self._done.add(dts)

    def release(self, frames: list[Any], *, is_last: bool = False) -> list[Any]:
        """Add what the decoder gave; take what can be judged."""
        self._held.extend(frames)
        for frame in frames:
            self.settle(frame.dts)
        while self._inside and self._inside[0] in self._done:
            self._done.discard(heapq.heappop(self._inside))
        released = []
        while self._held and (is_last or self._is_settled(self._held[0])):
            released.append(self._held.popleft())
        if is_last:
            self.clear()
        return released

    def clear(self) -> None:
        """Forget all, as the decoder does when it is flushed."""
        self._inside.clear()
        self._done.clear()
        self._held.clear()

    def _is_settled(self, frame: Any) -> bool:
        # A decoder drops a frame now and then without a word: nobody waits for ever.
        is_full = len(self._held) > _MOST_HELD
        return is_full or frame.dts is None or not self._inside or self._inside[0] > frame.dts


class DamageTracker:
    """Which frames lean on damaged ones: all from a damage to the next keyframe, as decoded."""

    def __init__(self) -> None:
        """Start without damage."""
        self._keys: deque[int] = deque(maxlen=64)
        self._damages: deque[int] = deque(maxlen=64)
        self._is_sticky = False

    def feed_key(self, dts: int | None) -> None:
        """Note a keyframe's packet."""
        if dts is not None:
            self._keys.append(dts)

    def damage(self, dts: int | None) -> None:
        """Note a packet or a frame that is damaged."""
        if dts is None:
            self._is_sticky = True
        else:
            self._damages.append(dts)

    def forget_order(self) -> None:
        """Note that the decoder starts at another place: damage without a time is behind it."""
        self._is_sticky = False

    def is_tainted(self, dts: int | None, *, is_key: bool) -> bool:
        """Whether the frame of the packet `dts` leans on a damage."""
        if is_key:
            self._is_sticky = False
        if dts is None or self._is_sticky:
            return self._is_sticky
        damages = [d for d in self._damages if d <= dts]
        keys = [k for k in self._keys if k <= dts]
        return bool(damages) and (not keys or max(damages) >= max(keys))
