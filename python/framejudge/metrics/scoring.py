"""One pass that feeds both metrics and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Literal

from framejudge.metrics.frames import Frame
from framejudge.metrics.options import check_share
from framejudge.metrics.summaries import flag, similarity_metric
from framejudge.metrics.tally import Tally
from framejudge.metrics.vision import VisionHallucination
from framejudge.schemas import (
    FrameRecord,
    ScoreRun,
    Verdict,
    VisionHallucinationMetric,
)
from framejudge.schemas.numbers import format_percent, round_score
from framejudge.scorers import SimilarityScorer

__all__ = ["score"]


def score(
    data: Any,
    *,
    threshold: float = 0.75,
    scorer: SimilarityScorer | None = None,
    max_hallucination_rate: float = 0.0,
    reference: Literal["best", "mean"] = "best",
    confidence: float = 0.95,
    progress: Callable[[int], None] | None = None,
    **kwargs: Any,
) -> ScoreRun:
    """Compare descriptions with ground truth, and say whether they pass.

    Args:
        data: a Retriever class or instance, a path to a .jsonl, .csv, .parquet or .json file, a
            list of Datasets, or a DataFrame.
        threshold: a frame below it counts as a hallucination, in [0, 1]. Default 0.75.
        scorer: how two texts are compared. Default: cosine similarity of all-mpnet-base-v2.
        max_hallucination_rate: the verdict passes if no (session, assistant) has a larger share
            of flagged frames, in [0, 1], taken to four decimals. Default 0.
        reference: a frame's score where it has several references: the "best" or the "mean".
        confidence: level of the intervals, in (0, 1). Default 0.95.
        progress: called with the number of frames that are done.
        **kwargs: passed to a Retriever class.

    Returns:
        Both metrics' results, the verdict, and every frame in input order.

    Raises:
        ConfigurationError: an option out of range, misspelt or unknown.
        DataError: data that can't be read at all; a bad row alone becomes a frame in error.

    >>> from framejudge.data import Batch, Dataset
    >>> class Overlap:
    ...     def calculate(self, assistant, ground_truth):
    ...         a, b = set(assistant.split()), set(ground_truth.split())
    ...         return len(a & b) / len(a | b)
    >>> frame = Batch(qa_id="f1", assistant="a man fell", ground_truth_assistant="a man fell")
    >>> data = [Dataset(session_id="cam", assistant_id="vlm", conversation=[frame])]
    >>> score(data, scorer=Overlap()).verdict.passed
    True
    """
    limit = round_score(check_share("max_hallucination_rate", max_hallucination_rate))
    metric = VisionHallucination(
        data,
        scorer,
        threshold,
        reference=reference,
        confidence=confidence,
        progress=progress,
        **kwargs,
    )
    metric.process()
    metadata = metric.metadata()
    return ScoreRun(
        similarity=[
            similarity_metric(
                key,
                Tally(metric.threshold).add(frames),
                frames,
                confidence=metric.confidence,
                metadata=metadata,
            )
            for key, frames in metric.store.sessions.items()
        ],
        hallucination=metric.metrics,
        verdict=_judge(metric.metrics, metric.store.frames, limit, metadata),
        frames=[_record(frame, metric.threshold) for frame in metric.store.frames],
    )


def _judge(
    results: list[VisionHallucinationMetric],
    frames: list[Frame],
    limit: float,
    metadata: dict[str, Any],
) -> Verdict:
    over = [r for r in results if (r.hallucination_rate or 0.0) > limit]
    empty = [r for r in results if r.hallucination_rate is None]
    lost = Counter(f"{f.status.value}: {f.reason}" for f in frames if f.score is None)
    n_scored = sum(frame.score is not None for frame in frames)
    complete = n_scored == len(frames) > 0 and not empty
    reasons = [
        f"{r.session_id} | {r.assistant_id}: {r.n_hallucinations} of {r.n_frames} frames flagged "
        f"({format_percent(r.hallucination_rate or 0.0, edges=[limit])}), "
        f"at most {format_percent(limit, edges=[limit])} allowed"
        for r in over
    ]
    reasons += [f"{n} frame(s) {why}" for why, n in lost.most_common()]
    reasons += [f"{r.session_id} | {r.assistant_id}: no frame was scored" for r in empty]
    if not frames and not results:
        reasons.append("there was nothing to score")
    return Verdict(
        metric="max_hallucination_rate",
        score=max(
            (r.hallucination_rate for r in results if r.hallucination_rate is not None),
            default=None,
        ),
        threshold=limit,
        comparison="<=",
        passed=complete and not over,
        complete=complete,
        gate_failed=bool(over),
        n_scored=n_scored,
        n_total=len(frames),
        reasons=reasons,
        evidence=metadata,
    )


def _record(frame: Frame, threshold: float) -> FrameRecord:
    return FrameRecord(
        session_id=frame.key[0],
        assistant_id=frame.key[1],
        qa_id=frame.qa_id,
        similarity_score=frame.score,
        is_hallucination=flag(frame, threshold),
        status=frame.status,
        reason=frame.reason,
        weight=frame.weight,
        truncated=frame.truncated,
        assistant=frame.assistant,
        ground_truth_assistant=frame.ground_truth,
        metadata=frame.metadata,
    )
