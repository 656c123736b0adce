"""From one row of input to one frame, or to an error that says what is wrong with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from framejudge.errors import DataError
from framejudge.schemas import Batch, SessionMetadata, StreamedBatch
from framejudge.schemas.text import json_safe

__all__ = [
    "REQUIRED_COLUMNS",
    "Item",
    "RowError",
    "build_frame",
    "check_columns",
    "explain",
    "frame_from_row",
    "frames_from_rows",
]

REQUIRED_COLUMNS = ("session_id", "assistant_id", "qa_id", "assistant", "ground_truth_assistant")
_SESSION_FIELDS = frozenset(SessionMetadata.model_fields)
_SHOWN_VALUE_CHARS = 60


@dataclass(frozen=True, slots=True)
class RowError:
    """A row that can't become a frame; it counts in the run's total as an error."""

    reason: str
    """Names the file, the row and the field, what was given and what is accepted."""
    session_id: str | None = None
    assistant_id: str | None = None
    qa_id: str | None = None


Item = SessionMetadata | StreamedBatch | RowError
"""What a source yields: a session announced (it may be empty), a frame, or a bad row."""


def frame_from_row(row: Mapping[str, Any], *, where: str) -> StreamedBatch | RowError:
    """Build a frame from one row's fields.

    Args:
        row: field name -> value; unknown fields go to the frame's metadata.
        where: file and row, for the error's text.
    """
    session_fields = {key: row[key] for key in _SESSION_FIELDS & row.keys()}
    frame_fields = {key: value for key, value in row.items() if key not in _SESSION_FIELDS}
    return build_frame(session_fields, frame_fields, where=where)


def build_frame(
    session_fields: Mapping[str, Any], frame_fields: Mapping[str, Any], *, where: str
) -> StreamedBatch | RowError:
    """Build a frame from its session's fields and its own; see `frame_from_row`."""
    problems = _not_unicode({**session_fields, **frame_fields})
    if problems:
        return RowError(reason=f"{where}: {'; '.join(problems)}")
    session = batch = None
    try:
        session = SessionMetadata.model_validate(session_fields)
    except ValidationError as error:
        problems.append(explain(error))
    try:
        batch = Batch.model_validate(frame_fields)
    except ValidationError as error:
        problems.append(explain(error))
    if session is not None and batch is not None:
        return StreamedBatch(metadata=session, batch=batch)
    return RowError(
        reason=f"{where}: {'; '.join(problems)}",
        session_id=session.session_id if session else None,
        assistant_id=session.assistant_id if session else None,
        qa_id=batch.qa_id if batch else _text_or_none(frame_fields.get("qa_id")),
    )


def explain(error: ValidationError) -> str:
    """Say in one line which fields are wrong, what was given and what is accepted."""
    parts = []
    for detail in error.errors(include_url=False):
        field = ".".join(str(step) for step in detail["loc"]) or "row"
        if detail["type"] == "missing":
            parts.append(f"field '{field}' is missing")
            continue
        given = repr(detail["input"])
        if len(given) > _SHOWN_VALUE_CHARS:
            given = given[:_SHOWN_VALUE_CHARS] + "…"
        message = detail["msg"].removeprefix("Value error, ")
        parts.append(f"field '{field}': {message} (got {given})")
    return "; ".join(dict.fromkeys(parts))


def check_columns(columns: Iterable[str], *, where: str) -> None:
    """Refuse a table whose header lacks a required column, or has one twice.

    Raises:
        DataError: names the missing columns and the nearest of those that are there.
    """
    present = list(columns)
    twice = sorted({name for name in present if present.count(name) > 1})
    if twice:
        raise DataError(f"{where}: column {twice[0]!r} appears more than once")
    missing = [name for name in REQUIRED_COLUMNS if name not in present]
    if not missing:
        return
    message = f"{where}: missing column {', '.join(repr(name) for name in missing)}"
    near = [match for name in missing for match in difflib.get_close_matches(name, present, n=1)]
    if near:
        message += f" (did you mean {', '.join(repr(name) for name in near)}?)"
    raise DataError(f"{message}; columns found: {', '.join(map(repr, present)) or 'none'}")


def frames_from_rows(
    rows: Iterable[tuple[int, Mapping[str, Any]]], *, where: str, unit: str
) -> Iterator[Item]:
    """Build a frame from each numbered row of a table."""
    for number, row in rows:
        yield frame_from_row(row, where=f"{where}, {unit} {number}")


def _not_unicode(fields: Mapping[str, Any]) -> list[str]:
    problems = []
    for name, value in fields.items():
        try:
            json_safe([name, value])
        except ValueError as error:
            problems.append(f"field {name!a}: {error}")
    return problems


def _text_or_none(value: Any) -> str | None:
    return None if value is None else str(value)
