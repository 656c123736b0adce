"""The picture corpus: where it is, and what is expected of each file.

It is looked for beside FRAMEJUDGE_TEST_DATA, as corpus/open, then in tests/data/corpus.
"""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest

_FORMATS = frozenset({"jpeg", "png", "webp", "pnm", "bmp", "avif", "unknown"})


@cache
def folder() -> Path | None:
    """The folder that holds expected.json, or None."""
    candidates = [Path(__file__).parent / "data" / "corpus"]
    if "FRAMEJUDGE_TEST_DATA" in os.environ:
        candidates.insert(0, Path(os.environ["FRAMEJUDGE_TEST_DATA"]).parent / "corpus" / "open")
    return next((path for path in candidates if (path / "expected.json").is_file()), None)


@cache
def _entries() -> dict[str, dict[str, Any]]:
    root = folder()
    if root is None:
        return {}
    entries = json.loads((root / "expected.json").read_text(encoding="utf-8"))
    return {name.removeprefix("open/"): entry for name, entry in entries.items()}


@cache
def expectations() -> dict[str, dict[str, Any]]:
    """By the file's name inside the folder; pictures only."""
    return {name: entry for name, entry in _entries().items() if entry["format"] in _FORMATS}


@cache
def videos() -> dict[str, dict[str, Any]]:
    """The same of the videos."""
    return {name: entry for name, entry in _entries().items() if entry["format"] == "video"}


def names(*verdicts: str, formats: frozenset[str] = _FORMATS) -> list[str]:
    """The files with one of these verdicts."""
    return [
        name
        for name, entry in expectations().items()
        if entry["verdict"] in verdicts and entry["format"] in formats
    ]


def path_of(name: str) -> Path:
    root = folder()
    if root is None or not (root / name).is_file():
        pytest.skip(f"the corpus has no {name} here; set FRAMEJUDGE_TEST_DATA")
    return root / name
