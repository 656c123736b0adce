"""Bytes by key in an SQLite file: kept between runs, shared by processes, bounded.

NOTE [a cache may fail]: a full disk, a damaged file or a lock that never comes costs the time that
the cache would have saved and nothing else. It is logged once, and the work is done again.
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

from framejudge.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["ByteStore"]

_LEAST_BYTES = 1024 * 1024
_CHUNK = 500
_BUSY_S = 10.0
_FRESH_S = 3600
"""A row's time of last use is written again when it is older than this, not at every use."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    key BLOB PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""


class ByteStore:
    """Least-recently-used bytes in a file; safe from several threads and processes.

    The write-ahead log lies beside the file while it is open.
    """

    def __init__(self, path: str | os.PathLike[str], *, max_bytes: int, log: str) -> None:
        """Take a path; the file and its folder are made at the first use.

        Args:
            path: the file.
            max_bytes: bound on the file's pages in use; beyond it a tenth of the rows is dropped,
                the longest unused first.
            log: the logger that is told once why the file is not used.

        Raises:
            InputError: a bound below 1 MiB.
        """
        if max_bytes < _LEAST_BYTES:
            raise InputError(f"max_bytes must be at least {_LEAST_BYTES}, got {max_bytes!r}")
        self.path = Path(path)
        self.max_bytes = max_bytes
        self._log = logging.getLogger(log)
        self._lock = threading.Lock()
        self._opened: tuple[int, sqlite3.Connection] | None = None
        self._failed = False

    def __len__(self) -> int:
        """How many rows there are."""
        with self._lock:
            return int(self._guarded(lambda db: _scalar(db, "SELECT COUNT(*) FROM entries"), 0))

    @property
    def n_bytes(self) -> int:
        """Bytes of the file's pages in use."""
        with self._lock:
            return int(self._guarded(_used_bytes, 0))

    def clear(self) -> None:
        """Forget every row."""
        with self._lock:
            self._guarded(lambda db: _write(db, lambda: db.execute("DELETE FROM entries")), None)

    def prune(self, unused_for_s: float) -> int:
        """Forget rows that were not used for so long; return how many."""
        before = int(time.time() - unused_for_s)

        def drop(db: sqlite3.Connection) -> int:
            count = _scalar(db, f"SELECT COUNT(*) FROM entries WHERE used <= {before}")  # noqa: S608
            _write(db, lambda: db.execute("DELETE FROM entries WHERE used <= ?", (before,)))
            return count

        with self._lock:
            return int(self._guarded(drop, 0))

    def renew_lock(self) -> None:
        """After a fork: no lock of the parent's threads, and a connection of the child's own."""
        self._lock = threading.Lock()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the bytes of each key, or None."""
        with self._lock:
            rows: dict[bytes, bytes] = self._guarded(lambda db: _read(db, keys), {})
        return [rows.get(key) for key in keys]

    def put_many(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep bytes, one row a key, and drop the longest unused beyond the bound."""
        now = int(time.time())
        rows = [(key, value, now) for key, value in pairs]
        with self._lock:
            self._guarded(lambda db: _insert(db, rows, self.max_bytes), None)

    def _guarded(self, work: Callable[[sqlite3.Connection], Any], otherwise: Any) -> Any:
        """Do something with the database, or log once why not; see NOTE [a cache may fail]."""
        try:
            return work(self._connection())
        except (OSError, sqlite3.Error) as error:
            if not self._failed:
                self._log.warning("%s is not used as a cache: %s", self.path, error)
            self._failed = True
            return otherwise

    def _connection(self) -> sqlite3.Connection:
        """Return this process's connection; one that came through a fork is left alone."""
        if self._opened is not None and self._opened[0] == os.getpid():
            return self._opened[1]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = _opened(self.path)
        if self._opened is not None:
            _inherited.append(self._opened[1])
        self._opened = (os.getpid(), connection)
        return connection


_inherited: list[sqlite3.Connection] = []
"""A parent's connections: closing one in the child would drop the parent's file locks."""


def _opened(path: Path) -> sqlite3.Connection:
    """Open a file, and wait while another process makes it: SQLite itself does not, for this."""
    give_up = time.monotonic() + _BUSY_S
    while True:
        # Transactions are begun by hand, so that a writer waits for its turn instead of failing.
        connection = sqlite3.connect(
            path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.executescript(_SCHEMA)
        except sqlite3.OperationalError:
            connection.close()
            if time.monotonic() >= give_up:
                raise
            time.sleep(0.02)
        else:
            return connection


def _scalar(db: sqlite3.Connection, query: str) -> int:
    with closing(db.execute(query)) as cursor:
        return int(cursor.fetchone()[0])


def _used_bytes(db: sqlite3.Connection) -> int:
    pages = _scalar(db, "PRAGMA page_count") - _scalar(db, "PRAGMA freelist_count")
    return pages * _scalar(db, "PRAGMA page_size")


def _read(db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the rows of keys, and note their use."""
    found: dict[bytes, bytes] = {}
    stale: list[tuple[int, bytes]] = []
    now = int(time.time())
    for start in range(0, len(keys), _CHUNK):
        part = keys[start : start + _CHUNK]
        marks = ",".join("?" * len(part))
        query = f"SELECT key, value, used FROM entries WHERE key IN ({marks})"  # noqa: S608
        for key, value, used in db.execute(query, part):
            found[key] = value
            if used < now - _FRESH_S:
                stale.append((now, key))
    if stale:
        update = "UPDATE entries SET used = ? WHERE key = ?"
        _write(db, lambda: db.executemany(update, stale))
    return found


def _insert(db: sqlite3.Connection, rows: list[tuple[bytes, bytes, int]], limit: int) -> None:
    """Write rows in steps, so that the bound is kept on the way too."""

    def insert(part: list[tuple[bytes, bytes, int]]) -> None:
        db.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", part)
        while _used_bytes(db) > limit:
            tenth = max(1, _scalar(db, "SELECT COUNT(*) FROM entries") // 10)
            oldest = "SELECT key FROM entries ORDER BY used LIMIT ?"
            db.execute(f"DELETE FROM entries WHERE key IN ({oldest})", (tenth,))  # noqa: S608

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
