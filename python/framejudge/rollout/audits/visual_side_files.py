"""Files that are kept beside a visual review: references and matched views, never sent."""

from __future__ import annotations

import json
import re
from typing import Any

from framejudge._files import place
from framejudge.errors import ConfigurationError

__all__ = ["read_references", "read_view_map"]

_SECRET = re.compile(
    r"authorization|bearer\s|api[_-]?key|password|passwd|secret|access[_-]?token|token=|://[^/\s]*@",
    re.IGNORECASE,
)


def read_references(path: str) -> list[str]:
    """Read references: a JSON list of different texts, or {"references": [...]}; none of no path.

    Raises:
        ConfigurationError: another shape, or a text that looks like it holds a credential.
    """
    if not path:
        return []
    found = _json("objective_evidence_path", path)
    if isinstance(found, dict) and set(found) == {"references"}:
        found = found["references"]
    fine = isinstance(found, list) and all(isinstance(t, str) and t.strip() for t in found)
    if not fine or not found or len(set(found)) != len(found):
        raise ConfigurationError(
            f'objective_evidence_path: {path} must be a list of different texts, or {{"references":'
            " [...]}}"
        )
    _refuse_secrets("objective_evidence_path", path, found)
    references: list[str] = found
    return references


def read_view_map(path: str) -> dict[str, Any]:
    """Read a map of matched views: a JSON object; empty of no path.

    Raises:
        ConfigurationError: another shape, or a key or value that looks like a credential.
    """
    if not path:
        return {}
    found = _json("matched_view_map_path", path)
    if not isinstance(found, dict) or not found:
        raise ConfigurationError(f"matched_view_map_path: {path} must be an object with entries")
    _refuse_secrets("matched_view_map_path", path, found)
    return found


def _json(name: str, path: str) -> Any:
    try:
        return json.loads(place(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{name}: {path} can't be read as JSON: {error}") from None


def _refuse_secrets(name: str, path: str, found: Any) -> None:
    if _SECRET.search(json.dumps(found)):
        raise ConfigurationError(f"{name}: {path} seems to hold a credential; it would be kept")
