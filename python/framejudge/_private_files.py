"""Files that are written once, for their owner alone: what audits leave behind."""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path

from framejudge.errors import ConfigurationError

__all__ = ["create_private", "refuse_existing", "refuse_links"]

_OWNER_ONLY = 0o700


def refuse_existing(path: Path) -> None:
    """Refuse a place where something is, be it a link that leads nowhere.

    Raises:
        ConfigurationError: there is something.
    """
    there = os.path.lexists(path) if isinstance(path, Path) else path.exists()
    if there:
        raise ConfigurationError(
            f"{path}: exists; an audit never replaces or repeats what was kept"
        )


def refuse_links(folder: Path) -> None:
    """Refuse a folder that is a link or would be made in one, before anything is paid for.

    Raises:
        ConfigurationError: the nearest folder that exists is a link.
    """
    if isinstance(folder, Path):
        _nearest_folder(folder.absolute())


def create_private(path: Path, content: bytes) -> None:
    """Write a new file as a whole, readable by its owner alone (0600, new folders 0700).

    A temporary file beside it, fsync, a hard link under its name: of two writers one wins, and a
    reader sees the whole content or nothing. Behind a URL the store is asked to create, not to
    replace.

    Args:
        path: the file; a `place`.
        content: all of it.

    Raises:
        ConfigurationError: something is there already, or a link is among the folders.
    """
    if not isinstance(path, Path):
        _create_remote(path, content)
        return
    path = path.absolute()
    _make_folders(path.parent)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        with os.fdopen(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        refuse_existing(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _make_folders(folder: Path) -> None:
    there = _nearest_folder(folder)
    missing = folder.relative_to(there).parts
    for name in missing:
        there /= name
        there.mkdir(mode=_OWNER_ONLY)


def _nearest_folder(folder: Path) -> Path:
    """The folder or the nearest above it that exists; refused where it is a link."""
    there = folder
    while not os.path.lexists(there):
        there = there.parent
    if stat.S_ISLNK(os.lstat(there).st_mode):
        raise ConfigurationError(f"{there}: is a link; an audit is written to folders themselves")
    return there


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _create_remote(path: Path, content: bytes) -> None:
    store, key = path.fs, path.path  # type: ignore[attr-defined]
    refuse_existing(path)
    try:
        store.pipe_file(key, content, mode="create")
    except FileExistsError:
        refuse_existing(path)
        raise
