"""A benchmark's dataset: labelled rollouts, named rubrics, and what the labels are worth."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from framejudge._files import place
from framejudge.errors import DataError, InputError
from framejudge.rollout.calibration.structural import StructuralCheck
from framejudge.schemas.benchmark import DATASET_SCHEMA

__all__ = ["ALIASES", "BenchmarkDataset", "BenchmarkItem", "load_dataset", "packaged_dataset"]

EvidenceScope = Literal["unspecified", "illustrative_only"]

ALIASES = {
    "": "sample",
    "default": "sample",
    "sample": "sample",
    "isaac-agency": "isaac-agency",
    "isaac-agency-calibration-v1": "isaac-agency",
}
_FILES = ("benchmark.json", "dataset.json", "manifest.json")
_LABELS = {
    **dict.fromkeys(("1", "true", "pass", "passed", "success", "positive"), True),
    **dict.fromkeys(("0", "false", "fail", "failed", "failure", "negative"), False),
}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkItem:
    """A rollout and what is expected of it."""

    item_id: str
    rollout: str
    """As the manifest writes it."""
    path: Path
    expected: bool
    task: str | None
    fixture_score: float | None
    structural_check: StructuralCheck | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkDataset:
    """Items with unique ids and both labels."""

    path: str
    format: str
    items: tuple[BenchmarkItem, ...]
    rubrics: dict[str, str]
    folder: Path
    """Of the manifest; rubric files are looked for in it."""
    evidence_scope: EvidenceScope
    limitations: tuple[str, ...]


def packaged_dataset(name: str) -> Path:
    """Return the folder of a packaged dataset, "sample" or "isaac-agency"."""
    return Path(__file__).parents[2] / "data" / "benchmarks" / name


def load_dataset(source: str) -> BenchmarkDataset:
    """Read and check a dataset; no frame is read.

    Args:
        source: a JSON file, a folder with benchmark.json, dataset.json or manifest.json, an fsspec
            URL of either, or the name of a packaged one: sample, isaac-agency.

    Raises:
        DataError: what is wrong, in which item and field, and what is accepted.

    >>> [item.expected for item in load_dataset("sample").items]
    [True, True, False, False, False]
    """
    alias = ALIASES.get(source.strip().lower())
    manifest = _manifest(packaged_dataset(alias) if alias else place(source))
    shown = f"{alias} (packaged)" if alias else str(manifest)
    try:
        found = json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"dataset: {manifest} can't be read as JSON: {error}") from None
    if isinstance(found, list):
        found = {"items": found}
    if not isinstance(found, dict):
        raise DataError(f"dataset: {shown} must be an object or a list of items")
    return _Reader(shown, manifest.parent, found).dataset()


def _manifest(path: Path) -> Path:
    if path.is_dir():
        there = [path / name for name in _FILES if (path / name).is_file()]
        if not there:
            raise DataError(f"dataset: {path} holds none of {', '.join(_FILES)}")
        return there[0]
    if not path.is_file():
        raise DataError(
            f"dataset: {path} does not exist; packaged ones are "
            f"{', '.join(sorted(set(ALIASES.values())))}"
        )
    return path


@dataclass(frozen=True, slots=True)
class _Reader:
    shown: str
    folder: Path
    manifest: dict[str, Any]

    def dataset(self) -> BenchmarkDataset:
        entries = self.manifest.get("items", self.manifest.get("rollouts"))
        if not isinstance(entries, list) or not entries:
            self._refuse("items must be a nonempty list of rollouts")
        limitations = self._limitations()
        items = tuple(self._item(number, entry) for number, entry in enumerate(entries, start=1))
        ids = [item.item_id for item in items]
        twice = sorted({name for name in ids if ids.count(name) > 1})
        if twice:
            self._refuse(f"item ids must be unique; more than once: {', '.join(twice)}")
        if len({item.expected for item in items}) == 1:
            there = "pass" if items[0].expected else "fail"
            self._refuse(
                f"needs an item that is expected to pass and one that is to fail; all are {there}"
            )
        return BenchmarkDataset(
            path=self.shown,
            format=self._text("format") or DATASET_SCHEMA,
            items=items,
            rubrics=self._rubrics(),
            folder=self.folder,
            evidence_scope=self._scope(),
            limitations=limitations,
        )

    def _refuse(self, why: str) -> NoReturn:
        raise DataError(f"dataset: {self.shown}: {why}")

    def _text(self, key: str) -> str:
        value = self.manifest.get(key)
        if value is not None and not isinstance(value, str):
            self._refuse(f"{key} must be text, got {value!r}")
        return (value or "").strip()

    def _scope(self) -> EvidenceScope:
        found = self.manifest.get("evidence_scope", "unspecified")
        if found not in get_args(EvidenceScope):
            self._refuse(f"evidence_scope must be unspecified or illustrative_only, got {found!r}")
        scope: EvidenceScope = found
        return scope

    def _limitations(self) -> tuple[str, ...]:
        found = self.manifest.get("limitations", [])
        if not isinstance(found, list):
            self._refuse(f"limitations must be a list of texts, got {found!r}")
        for text in found:
            fine = isinstance(text, str) and text and text == text.strip()
            if not fine or _CONTROL.search(text):
                self._refuse(
                    "limitations must be nonempty texts without spaces around them or control "
                    f"characters, got {text!r}"
                )
        return tuple(found)

    def _rubrics(self) -> dict[str, str]:
        found = self.manifest.get("rubrics", {})
        if not isinstance(found, dict) or not all(isinstance(t, str) for t in found.values()):
            self._refuse("rubrics must map names to texts")
        return {name: text.strip() for name, text in found.items() if text.strip()}

    def _item(self, number: int, entry: Any) -> BenchmarkItem:
        where = f"item {number}"
        if not isinstance(entry, dict):
            self._refuse(f"{where} must be an object, got {entry!r}")
        given = _first(entry, "id", "name")
        name = f"item-{number:03d}" if given is None else given
        if not isinstance(name, str) or not name.strip():
            self._refuse(f"{where}: id must be text, got {name!r}")
        where = f"item {name.strip()!r}"
        rollout = _first(entry, "rollout", "rollout_path", "input_path")
        if not isinstance(rollout, str) or not rollout.strip():
            self._refuse(f"{where}: rollout must be a path, got {rollout!r}")
        task = _first(entry, "task", "instruction")
        if task is not None and not isinstance(task, str):
            self._refuse(f"{where}: task must be text, got {task!r}")
        expected = self._label(where, _first(entry, "expected_label", "label"))
        try:
            check = StructuralCheck.parse(entry.get("structural_check"), expected=expected)
        except InputError as error:
            self._refuse(f"{where}: structural_check: {error}")
        return BenchmarkItem(
            item_id=name.strip(),
            rollout=rollout.strip(),
            path=self._path(rollout.strip()),
            expected=expected,
            task=task.strip() or None if task else None,
            fixture_score=self._score(where, entry.get("fixture_score")),
            structural_check=check,
        )

    def _path(self, rollout: str) -> Path:
        base = self._text("rollout_base_path") or self._text("base_path")
        folder = self.folder / base if base and "://" not in base else self.folder
        if "://" in base:
            folder = place(base)
        return place(rollout) if "://" in rollout else folder / rollout

    def _label(self, where: str, value: Any) -> bool:
        if isinstance(value, (bool, int, float)) and value in (0, 1):
            return bool(value)
        text = value.strip().lower().replace("_", "-") if isinstance(value, str) else None
        if text not in _LABELS:
            self._refuse(
                f"{where}: expected_label must be true or false, 1 or 0, or one of "
                f"{', '.join(_LABELS)}; got {value!r}"
            )
        return _LABELS[text]

    def _score(self, where: str, value: Any) -> float | None:
        if value is None:
            return None
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 <= value <= 1:
            self._refuse(f"{where}: fixture_score must be a number from 0 to 1, got {value!r}")
        return float(value)


def _first(entry: dict[str, Any], *keys: str) -> Any:
    return next((entry[key] for key in keys if entry.get(key) is not None), None)
