"""What a rollout was to do: as told, from its own metadata, or from a plan."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from framejudge._files import place
from framejudge.errors import ConfigurationError

__all__ = ["MAX_PLAN_CHARS", "UNSET_TASK", "rollout_task", "task_from_plan"]

UNSET_TASK = "sim-to-real"
"""The default, which means: look into the rollout's metadata."""

MAX_PLAN_CHARS = 900

_RECORDS = ("meta/info.json", "info.json", "manifest.json")
_KEYS = ("task", "instruction", "description")


def rollout_task(path: Path, task: str) -> str:
    """Return the task that is told, else the one that the rollout's metadata name.

    Looked at, in order: `meta/tasks.parquet` in the rollout and above it (the first row of its
    column `task`; needs pyarrow), then `meta/info.json`, `info.json` and `manifest.json` (the
    first of `task`, `instruction` and `description` that is there).

    Args:
        path: the rollout's folder or file.
        task: what was told; empty or "sim-to-real" for nothing.
    """
    if task.strip() and task.strip() != UNSET_TASK:
        return task.strip()
    if path.is_dir():
        for folder in (path, path.absolute().parent):
            found = _first_row(folder / "meta" / "tasks.parquet")
            if found:
                return found
        for name in _RECORDS:
            found = _first_key(path / name)
            if found:
                return found
    return UNSET_TASK


def task_from_plan(path: str, *, max_plan_chars: int = MAX_PLAN_CHARS) -> str:
    """Make a task of a plan that an earlier stage wrote: the field `analysis` of a JSON object.

    Args:
        path: the file.
        max_plan_chars: a longer plan is an error, as cutting it would drop what comes last.

    Raises:
        ConfigurationError: a file that is not there, is no such object, or is too long.
    """
    try:
        plan = json.loads(place(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"task_from: {path} can't be read as JSON: {error}") from None
    analysis = plan.get("analysis") if isinstance(plan, dict) else None
    if not isinstance(analysis, str) or not analysis.strip():
        raise ConfigurationError(f"task_from: {path} has no text in its field 'analysis'")
    text = " ".join(analysis.split())
    if len(text) > max_plan_chars:
        raise ConfigurationError(
            f"task_from: the plan in {path} has {len(text)} characters, more than "
            f"max_plan_chars={max_plan_chars}; raise it, or shorten the plan"
        )
    return f"Judge whether the rollout carried out this plan. Plan: {text}"


def _first_row(path: Path) -> str:
    if not path.is_file():
        return ""
    try:
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

        rows = (
            pq.read_table(io.BytesIO(path.read_bytes()), columns=["task"]).slice(0, 1).to_pylist()
        )
    except Exception:  # noqa: BLE001 - metadata that can't be read name no task
        return ""
    return _text(rows[0].get("task")) if rows else ""


def _first_key(path: Path) -> str:
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    if not isinstance(record, dict):
        return ""
    return next((text for key in _KEYS if (text := _text(record.get(key)))), "")


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
