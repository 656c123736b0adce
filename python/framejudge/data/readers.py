"""Readers of JSONL, CSV, Parquet and JSON files; a file's type is its suffix."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from framejudge.data.csv_file import read_csv
from framejudge.data.rows import (
    Item,
    RowError,
    build_frame,
    check_columns,
    explain,
    frame_from_row,
    frames_from_rows,
)
from framejudge.errors import DataError, MissingExtraError
from framejudge.schemas import SessionMetadata
from framejudge.schemas.common import with_session_fields

__all__ = ["SUFFIXES", "check_file", "read_file"]


def check_file(path: Path) -> None:
    """Refuse a file that can't be read as data, without opening it.

    Raises:
        DataError: it is missing, or of an unknown type.
    """
    if path.suffix.lower() not in SUFFIXES:
        accepted = ", ".join(SUFFIXES)
        raise DataError(f"{path}: unknown file type {path.suffix!r}; accepted: {accepted}")
    if not path.is_file():
        raise DataError(f"{path}: no such file")


def read_file(path: Path) -> Iterator[Item]:
    """Yield a file's sessions and frames in its order, and an error for each row that is none.

    Raises:
        DataError: the file can't be read at all: it is missing, of an unknown type, lacks a
            required column or is not what its suffix says.
        MissingExtraError: Parquet without pyarrow.
    """
    check_file(path)
    return SUFFIXES[path.suffix.lower()](path)


def _read_jsonl(path: Path) -> Iterator[Item]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}"
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
                row = json.loads(text) if text else None
            except UnicodeDecodeError as error:
                yield RowError(f"{where}: not valid UTF-8 at byte {error.start}")
                continue
            except (
                ValueError,
                RecursionError,
            ) as error:  # ValueError: a number of 5,000 digits too
                yield RowError(f"{where}: not valid JSON: {error}")
                continue
            if not text:
                continue
            if isinstance(row, dict):
                yield frame_from_row(row, where=where)
            else:
                yield RowError(f"{where}: expected a JSON object, got {type(row).__name__}")


def _read_parquet(path: Path) -> Iterator[Item]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("reading Parquet", extra="parquet") from error
    try:
        table = pq.ParquetFile(path)
    except pa.ArrowException as error:
        raise DataError(f"{path}: not a Parquet file: {error}") from error
    with table:
        check_columns(table.schema_arrow.names, where=str(path))
        yield from frames_from_rows(_parquet_rows(table, str(path)), where=str(path), unit="row")


def _parquet_rows(table: Any, where: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    number = 0
    try:
        for record_batch in table.iter_batches():
            for row in record_batch.to_pylist():
                number += 1
                yield number, row
    except OSError as error:  # pyarrow's name for pages that can't be read
        raise DataError(f"{where}: damaged after row {number}: {error}") from error


def _read_json(path: Path) -> Iterator[Item]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not valid JSON: {error}") from error
    sessions = [content] if isinstance(content, dict) else content
    if not isinstance(sessions, list):
        raise DataError(
            f"{path}: expected a session object or a list of them, got {type(sessions).__name__}"
        )
    for index, session in enumerate(sessions):
        yield from _read_session(session, where=f"{path}, session {index + 1}")


def _read_session(session: Any, *, where: str) -> Iterator[Item]:
    if not isinstance(session, dict):
        yield RowError(f"{where}: expected a JSON object, got {type(session).__name__}")
        return
    frames = session.get("conversation")
    if not isinstance(frames, list):
        yield RowError(
            f"{where}: field 'conversation': expected a list of frames, got {frames!r:.60}"
        )
        return
    known = {key: session[key] for key in SessionMetadata.model_fields.keys() & session.keys()}
    try:
        identity = SessionMetadata.model_validate(known)
    except ValidationError as error:
        # Each frame counts as lost, and a session without frames as one.
        for frame in frames or [None]:
            qa_id = frame.get("qa_id") if isinstance(frame, dict) else None
            yield RowError(
                f"{where}: {explain(error)}", qa_id=None if qa_id is None else str(qa_id)
            )
        return
    yield identity
    extra = {k: v for k, v in session.items() if k not in known and k != "conversation"}
    for index, frame in enumerate(frames):
        at = f"{where}, frame {index + 1}"
        if isinstance(frame, dict):
            yield build_frame(known, with_session_fields(frame, extra), where=at)
        else:
            yield RowError(
                f"{at}: expected a JSON object, got {type(frame).__name__}",
                session_id=identity.session_id,
                assistant_id=identity.assistant_id,
            )


SUFFIXES: Mapping[str, Callable[[Path], Iterator[Item]]] = {
    ".jsonl": _read_jsonl,
    ".csv": read_csv,
    ".parquet": _read_parquet,
    ".json": _read_json,
}
