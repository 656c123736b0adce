"""CSV files: records over several lines, and a stray quote that costs its own line only."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from framejudge.data.rows import Item, RowError, check_columns, frame_from_row
from framejudge.errors import DataError
from framejudge.schemas.text import is_unicode

__all__ = ["read_csv"]

# Fields that are no text: an empty cell is no value, and anything else is JSON.
_JSON_CELLS = ("logprobs", "agentic", "ground_truth_agentic")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class _Lines:
    """Lines of a file, which can be given back."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._returned: deque[str] = deque()
        self._taken: list[str] = []
        self.number = 0
        """Of the line read last, from 1."""

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines)
        self.number += 1
        self._taken.append(line)
        return line

    def begin_record(self) -> None:
        """Forget the lines of the record before."""
        self._taken.clear()

    def give_back(self) -> None:
        """Give back all lines of this record but its first."""
        rest = self._taken[1:]
        self._returned.extendleft(reversed(rest))
        self.number -= len(rest)


def read_csv(path: Path) -> Iterator[Item]:
    """Yield a frame for each record of a CSV file in UTF-8, or an error that names its line.

    Raises:
        DataError: the file is no UTF-8, or its header lacks a required column.
    """
    with path.open("rb") as file:
        if file.read(2) in _UTF16_MARKS:
            raise DataError(f"{path}: is UTF-16; expected UTF-8")
    # Bytes that are no UTF-8 become lone surrogates, so that they cost one row and not the file.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        lines = _Lines(file)
        reader = csv.reader(lines)
        header = next(reader, [])
        check_columns(header, where=str(path))
        while True:
            lines.begin_record()
            where = f"{path}, line {lines.number + 1}"
            try:
                cells = next(reader, None)
            except csv.Error as error:
                lines.give_back()
                yield RowError(f"{where}: not valid CSV: {error}")
                continue
            if cells is None:
                return
            if len(cells) == len(header):
                yield _frame_from_cells(header, cells, where=where)
            elif cells:
                # A quote that is never closed takes in the lines after it; they get another chance.
                lines.give_back()
                yield RowError(f"{where}: expected {len(header)} cells, got {len(cells)}")


def _frame_from_cells(header: list[str], cells: list[str], *, where: str) -> Item:
    if not all(map(is_unicode, cells)):
        return RowError(f"{where}: not valid UTF-8")
    row: dict[str, Any] = dict(zip(header, cells, strict=True))
    for name in ("weight", "observation", *_JSON_CELLS):
        if row.get(name) == "":
            row[name] = None
    for name in _JSON_CELLS:
        row.update(_parsed(name, row.get(name), opening="{"))
    row.update(_parsed("ground_truth_assistant", row["ground_truth_assistant"], opening="["))
    return frame_from_row(row, where=where)


def _parsed(name: str, cell: Any, *, opening: str) -> dict[str, Any]:
    """Return the cell as JSON where it is some; several references are a list in one cell."""
    if not isinstance(cell, str) or not cell.lstrip().startswith(opening):
        return {}
    try:
        return {name: json.loads(cell)}
    except ValueError:
        return {}
