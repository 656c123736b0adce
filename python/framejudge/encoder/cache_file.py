"""A cache of embeddings in an SQLite file: kept between runs, shared by processes, bounded.

NOTE [a cache may fail]: a full disk, a damaged file or a lock that never comes costs the time that
the cache would have saved and nothing else. It is logged once, and texts are embedded again.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from framejudge.encoder.cache import EmbeddingCache
from framejudge.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

__all__ = ["DEFAULT_FILE_BYTES", "EmbeddingFile"]

DEFAULT_FILE_BYTES = 1024 * 1024 * 1024
"""About three hundred thousand embeddings of 768 numbers."""

_LEAST_BYTES = 1024 * 1024
_CHUNK = 500
_BUSY_S = 10.0
_FRESH_S = 3600
"""A row's time of last use is written again when it is older than this, not at every use."""

_log = logging.getLogger("framejudge.encoder.cache_file")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS embeddings (
    key BLOB PRIMARY KEY, vector BLOB NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON embeddings (used);
"""


class EmbeddingFile(EmbeddingCache):
    """Least-recently-used embeddings in a file; safe from several threads and processes.

    Rows are keyed by hashes of the model, its settings, the precision and the text; no text is
    written. The write-ahead log lies beside the file while it is open.

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
        if max_bytes < _LEAST_BYTES:
            raise InputError(f"max_bytes must be at least {_LEAST_BYTES}, got {max_bytes!r}")
        self.path = Path(path)
        self._opened: tuple[int, sqlite3.Connection] | None = None
        self._failed = False

    def __len__(self) -> int:
        with self._lock:
            return int(self._guarded(lambda db: _scalar(db, "SELECT COUNT(*) FROM embeddings"), 0))

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
        with self._lock:
            return int(self._guarded(_used_bytes, 0))

    def clear(self) -> None:
        """Forget every row; the counts of hits and misses stay."""
        with self._lock:
            self._guarded(lambda db: _write(db, lambda: db.execute("DELETE FROM embeddings")), None)

    def renew_lock(self) -> None:
        """After a fork: no lock of the parent's threads, and a connection of the child's own."""
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[bytes]) -> list[NDArray[np.float32] | None]:
        """Return the embedding of each key, or None, and count hits and misses."""
        with self._lock:
            rows: dict[bytes, NDArray[np.float32]] = self._guarded(lambda db: _read(db, keys), {})
            found = [rows.get(key) for key in keys]
            hits = sum(value is not None for value in found)
            self.hits += hits
            self.misses += len(keys) - hits
        return found

    def put_many(self, keys: Sequence[bytes], embeddings: NDArray[np.float32]) -> None:
        """Keep embeddings, one row a key, and drop the longest unused beyond the bound."""
        now = int(time.time())
        rows = [(k, v.tobytes(), now) for k, v in zip(keys, embeddings, strict=True)]
        with self._lock:
            self._guarded(lambda db: _insert(db, rows, self.max_bytes), None)

    def _guarded(self, work: Callable[[sqlite3.Connection], Any], otherwise: Any) -> Any:
        """Do something with the database, or log once why not; see NOTE [a cache may fail]."""
        try:
            return work(self._connection())
        except (OSError, sqlite3.Error) as error:
            if not self._failed:
                _log.warning("%s is not used as a cache: %s", self.path, error)
            self._failed = True
            return otherwise

    def _connection(self) -> sqlite3.Connection:
        """Return this process's connection; one that came through a fork is left alone."""
        if self._opened is not None and self._opened[0] == os.getpid():
            return self._opened[1]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Transactions are begun by hand, so that a writer waits for its turn instead of failing.
        connection = sqlite3.connect(
            self.path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(_SCHEMA)
        if self._opened is not None:
            _inherited.append(self._opened[1])
        self._opened = (os.getpid(), connection)
        return connection


_inherited: list[sqlite3.Connection] = []
"""A parent's connections: closing one in the child would drop the parent's file locks."""


def _scalar(db: sqlite3.Connection, query: str) -> int:
    with closing(db.execute(query)) as cursor:
        return int(cursor.fetchone()[0])


def _used_bytes(db: sqlite3.Connection) -> int:
    pages = _scalar(db, "PRAGMA page_count") - _scalar(db, "PRAGMA freelist_count")
    return pages * _scalar(db, "PRAGMA page_size")


def _read(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
    """Return the rows of keys, and note their use."""
    found: dict[bytes, NDArray[np.float32]] = {}
    stale: list[tuple[int, bytes]] = []
    now = int(time.time())
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, vector, used FROM embeddings WHERE key IN ({marks})"  # noqa: S608
        for key, vector, used in db.execute(query, part):
            found[key] = np.frombuffer(vector, np.float32)
            if used < now - _FRESH_S:
                stale.append((now, key))
    if stale:
        update = "UPDATE embeddings SET used = ? WHERE key = ?"
        _write(db, lambda: db.executemany(update, stale))
    return found


def _insert(db: sqlite3.Connection, rows: list[tuple[bytes, bytes, int]], limit: int) -> None:
    """Write rows in steps, so that the bound is kept on the way too."""

    def insert(part: list[tuple[bytes, bytes, int]]) -> None:
        db.executemany("INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?)", part)
        while _used_bytes(db) > limit:
            tenth = max(1, _scalar(db, "SELECT COUNT(*) FROM embeddings") // 10)
            oldest = "SELECT key FROM embeddings ORDER BY used LIMIT ?"
            db.execute(f"DELETE FROM embeddings WHERE key IN ({oldest})", (tenth,))  # noqa: S608

    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        _write(db, lambda part=part: insert(part))  # type: ignore[misc]


def _write(db: sqlite3.Connection, work: Callable[[], object]) -> None:
    """Do something in a transaction of its own."""
    db.execute("BEGIN IMMEDIATE")
    try:
        work()
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
