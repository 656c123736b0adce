"""A score run as a file: the whole of it as JSON, its frames as JSONL, CSV or Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from framejudge._files import write_atomically
from framejudge.errors import ConfigurationError, MissingExtraError
from framejudge.schemas import ScoreRun

__all__ = ["OUTPUT_SUFFIXES", "check_outputs", "run_as_json", "write_run"]


def run_as_json(run: ScoreRun) -> str:
    """Return the whole run as indented JSON with sorted keys; a missing score is null."""
    return json.dumps(run.model_dump(mode="json"), indent=2, sort_keys=True) + "\n"


def check_outputs(paths: Iterable[Path], *, data: Path | None = None) -> None:
    """Refuse output files that could not be written, before any work is done.

    Args:
        paths: where to write.
        data: the input, which no output may overwrite.

    Raises:
        ConfigurationError: an unknown suffix, a folder that isn't there, or the input itself.
        MissingExtraError: Parquet without pyarrow.
    """
    for path in paths:
        if path.suffix.lower() not in OUTPUT_SUFFIXES:
            raise ConfigurationError(
                f"{path}: unknown output type {path.suffix!r}; "
                f"accepted: {', '.join(OUTPUT_SUFFIXES)}, or - for JSON on stdout"
            )
        if not path.parent.is_dir():
            raise ConfigurationError(f"{path}: the folder {path.parent} does not exist")
        if data is not None and path.exists() and path.samefile(data):
            raise ConfigurationError(f"{path}: is the input; choose another output")
        if path.is_dir():
            raise ConfigurationError(f"{path}: is a folder; expected a file")
        if path.suffix.lower() == ".parquet":
            _pyarrow()


def write_run(run: ScoreRun, path: Path) -> None:
    """Write a run atomically; the suffix chooses the format. See `check_outputs` for errors."""
    check_outputs([path])
    write_atomically(path, OUTPUT_SUFFIXES[path.suffix.lower()](run))


def _flat_rows(run: ScoreRun) -> list[dict[str, Any]]:
    """Return a row a frame; an input column whose name is taken becomes "metadata.NAME"."""
    rows = []
    for frame in run.frames:
        row = frame.model_dump(mode="json")
        extra = row.pop("metadata")
        named = {f"metadata.{key}" if key in row else key: value for key, value in extra.items()}
        rows.append({**row, **named})
    return rows


def _as_jsonl(run: ScoreRun) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in _flat_rows(run)).encode()


def _as_csv(run: ScoreRun) -> bytes:
    rows = _flat_rows(run)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, columns or _columns(), lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _as_cell(value) for key, value in row.items()} for row in rows)
    return out.getvalue().encode()


def _as_parquet(run: ScoreRun) -> bytes:
    pa = _pyarrow()
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra

    # Values of any shape go to one column each; a column of mixed types is kept as JSON text.
    rows = [
        {k: json.dumps(v) if isinstance(v, (list, dict)) else v for k, v in row.items()}
        for row in _flat_rows(run)
    ]
    names = list(dict.fromkeys(key for row in rows for key in row)) or _columns()
    arrays = []
    for name in names:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) > 1 and kinds != {int, float}:
            values = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
        try:
            arrays.append(pa.array(values))
        except (pa.ArrowException, OverflowError):  # a whole number beyond 64 bits, say
            arrays.append(pa.array([None if v is None else str(v) for v in values]))
    sink = io.BytesIO()
    pq.write_table(pa.table(arrays, names=names), sink)
    return sink.getvalue()


def _columns() -> list[str]:
    from framejudge.schemas import FrameRecord  # noqa: PLC0415

    return [name for name in FrameRecord.model_fields if name != "metadata"]


def _as_cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, dict, bool)) else value


def _pyarrow() -> Any:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("writing Parquet", extra="parquet") from error
    return pa


OUTPUT_SUFFIXES: Mapping[str, Callable[[ScoreRun], bytes]] = {
    ".json": lambda run: run_as_json(run).encode(),
    ".jsonl": _as_jsonl,
    ".csv": _as_csv,
    ".parquet": _as_parquet,
}
