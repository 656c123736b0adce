"""Finds frames by timestamp, decoding as little as it takes.

NOTE [picking frames]
Decoding starts at the last keyframe at or before the frame. Where the next frame wanted lies behind
another keyframe, the decoder is emptied as soon as it has the packet: waiting would cost as many
frames as it holds back. Every frame is the one that reading through gives, bit for bit.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from framejudge.frames.video_index import Entry, PacketTable

__all__ = ["Picker"]

# A keyframe that is this near is reached by decoding.
_PACKETS_WORTH_DECODING = 8


class Picker:
    """One walk over the frames that are wanted; see NOTE [picking frames]."""

    def __init__(
        self,
        stream: Any,
        table: PacketTable,
        wanted: set[int] | None,
        reopen: Callable[[Any], Any],
    ) -> None:
        """Start before the first packet.

        Args:
            stream: Fresh.
            table: Of its packets.
            wanted: Timestamps of all frames that will be looked for, so that pictures which
                nothing leans on can be skipped; None skips none.
            reopen: Gives a fresh stream, of one thread, for another.
        """
        self.stream = stream
        self._table = table
        self._wanted = wanted
        self._reopen = reopen
        self._ready: deque[Any] = deque()
        self._passed: int | None = None
        self._held: Any = None

    def find(self, pts: int, next_pts: int | None) -> Any | None:
        """The frame at `pts`; `next_pts` is looked for after it, if that is behind."""
        if self._held is not None and self._held.pts == pts:
            return self._held
        frame = self._searched(pts, next_pts)
        if self.stream.is_suspect:  # see NOTE [threads and damage]
            self._restart()
            frame = self._searched(pts, next_pts)
        self._held = frame
        return frame

    def _searched(self, pts: int, next_pts: int | None) -> Any | None:
        entries = self._table.entries_before(pts)[:2]
        is_fresh = self._jump_if_worth(pts, entries)
        # A frame that nothing after it is wanted of is drained, not waited for.
        following = None if next_pts is None else self._table.entry_before(next_pts)
        is_last = not entries or following is None or self._is_far(following)
        frame = self._read_to(pts, is_last=is_last)
        if (frame is None or frame.is_corrupt) and is_fresh and len(entries) > 1:
            # Some keyframes can't be started from: they lean on those before.
            self._jump(entries[1])
            frame = self._read_to(pts, is_last=is_last)
        return frame

    def _is_far(self, entry: Entry) -> bool:
        gap: int = entry.ordinal - self.stream.ordinal
        return gap > _PACKETS_WORTH_DECODING

    def _jump_if_worth(self, pts: int, entries: list[Entry]) -> bool:
        is_behind = self._passed is not None and pts <= self._passed
        if not entries:
            if is_behind or self.stream.is_drained:
                self._restart()
            return False
        if not (is_behind or self.stream.is_drained or self._is_far(entries[0])):
            return False
        self._jump(entries[0])
        return True

    def _jump(self, entry: Entry) -> None:
        self._ready.clear()
        self._passed = None
        if not self.stream.jump(entry):
            self._restart()
            self.stream.drop_until(entry)
            self.stream.leading_until = entry.pts

    def _restart(self) -> None:
        self._ready.clear()
        self._passed = None
        self.stream = self._reopen(self.stream)

    def _read_to(self, pts: int, *, is_last: bool) -> Any | None:
        stream = self.stream
        while True:
            while self._ready:
                if self._ready[0].pts > pts:
                    return None
                frame = self._ready.popleft()
                self._passed = frame.pts
                if frame.pts == pts:
                    return frame
            if stream.is_drained:
                return None
            packet = stream.next_packet()
            if packet is None:
                self._ready.extend(stream.decode(None))
                continue
            leading = stream.leading_until
            if leading is not None and packet.pts < leading:
                continue  # it leans on what was jumped over
            is_wanted = self._wanted is None or packet.pts in self._wanted
            self._ready.extend(stream.decode(packet, is_wanted=is_wanted))
            if is_last and packet.pts == pts:
                self._ready.extend(stream.decode(None))
