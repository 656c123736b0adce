"""Frames on their way to a score: collected by session, scored in chunks, never lost."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from framejudge.data.rows import Item, RowError
from framejudge.errors import ConfigurationError, FramejudgeError, ModelError
from framejudge.schemas import FrameStatus, SessionMetadata
from framejudge.schemas.numbers import round_score
from framejudge.schemas.text import is_unicode
from framejudge.scorers import CosineSimilarity, SimilarityScorer

__all__ = ["REFERENCE_MODES", "Frame", "FrameStore", "Key"]

Key = tuple[str, str]
"""(session_id, assistant_id): what a result is a result of."""

REFERENCE_MODES = ("best", "mean")

_log = logging.getLogger("framejudge.metrics")

# Enough texts to sort by length and fill batches; few enough to hold their embeddings (25 MB).
_CHUNK_FRAMES = 4096


@dataclass(slots=True)
class Frame:
    """One frame and what has become of it so far."""

    key: tuple[str | None, str | None]
    qa_id: str | None
    assistant: str | None = None
    ground_truth: str | list[str] | None = None
    weight: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    references: list[str] = field(default_factory=list)
    score: float | None = None
    status: FrameStatus = FrameStatus.SKIPPED
    reason: str | None = None
    truncated: bool = False

    def fail(self, status: FrameStatus, reason: str) -> None:
        """Leave the frame without a score, and say why."""
        self.status, self.reason, self.score = status, reason, None


class FrameStore:
    """Collects frames, scores them in chunks, and keeps them by (session, assistant).

    Args:
        scorer: see `SimilarityScorer`. Our CosineSimilarity is asked for many pairs at once.
        reference: a frame's score where it has several references: the "best" or the "mean".
        progress: called with the number of frames that are done.
    """

    def __init__(
        self,
        scorer: SimilarityScorer,
        *,
        reference: Literal["best", "mean"] = "best",
        progress: Callable[[int], None] | None = None,
    ) -> None:
        if reference not in REFERENCE_MODES:
            raise ConfigurationError(
                f"reference is {reference!r}; accepted: {', '.join(map(repr, REFERENCE_MODES))}"
            )
        if isinstance(scorer, type) or not callable(getattr(scorer, "calculate", None)):
            given = scorer.__name__ if isinstance(scorer, type) else type(scorer).__name__
            kind = "the class " if isinstance(scorer, type) else ""
            raise ConfigurationError(
                f"scorer is {kind}{given}; accepted: an object with "
                "calculate(assistant, ground_truth), such as CosineSimilarity()"
            )
        self.frames: list[Frame] = []
        """All frames in input order, rows that could not be read among them."""
        self.sessions: dict[Key, list[Frame]] = {}
        """Frames by result, in the order in which results were first seen."""
        self._scorer = scorer
        self._reference = reference
        self._progress = progress
        self._pending: list[Frame] = []
        self._n_done = 0

    @property
    def has_scores(self) -> bool:
        """Whether any frame has a score yet."""
        return any(frame.score is not None for frame in self.frames)

    def add(self, items: Iterable[Item]) -> None:
        """Take in sessions, frames and row errors."""
        for item in items:
            self._take(item)
            if len(self._pending) >= _CHUNK_FRAMES:
                self.flush()

    def take(self) -> dict[Key, list[Frame]]:
        """Hand over the sessions gathered so far, and keep nothing of them."""
        taken, self.sessions, self.frames = self.sessions, {}, []
        return taken

    def flush(self) -> None:
        """Score the frames that wait."""
        ready = [frame for frame in self._pending if _prepare(frame)]
        # NOTE [batched]: a subclass that has its own calculate() must be asked through it, and a
        # stranger's object may have any attribute at all, so only this very method is a sign that
        # pairs can be scored together.
        if isinstance(self._scorer, CosineSimilarity) and _calculates_as_ours(self._scorer):
            self._score_together(self._scorer, ready)
        else:
            for frame in ready:
                self._score_alone(frame)
                self._advance(1)
        self._advance(len(self._pending) - (len(ready)))
        self._pending.clear()

    def _take(self, item: Item) -> None:
        if isinstance(item, RowError):
            frame = Frame(key=(item.session_id, item.assistant_id), qa_id=item.qa_id)
            frame.fail(FrameStatus.ERROR, item.reason)
        elif isinstance(item, SessionMetadata):
            self.sessions.setdefault((item.session_id, item.assistant_id), [])
            return
        else:
            frame = Frame(
                key=(item.metadata.session_id, item.metadata.assistant_id),
                qa_id=item.batch.qa_id,
                assistant=item.batch.assistant,
                ground_truth=item.batch.ground_truth_assistant,
                weight=item.batch.weight,
                metadata=item.batch.metadata,
            )
            self._pending.append(frame)
        self.frames.append(frame)
        session_id, assistant_id = frame.key
        if session_id is not None and assistant_id is not None:
            self.sessions.setdefault((session_id, assistant_id), []).append(frame)

    def _score_together(self, scorer: CosineSimilarity, frames: list[Frame]) -> None:
        pairs = [(frame.assistant or "", text) for frame in frames for text in frame.references]
        n_before = self._n_done
        report = self._progress

        def show(done: int, total: int) -> None:
            if report is not None:
                report(n_before + len(frames) * done // max(1, total))

        try:
            result = scorer.score_pairs(pairs, progress=show)
        except FramejudgeError:
            raise
        except Exception as error:  # noqa: BLE001 - a stranger's embedder
            _log.warning("the embedder raised %s on many texts; trying frame by frame", error)
            for frame in frames:
                self._score_alone(frame)
                self._advance(1)
            return
        start = 0
        for frame in frames:
            stop = start + len(frame.references)
            self._settle(frame, [float(score) for score in result.scores[start:stop]])
            frame.truncated = bool(result.truncated[start:stop].any())
            start = stop
        self._advance(len(frames))

    def _score_alone(self, frame: Frame) -> None:
        scores = []
        for text in frame.references:
            try:
                scores.append(float(self._scorer.calculate(frame.assistant or "", text)))
            except ModelError:
                raise
            except Exception as error:  # noqa: BLE001 - a stranger's code; one frame pays, not all
                frame.fail(FrameStatus.ERROR, f"scorer raised {type(error).__name__}: {error}")
                return
        self._settle(frame, scores)

    def _settle(self, frame: Frame, scores: list[float]) -> None:
        """Turn raw scores into the frame's one score: combined, clamped, rounded once."""
        finite = [score for score in scores if math.isfinite(score)]
        if not finite or (self._reference == "mean" and len(finite) < len(scores)):
            bad = next(score for score in scores if not math.isfinite(score))
            frame.fail(FrameStatus.UNSCORED, f"the scorer returned {bad}")
            return
        raw = max(finite) if self._reference == "best" else math.fsum(finite) / len(finite)
        frame.score = round_score(min(1.0, max(0.0, raw)))
        frame.status = FrameStatus.SCORED

    def _advance(self, n_frames: int) -> None:
        self._n_done += n_frames
        if self._progress is not None:
            self._progress(self._n_done)


def _prepare(frame: Frame) -> bool:
    """Say whether a frame can be scored; if not, note why."""
    texts = frame.ground_truth if isinstance(frame.ground_truth, list) else [frame.ground_truth]
    references = [text for text in texts if text is not None and text.strip()]
    if frame.assistant is None:
        frame.fail(FrameStatus.UNSCORED, "assistant is missing")
    elif not frame.assistant.strip():
        frame.fail(FrameStatus.UNSCORED, "assistant is empty")
    elif frame.ground_truth is None:
        frame.fail(FrameStatus.UNSCORED, "ground_truth_assistant is missing")
    elif not references:
        frame.fail(FrameStatus.UNSCORED, "ground_truth_assistant is empty")
    elif not all(is_unicode(text) for text in (frame.assistant, *references)):
        frame.fail(FrameStatus.ERROR, "a text holds a lone surrogate, which is not valid Unicode")
    else:
        frame.references = references
        return True
    return False


def _calculates_as_ours(scorer: CosineSimilarity) -> bool:
    return (
        type(scorer).calculate is CosineSimilarity.calculate
        and type(scorer).score_pairs is CosineSimilarity.score_pairs
        and "calculate" not in vars(scorer)
    )
