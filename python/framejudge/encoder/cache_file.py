"""A cache of embeddings in a file: kept between runs, shared by processes, bounded."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from framejudge._byte_store import ByteStore
from framejudge.encoder.cache import EmbeddingCache

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["DEFAULT_FILE_BYTES", "EmbeddingFile"]

DEFAULT_FILE_BYTES = 1024 * 1024 * 1024
"""About three hundred thousand embeddings of 768 numbers."""


class EmbeddingFile(EmbeddingCache):
    """Least-recently-used embeddings in a file; safe from several threads and processes.

    Rows are keyed by hashes of the model, its settings, the precision and the text; no text is
    written. A file that can't be used costs time and nothing else, see NOTE [a cache may fail].

    Args:
        path: The file; it and its folder are made when they are missing.
        max_bytes: Bound on the file's pages in use; beyond it a tenth of the rows is dropped, the
            longest unused first.

    Raises:
        InputError: `max_bytes` is not an integer of at least 1 MiB.

    Examples:
        >>> EmbeddingFile("embeddings.sqlite", max_bytes=1 << 24)
        EmbeddingFile('embeddings.sqlite', max_bytes=16777216): 0 hits, 0 misses
    """

    def __init__(
        self, path: str | os.PathLike[str], *, max_bytes: int = DEFAULT_FILE_BYTES
    ) -> None:
        super().__init__(max_bytes)
        self._store = ByteStore(path, max_bytes=max_bytes, log="framejudge.encoder.cache_file")
        self.path = self._store.path

    def __len__(self) -> int:
        return len(self._store)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({str(self.path)!r}, max_bytes={self.max_bytes}): "
            f"{self.hits} hits, {self.misses} misses"
        )

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "max_bytes": self.max_bytes}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["path"], max_bytes=state["max_bytes"])  # type: ignore[misc]

    @property
    def n_bytes(self) -> int:
        """Bytes of the file's pages in use."""
        return self._store.n_bytes

    def clear(self) -> None:
        """Forget every row; the counts of hits and misses stay."""
        self._store.clear()

    def renew_lock(self) -> None:
        """After a fork: no lock of the parent's threads, and a connection of the child's own."""
        super().renew_lock()
        self._store.renew_lock()

    def get_many(self, keys: Sequence[bytes]) -> list[NDArray[np.float32] | None]:
        """Return the embedding of each key, or None, and count hits and misses."""
        found = [
            None if value is None else np.frombuffer(value, np.float32)
            for value in self._store.get_many(keys)
        ]
        hits = sum(value is not None for value in found)
        with self._lock:
            self.hits += hits
            self.misses += len(keys) - hits
        return found

    def put_many(self, keys: Sequence[bytes], embeddings: NDArray[np.float32]) -> None:
        """Keep embeddings, one row a key, and drop the longest unused beyond the bound."""
        self._store.put_many((k, v.tobytes()) for k, v in zip(keys, embeddings, strict=True))
