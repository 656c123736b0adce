"""An in-memory cache of embeddings by text content, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from framejudge.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["DEFAULT_CACHE_BYTES", "EmbeddingCache"]

DEFAULT_CACHE_BYTES = 64 * 1024 * 1024
"""About twenty thousand embeddings of 768 numbers."""

_OVERHEAD_BYTES = 256
"""Charged per entry for its key, its array header and its place in the table."""


class EmbeddingCache:
    """Least-recently-used embeddings; safe from several threads, shareable by several encoders.

    Entries are keyed by the model, its settings and the text, so encoders never mix.

    Args:
        max_bytes: Upper bound on what is kept, in bytes, overhead included; 0 keeps nothing.

    Raises:
        InputError: `max_bytes` is not an integer of at least 0.

    Examples:
        >>> cache = EmbeddingCache(max_bytes=1_000_000)
        >>> len(cache), cache.hits, cache.misses
        (0, 0, 0)
    """

    def __init__(self, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 0:
            raise InputError(f"max_bytes must be an integer of at least 0, got {max_bytes!r}")
        self.max_bytes = max_bytes
        self.hits = 0
        self.misses = 0
        self._bytes = 0
        self._entries: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return (
            f"EmbeddingCache(max_bytes={self.max_bytes}): {len(self)} entries, {self._bytes} bytes,"
            f" {self.hits} hits, {self.misses} misses"
        )

    def __getstate__(self) -> dict[str, int]:
        return {"max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, int]) -> None:
        self.__init__(state["max_bytes"])  # type: ignore[misc]

    @property
    def n_bytes(self) -> int:
        """Bytes kept now, overhead included."""
        return self._bytes

    def clear(self) -> None:
        """Forget every entry; the counts of hits and misses stay."""
        with self._lock:
            self._entries.clear()
            self._bytes = 0

    def renew_lock(self) -> None:
        """After a fork: the lock may be held by a thread that isn't in this process."""
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[bytes]) -> list[NDArray[np.float32] | None]:
        """Return the embedding of each key, or None, and count hits and misses."""
        with self._lock:
            found = [self._entries.get(key) for key in keys]
            for key, value in zip(keys, found, strict=True):
                if value is not None:
                    self._entries.move_to_end(key)
            hits = sum(value is not None for value in found)
            self.hits += hits
            self.misses += len(keys) - hits
        return found

    def put_many(self, keys: Sequence[bytes], embeddings: NDArray[np.float32]) -> None:
        """Keep embeddings; the oldest are dropped until all fits.

        Args:
            keys: One per row.
            embeddings: (n, d) float32; rows are copied, so that no batch is kept alive.
        """
        cost = embeddings.shape[1] * embeddings.itemsize + _OVERHEAD_BYTES if len(keys) else 0
        if cost > self.max_bytes:
            return
        with self._lock:
            for key, row in zip(keys, embeddings, strict=True):
                if key in self._entries:
                    continue
                self._entries[key] = row.copy()
                self._bytes += cost
                while self._bytes > self.max_bytes:
                    _, dropped = self._entries.popitem(last=False)
                    self._bytes -= dropped.nbytes + _OVERHEAD_BYTES
