"""Which rubric a name, a file or a text stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from framejudge._files import place
from framejudge.errors import ConfigurationError
from framejudge.judge.prompt import default_rubric

__all__ = ["resolve_rubrics", "split_rubrics"]

_NAME_LENGTH = 40
_LONGEST_NAME = 255
_DEFAULT = "default"


def resolve_rubrics(
    given: Sequence[str], *, named: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Return each rubric's text by its name, in the order given.

    Looked at in turn: the dataset's names, "default", `@file` (which must be there), an existing
    file in `folder` or in the working folder, and else the text itself.

    Args:
        given: names, files and texts.
        named: the dataset's own.
        folder: the dataset's.

    Raises:
        ConfigurationError: none, a file that can't be read, or two of one name.

    >>> list(resolve_rubrics(["default", "Be strict!"], named={}, folder=Path()))
    ['default', 'be-strict']
    """
    found: dict[str, str] = {}
    for one in given:
        name, text = _resolve(one.strip(), named, folder)
        if found.get(name, text) != text:
            raise ConfigurationError(
                f"rubrics: two different ones are called {name!r}; put one into a file of "
                "another name"
            )
        found[name] = text
    if not found:
        raise ConfigurationError("rubrics: give one at least, for instance default")
    return found


def split_rubrics(given: Sequence[str], *, named: Mapping[str, str], folder: Path) -> list[str]:
    """Take a comma for a separator only where every part names something; texts have commas too.

    >>> split_rubrics(["default,strict", "Be kind, be fair."], named={"strict": "s"}, folder=Path())
    ['default', 'strict', 'Be kind, be fair.']
    """
    parts: list[str] = []
    for one in given:
        pieces = [piece.strip() for piece in one.split(",") if piece.strip()]
        known = all(
            piece in named
            or piece == _DEFAULT
            or piece.startswith("@")
            or _file(piece, folder) is not None
            for piece in pieces
        )
        parts += pieces if known else [one]
    return parts


def _resolve(given: str, named: Mapping[str, str], folder: Path) -> tuple[str, str]:
    if given in named:
        return given, named[given]
    if given in ("", _DEFAULT):
        return _DEFAULT, named.get(_DEFAULT, default_rubric())
    if given.startswith("@"):
        path = _file(given[1:], folder)
        if path is None:
            raise ConfigurationError(f"rubrics: the rubric file {given[1:]} does not exist")
        return path.stem, _read(path)
    path = _file(given, folder)
    if path is not None:
        return path.stem, _read(path)
    slug = re.sub(r"[^a-z0-9]+", "-", given.lower()).strip("-")[:_NAME_LENGTH].strip("-")
    return slug or "inline-rubric", given


def _file(name: str, folder: Path) -> Path | None:
    """The file of that name; a text that is too long for one, or no name at all, has none."""
    if not name or "\n" in name or "\0" in name or len(name.encode()) > _LONGEST_NAME:
        return None
    candidates = [place(name)] if "://" in name else [folder / name, Path(name)]
    try:
        return next((path for path in candidates if path.is_file()), None)
    except OSError:
        return None


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(
            f"rubrics: the rubric file {path} can't be read: {error}"
        ) from None
    if not text:
        raise ConfigurationError(f"rubrics: the rubric file {path} is empty")
    return text
