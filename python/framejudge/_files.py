"""How framejudge writes files, atomically, and where it keeps what it can make again."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import cast

from framejudge.errors import ConfigurationError, MissingExtraError

__all__ = ["cache_root", "place", "write_atomically"]


def place(path: str | os.PathLike[str]) -> Path:
    """Return a path, or a place behind an fsspec URL (s3://, gs://, memory://) that acts like one.

    Raises:
        ConfigurationError: a protocol that there is not.
        MissingExtraError: one whose package is not installed.
    """
    text = str(path)  # one from here has no __fspath__
    if "://" not in text:
        return Path(text)
    from upath import UPath  # noqa: PLC0415 - only where there is a URL

    protocol = text.split("://", 1)[0]
    try:
        found = UPath(text)
        found.fs  # noqa: B018 - opens the file system, and says now if it can't
    except ImportError as error:
        raise MissingExtraError(f"{protocol}:// ({error})", extra=protocol) from None
    except ValueError as error:
        raise ConfigurationError(f"{text}: {error}") from None
    # It has Path's methods, and is none for the type checker.
    return cast("Path", found)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    A temporary file beside it, fsync, rename. Missing folders are made. What is behind a URL is
    put as a whole, as object stores do it.
    """
    if not isinstance(path, Path):
        path.write_bytes(content)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def cache_root() -> Path:
    """Return the cache folder: `FRAMEJUDGE_CACHE_DIR`, else the platform's; it may not exist."""
    override = os.environ.get("FRAMEJUDGE_CACHE_DIR")
    if override:
        return Path(override).expanduser().absolute()
    import platformdirs  # noqa: PLC0415 - not every run needs it

    return Path(platformdirs.user_cache_dir("framejudge", appauthor=False))
