"""How framejudge writes files, atomically, and where it keeps what it can make again."""

from __future__ import annotations

import os
import uuid
from pathlib import Path

__all__ = ["cache_root", "write_atomically"]


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new, never a part.

    A temporary file beside it, fsync, rename. Missing folders are made.
    """
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
