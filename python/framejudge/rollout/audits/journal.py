"""What an audit has done so far: numbered private files, each written once, before the next step.

The order is what makes it one: a request is here before it is sent, and an answer before it is
read. So a process that dies leaves behind how far it came, and no request is ever sent again.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from framejudge._private_files import create_private
from framejudge.errors import ConfigurationError

__all__ = ["Journal"]


class Journal:
    """A private folder of JSON files that are never replaced."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; it is made by the first file.

        Args:
            folder: a `place`.
        """
        self.folder = folder

    @property
    def is_begun(self) -> bool:
        """Whether there is something in its place, be it a link that leads nowhere."""
        if isinstance(self.folder, Path):
            return os.path.lexists(self.folder)
        return self.folder.exists()

    def write(self, name: str, record: dict[str, Any], *, number: int | None = None) -> None:
        """Write one file for good.

        Args:
            name: what it is, without .json.
            record: JSON.
            number: of the call that it belongs to, from 1.

        Raises:
            ConfigurationError: it is there already: another process writes this journal.
        """
        text = json.dumps(record, indent=2, sort_keys=True, allow_nan=False)
        self.write_bytes(name, f"{text}\n".encode(), number=number)

    def write_bytes(self, name: str, content: bytes, *, number: int | None = None) -> None:
        """Write one file whose bytes matter; as `write` in everything else."""
        create_private(self._file(name, number), content)

    def holds(self, name: str, *, number: int | None = None) -> bool:
        """Say whether a file was written."""
        return self._file(name, number).exists()

    def read(self, name: str, *, number: int | None = None) -> bytes:
        """Return a file's bytes.

        Raises:
            ConfigurationError: it is not there, or not a file of this user's alone.
        """
        file = self._file(name, number)
        try:
            return _read_private(file) if isinstance(file, Path) else file.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"{file} can't be read: {error.strerror}") from None

    def read_json(self, name: str, *, number: int | None = None) -> Any:
        """Return a file's JSON.

        Raises:
            ConfigurationError: it can't be read, or is no JSON.
        """
        try:
            return json.loads(self.read(name, number=number))
        except (ValueError, RecursionError) as error:
            if isinstance(error, ConfigurationError):
                raise
            raise ConfigurationError(f"{self._file(name, number)} is not JSON") from None

    def _file(self, name: str, number: int | None) -> Path:
        suffix = "" if number is None else f"-{number:02d}"
        return self.folder / f"{name}{suffix}.json"


def _read_private(file: Path) -> bytes:
    """Read through no link, and only what others could not have written."""
    if stat.S_ISLNK(file.parent.lstat().st_mode):
        raise ConfigurationError(f"{file.parent}: is a link; a journal is a folder itself")
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        for found, is_kind in (
            (os.fstat(opened.fileno()), stat.S_ISREG),
            (file.parent.stat(), stat.S_ISDIR),
        ):
            if not is_kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise ConfigurationError(f"{file}: is not this user's alone")
        return opened.read()
