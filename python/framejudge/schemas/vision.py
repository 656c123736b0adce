"""Result records of the vision metrics: a session's summary and its frames."""

from __future__ import annotations

import textwrap
from abc import ABC, abstractmethod
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from framejudge.schemas.numbers import format_score
from framejudge.schemas.text import printable
from framejudge.schemas.verdict import FrameStatus

__all__ = [
    "BaseMetric",
    "VisionHallucinationInteraction",
    "VisionHallucinationMetric",
    "VisionSimilarityInteraction",
    "VisionSimilarityMetric",
]


class BaseMetric(BaseModel):
    """What every result of a (session, assistant) pair carries."""

    model_config = ConfigDict(extra="forbid")

    session_id: str
    assistant_id: str


class _VisionMetric(BaseMetric, ABC):
    """The parts that both vision metrics share."""

    summary: str
    n_frames: int = 0
    """Scored frames."""
    n_total: int = 0
    n_unscored: int = 0
    """Frames without a score, whatever the reason."""
    n_truncated: int = 0
    """Scored frames with a text longer than the encoder's token limit."""
    confidence: float = 0.95
    """Level of the intervals."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """What the scores rest on: scorer, model, hashes, versions."""

    def render(self) -> str:
        """Return what `display` prints: a header, the summary and a line for each frame."""
        session, assistant = printable(self.session_id), printable(self.assistant_id)
        lines = [f"Session: {session}  |  Assistant: {assistant}"]
        lines += textwrap.wrap(self.summary, width=78)
        rows = [(printable(qa_id), printable(text)) for qa_id, text in self._rows()]
        width = max((len(row[0]) for row in rows), default=0)
        lines += ["", *(f"  {qa_id:<{width}}  {text}" for qa_id, text in rows), ""]
        return "\n".join(lines)

    def display(self) -> None:
        """Print the session's header, its summary and a line for each frame to stdout."""
        print(self.render())  # noqa: T201 - printing is what display() is for

    @abstractmethod
    def _rows(self) -> list[tuple[str, str]]:
        """Return each frame's id and its line of text."""


class VisionSimilarityInteraction(BaseModel):
    """One frame's similarity."""

    model_config = ConfigDict(extra="forbid")

    qa_id: str
    similarity_score: float | None
    """Cosine similarity in [0, 1], four decimals; None when the frame is not scored."""
    status: FrameStatus = FrameStatus.SCORED
    reason: str | None = None
    """Why the frame has no score."""

    def render(self, *, threshold: float | None = None) -> str:
        """Return the frame's score, or why there is none, as one line of text."""
        if self.similarity_score is None:
            return f"{self.status.value}: {self.reason}"
        below = () if threshold is None else (threshold,)
        return f"similarity={format_score(self.similarity_score, below=below)}"


class VisionSimilarityMetric(_VisionMetric):
    """How close one VLM's descriptions of one session are to the ground truth."""

    mean_similarity: float | None
    """Unweighted mean over scored frames; None when there are none."""
    min_similarity: float | None
    max_similarity: float | None
    weighted_mean_similarity: float | None = None
    """Mean weighted by `Batch.weight`; None when no frame has one."""
    mean_similarity_interval: tuple[float, float] | None = None
    """Percentile bootstrap interval of the mean; None below two scored frames, and in a partial
    result that does not list all of its frames."""
    interactions: list[VisionSimilarityInteraction]

    def _rows(self) -> list[tuple[str, str]]:
        return [(frame.qa_id, frame.render()) for frame in self.interactions]


class VisionHallucinationInteraction(VisionSimilarityInteraction):
    """One frame's similarity and whether it falls below the threshold."""

    is_hallucination: bool | None
    """similarity_score < threshold; None when the frame is not scored."""

    def render(self, *, threshold: float | None = None) -> str:
        """Return the frame's score and flag, or why there are none, as one line of text."""
        text = super().render(threshold=threshold)
        if self.is_hallucination is None:
            return text
        return f"{text}  {'HALLUCINATION' if self.is_hallucination else 'ok'}"


class VisionHallucinationMetric(_VisionMetric):
    """How often one VLM's descriptions of one session differ from the ground truth."""

    hallucination_rate: float | None
    """n_hallucinations / n_frames; None when no frame is scored."""
    n_hallucinations: int
    threshold: float
    weighted_hallucination_rate: float | None = None
    """Rate weighted by `Batch.weight`; None when no frame has one."""
    hallucination_rate_interval: tuple[float, float] | None = None
    """Wilson score interval of the rate; None when no frame is scored."""
    interactions: list[VisionHallucinationInteraction]

    def _rows(self) -> list[tuple[str, str]]:
        return [
            (frame.qa_id, frame.render(threshold=self.threshold)) for frame in self.interactions
        ]
