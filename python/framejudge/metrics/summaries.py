"""From a session's frames to its two result records: numbers, intervals and a sentence."""

from __future__ import annotations

from typing import Any

from framejudge.metrics.bands import RATE_BANDS, SIMILARITY_BANDS, rate_band, similarity_band
from framejudge.metrics.frames import Frame, Key
from framejudge.metrics.stats import bootstrap_mean_interval, wilson_interval
from framejudge.metrics.tally import Tally
from framejudge.schemas import (
    VisionHallucinationInteraction,
    VisionHallucinationMetric,
    VisionSimilarityInteraction,
    VisionSimilarityMetric,
)
from framejudge.schemas.numbers import format_percent

__all__ = ["flag", "hallucination_metric", "similarity_metric"]

_SIMILARITY_EDGES = [band.low for band in SIMILARITY_BANDS]
_RATE_EDGES = [band.low for band in RATE_BANDS]


def flag(frame: Frame, threshold: float) -> bool | None:
    """Say whether a frame is a hallucination: its rounded score is below the threshold."""
    return None if frame.score is None else frame.score < threshold


def similarity_metric(
    key: Key,
    tally: Tally,
    frames: list[Frame],
    *,
    confidence: float,
    metadata: dict[str, Any],
) -> VisionSimilarityMetric:
    """Summarise one (session, assistant) as mean, min and max similarity.

    Args:
        key: whose result it is.
        tally: the numbers.
        frames: the frames to list.
        confidence: level of the intervals.
        metadata: what the scores rest on.
    """
    interval = None
    if len(frames) == tally.n_total:
        scores = [frame.score for frame in frames if frame.score is not None]
        interval = bootstrap_mean_interval(scores, confidence)
    return VisionSimilarityMetric(
        **_shared(key, tally, confidence, metadata),
        mean_similarity=tally.mean,
        min_similarity=tally.lowest if tally.n_scored else None,
        max_similarity=tally.highest if tally.n_scored else None,
        weighted_mean_similarity=tally.weighted_mean,
        mean_similarity_interval=interval,
        summary=_similarity_summary(tally, interval, confidence),
        interactions=[
            VisionSimilarityInteraction(
                qa_id=frame.qa_id or "",
                similarity_score=frame.score,
                status=frame.status,
                reason=frame.reason,
            )
            for frame in frames
        ],
    )


def hallucination_metric(
    key: Key,
    tally: Tally,
    frames: list[Frame],
    *,
    confidence: float,
    metadata: dict[str, Any],
) -> VisionHallucinationMetric:
    """Summarise one (session, assistant) as the share of frames below the tally's threshold."""
    interval = None
    if tally.n_scored:
        interval = wilson_interval(tally.n_flagged, tally.n_scored, confidence)
    return VisionHallucinationMetric(
        **_shared(key, tally, confidence, metadata),
        hallucination_rate=tally.rate,
        n_hallucinations=tally.n_flagged,
        threshold=tally.threshold,
        weighted_hallucination_rate=tally.weighted_rate,
        hallucination_rate_interval=interval,
        summary=_hallucination_summary(tally, interval, confidence),
        interactions=[
            VisionHallucinationInteraction(
                qa_id=frame.qa_id or "",
                similarity_score=frame.score,
                is_hallucination=flag(frame, tally.threshold),
                status=frame.status,
                reason=frame.reason,
            )
            for frame in frames
        ],
    )


def _shared(key: Key, tally: Tally, confidence: float, metadata: dict[str, Any]) -> dict[str, Any]:
    return {
        "session_id": key[0],
        "assistant_id": key[1],
        "n_frames": tally.n_scored,
        "n_total": tally.n_total,
        "n_unscored": tally.n_total - tally.n_scored,
        "n_truncated": tally.n_truncated,
        "confidence": confidence,
        "metadata": metadata,
    }


def _similarity_summary(
    tally: Tally, interval: tuple[float, float] | None, confidence: float
) -> str:
    if tally.mean is None:
        return f"No mean similarity: {_count(tally)}."
    mean, low, high = (
        format_percent(value, edges=_SIMILARITY_EDGES)
        for value in (tally.mean, tally.lowest, tally.highest)
    )
    band = similarity_band(tally.mean)
    return (
        f"Mean similarity {mean} (min {low}, max {high}{_interval(interval, confidence)}); "
        f"{_count(tally)}. {band.name.capitalize()}: {band.meaning}."
    )


def _hallucination_summary(
    tally: Tally, interval: tuple[float, float] | None, confidence: float
) -> str:
    rule = f"similarity with the ground truth below {tally.threshold}"
    if tally.rate is None:
        return f"No hallucination rate ({rule}): {_count(tally)}."
    band = rate_band(tally.rate)
    return (
        f"Hallucinated in {tally.n_flagged} of {tally.n_scored} frames "
        f"({format_percent(tally.rate, edges=_RATE_EDGES)}{_interval(interval, confidence)}), "
        f"which means {rule}; {_count(tally)}. {band.name.capitalize()}: {band.meaning}."
    )


def _count(tally: Tally) -> str:
    if not tally.n_total:
        return "the session has no frames"
    return f"{tally.n_scored}/{tally.n_total} frames scored"


def _interval(interval: tuple[float, float] | None, confidence: float) -> str:
    if interval is None:
        return ""
    low, high = (format_percent(bound) for bound in interval)
    return f", {confidence * 100:g}% interval {low} to {high}"
