"""What `run` and `loop` may be told, checked before any frame is read or any call is made."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from framejudge._files import place
from framejudge.errors import ConfigurationError
from framejudge.frames.rollout import FRAME_FORMATS, FrameFormat
from framejudge.frames.selection import FRAME_SELECTIONS, FrameSelection
from framejudge.judge import JudgeSettings, default_rubric, resolve_judge
from framejudge.judge.backends import DEFAULT_API_KEY_ENV, DEFAULT_MODEL
from framejudge.judge.cost import PriceTable
from framejudge.rollout.task import UNSET_TASK

__all__ = ["RolloutOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutOptions:
    """Everything that decides a rollout's request, and its gate."""

    input_path: str
    output_path: str
    task: str = UNSET_TASK
    backend: str = "self-hosted"
    model: str = DEFAULT_MODEL
    endpoint_url: str = ""
    api_key_env: str = DEFAULT_API_KEY_ENV
    frame_selection: FrameSelection = "keyframes"
    max_frames: int = 4
    max_side_px: int = 768
    frame_format: FrameFormat = "png"
    rubric: str = ""
    rubric_path: str = ""
    success_threshold: float = 0.8
    timeout_s: float = 120.0
    cache: bool = True
    """Whether an accepted answer to the very same request is used again."""
    prices: str = ""
    """A file with a table of prices; see `PriceTable.load`."""
    max_cost: float | None = None
    """Dollars after which no new call starts."""

    def __post_init__(self) -> None:
        """Refuse what can't work.

        Raises:
            ConfigurationError: the option, what was given and what is accepted.
        """
        for name in ("input_path", "output_path"):
            if not str(getattr(self, name)).strip():
                raise ConfigurationError(f"{name} must not be empty")
        for name, accepted in (
            ("frame_selection", FRAME_SELECTIONS),
            ("frame_format", FRAME_FORMATS),
        ):
            value = getattr(self, name)
            if value not in accepted:
                raise ConfigurationError(
                    f"{name} must be one of {', '.join(accepted)}, got {value!r}"
                )
        for name in ("max_frames", "max_side_px"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(f"{name} must be a whole number from 1 on, got {value!r}")
        if not 0 <= self.success_threshold <= 1:  # false for NaN
            raise ConfigurationError(
                f"success_threshold must be from 0 to 1, got {self.success_threshold}"
            )
        if not (self.timeout_s > 0 and math.isfinite(self.timeout_s)):
            raise ConfigurationError(f"timeout_s must be above 0, got {self.timeout_s}")

    @classmethod
    def of(cls, input_path: str, output_path: str, options: Mapping[str, Any]) -> RolloutOptions:
        """Make options of keywords.

        Raises:
            ConfigurationError: a keyword that there is not, or a value that can't work.
        """
        known = [field.name for field in fields(cls)][2:]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ConfigurationError(f"no option {unknown[0]!r}; accepted: {', '.join(known)}")
        return cls(input_path=str(input_path), output_path=str(output_path), **options)

    @staticmethod
    def check_output(file: Path) -> None:
        """Refuse a file that could not be written, before anything is paid for.

        Raises:
            ConfigurationError: a folder in its place, or no right to write there.
        """
        if not isinstance(file, Path):
            return  # a store says so when it is written to
        if file.is_dir():
            raise ConfigurationError(f"output_path: {file} is a folder; expected a file")
        there = next(path for path in file.absolute().parents if path.exists())
        if not there.is_dir() or not os.access(there, os.W_OK):
            raise ConfigurationError(f"output_path: {there} is no folder that can be written to")

    def price_table(self, model: str) -> PriceTable | None:
        """Return the prices, None without any.

        Raises:
            ConfigurationError: a file that can't be read, or a limit without the model's price.
        """
        table = PriceTable.load(self.prices) if self.prices else None
        if self.max_cost is not None:
            if not self.max_cost >= 0:
                raise ConfigurationError(f"max_cost must be 0 or more, got {self.max_cost}")
            (table or PriceTable({})).require(model)
        return table

    def judge(self) -> JudgeSettings:
        """Return the judge that is meant; see `resolve_judge` for errors."""
        return resolve_judge(
            backend=self.backend,
            model=self.model,
            endpoint_url=self.endpoint_url,
            api_key_env=self.api_key_env,
            timeout_s=self.timeout_s,
        )

    def rubric_text(self) -> str:
        """Return the rubric: a file's before the one given, and the default for neither.

        Raises:
            ConfigurationError: the file can't be read.
        """
        text = self.rubric
        if self.rubric_path:
            try:
                text = place(self.rubric_path).read_text(encoding="utf-8")
            except (OSError, UnicodeError) as error:
                raise ConfigurationError(
                    f"rubric_path: {self.rubric_path} can't be read: {error}"
                ) from None
        return text.strip() or default_rubric()
