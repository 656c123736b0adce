"""SHA-256 of files, and stamps that spare hashing 438 MB at every start.

NOTE [stamps]: a stamp records size, modification time and SHA-256 of each file of a folder. While
size and time are unchanged the recorded hash is believed; otherwise the file is hashed again.
`models verify` never believes a stamp.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from framejudge._files import write_atomically
from framejudge.errors import ModelError, ModelIntegrityError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["check_pinned", "hash_file", "stamped_hashes", "sync_tree"]

_CHUNK_BYTES = 1 << 20


def hash_file(path: Path, *, progress: Callable[[int], None] | None = None) -> str:
    """Return the SHA-256 of a file in hexadecimal.

    Args:
        path: The file.
        progress: Called with the number of bytes of each chunk read.

    Raises:
        ModelError: The file can't be read.
    """
    digest = hashlib.sha256()
    buffer = memoryview(bytearray(_CHUNK_BYTES))
    try:
        with path.open("rb", buffering=0) as stream:
            while count := stream.readinto(buffer):
                digest.update(buffer[:count])
                if progress is not None:
                    progress(count)
    except OSError as error:
        raise ModelError(f"{path} can't be read: {error}") from error
    return digest.hexdigest()


def file_state(path: Path) -> dict[str, int]:
    """Return what changes when a file does: size, times and inode."""
    state = path.stat()
    return {
        "size": state.st_size,
        "mtime_ns": state.st_mtime_ns,
        "ctime_ns": state.st_ctime_ns,  # a restored mtime does not restore this
        "inode": state.st_ino,
    }


def stamped_hashes(
    folder: Path, names: Iterable[str], stamp: Path, *, believe: bool = True
) -> dict[str, str]:
    """Return the SHA-256 of each file, from the stamp where it still holds.

    Args:
        folder: Where the files are.
        names: Relative names, with `/` between folders; absent files are left out.
        stamp: JSON file that remembers; it is rewritten when something had to be hashed.
        believe: False hashes every file whatever the stamp says.

    Returns:
        Name to hexadecimal hash.
    """
    known = _read_stamp(stamp) if believe else {}
    fresh: dict[str, dict[str, Any]] = {}
    for name in names:
        path = folder / name
        if not path.is_file():
            continue
        entry = file_state(path)
        old = known.get(name, {})
        believed = {key: old.get(key) for key in entry} == entry and "sha256" in old
        fresh[name] = old if believed else {**entry, "sha256": hash_file(path)}
    if fresh != known:
        # A read-only cache works too, it only hashes every time.
        with suppress(OSError):
            write_atomically(stamp, json.dumps(fresh, indent=1).encode())
    return {name: str(entry["sha256"]) for name, entry in fresh.items()}


def check_pinned(folder: Path, found: Mapping[str, str], pinned: Mapping[str, str]) -> None:
    """Compare hashes with the pinned ones.

    Raises:
        ModelIntegrityError: A file is missing or is not the pinned one; the message names it.
    """
    for name, expected in pinned.items():
        if name not in found:
            raise ModelIntegrityError(f"{folder / name} is missing")
        if found[name] != expected:
            raise ModelIntegrityError(
                f"{folder / name} is not the file that was pinned: SHA-256 expected {expected}, "
                f"got {found[name]}"
            )


def sync_tree(folder: Path) -> None:
    """Flush every file and folder below `folder` to the disk."""
    for path in (folder, *folder.rglob("*")):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _read_stamp(stamp: Path) -> dict[str, dict[str, Any]]:
    """Return a stamp's entries; an unreadable stamp is no stamp."""
    try:
        content = json.loads(stamp.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {name: entry for name, entry in content.items() if isinstance(entry, dict)}
