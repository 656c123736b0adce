"""The one Verdict that text, exit codes and reports are made from, and the frames under it."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ExitCode", "FrameRecord", "FrameStatus", "Verdict"]


class FrameStatus(StrEnum):
    """What became of a frame; a missing score is never a zero."""

    SCORED = "scored"
    UNSCORED = "unscored"
    """Nothing to score: an empty text, a missing reference, a vector without a direction."""
    ERROR = "error"
    """Something broke: the scorer raised, or the input row could not be read."""
    SKIPPED = "skipped"
    """Left out on purpose."""


class ExitCode(IntEnum):
    """What the command's exit status means."""

    PASS = 0
    GATE_FAILED = 1
    USAGE = 2
    INCOMPLETE = 3
    INTERNAL = 4
    INTERRUPTED = 130


class FrameRecord(BaseModel):
    """One frame's outcome; a run lists these in input order."""

    model_config = ConfigDict(extra="forbid")

    session_id: str | None
    """None only for an input row that could not be read far enough to know."""
    assistant_id: str | None
    qa_id: str | None
    similarity_score: float | None
    """Clamped to [0, 1] and rounded to four decimals; None unless scored."""
    is_hallucination: bool | None
    """similarity_score < threshold; None unless scored."""
    status: FrameStatus
    reason: str | None = None
    """Why there is no score; None when scored."""
    weight: float | None = None
    truncated: bool = False
    """A text was longer than the encoder's token limit and its end was not seen."""
    assistant: str | None = None
    ground_truth_assistant: str | list[str] | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Verdict(BaseModel):
    """Did it pass, on how much evidence, and why: the record that every output is made from."""

    model_config = ConfigDict(extra="forbid")

    metric: str
    """What `score` measures, for instance "max_hallucination_rate"."""
    score: float | None
    """The gated number, rounded to four decimals; None when nothing was scored."""
    threshold: float
    """What `score` was compared with."""
    comparison: Literal["<=", ">="]
    passed: bool
    """The gate holds and the run is complete."""
    complete: bool
    """There was something to score, in every session, and all of it was scored."""
    gate_failed: bool
    """The gate does not hold on the frames that were scored."""
    n_scored: int
    n_total: int
    reasons: list[str] = Field(default_factory=list)
    """One sentence for each thing that keeps the verdict from passing."""
    evidence: dict[str, Any] = Field(default_factory=dict)
    """What the numbers rest on: model, hashes, versions, options."""

    def exit_code(self, *, exit_zero: bool = False) -> ExitCode:
        """Return the command's exit status.

        Args:
            exit_zero: report a failed gate as success, for pipelines that read the JSON. An
                incomplete run stays visible.
        """
        if self.gate_failed and not exit_zero:
            return ExitCode.GATE_FAILED
        return ExitCode.PASS if self.complete else ExitCode.INCOMPLETE
