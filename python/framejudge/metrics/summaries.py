"""From a session's frames to its two result records: numbers, intervals and a sentence."""

from __future__ import annotations

import math
from typing import Any

from framejudge.metrics.bands import RATE_BANDS, SIMILARITY_BANDS, rate_band, similarity_band
from framejudge.metrics.frames import Frame, Key
from framejudge.metrics.stats import (
    bootstrap_mean_interval,
    rounded_share,
    weighted_mean,
    wilson_interval,
)
from framejudge.schemas import (
    VisionHallucinationInteraction,
    VisionHallucinationMetric,
    VisionSimilarityInteraction,
    VisionSimilarityMetric,
)
from framejudge.schemas.numbers import format_percent, round_score

__all__ = ["flag", "hallucination_metric", "scored", "similarity_metric"]

_SIMILARITY_EDGES = [band.low for band in SIMILARITY_BANDS]
_RATE_EDGES = [band.low for band in RATE_BANDS]


def flag(frame: Frame, threshold: float) -> bool | None:
    """Say whether a frame is a hallucination: its rounded score is below the threshold."""
    return None if frame.score is None else frame.score < threshold


def scored(frames: list[Frame]) -> list[tuple[float, float | None]]:
    """Return (score, weight) of each frame that has a score."""
    return [(frame.score, frame.weight) for frame in frames if frame.score is not None]


def similarity_metric(
    key: Key, frames: list[Frame], *, confidence: float, metadata: dict[str, Any]
) -> VisionSimilarityMetric:
    """Summarise one (session, assistant) as mean, min and max similarity."""
    scores = [score for score, _ in scored(frames)]
    weights = [weight for _, weight in scored(frames)]
    mean = round_score(math.fsum(scores) / len(scores)) if scores else None
    interval = bootstrap_mean_interval(scores, confidence)
    return VisionSimilarityMetric(
        **_shared(key, frames, confidence, metadata),
        mean_similarity=mean,
        min_similarity=min(scores, default=None),
        max_similarity=max(scores, default=None),
        weighted_mean_similarity=weighted_mean(scores, weights),
        mean_similarity_interval=interval,
        summary=_similarity_summary(mean, scores, len(frames), interval, confidence),
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
    frames: list[Frame],
    *,
    threshold: float,
    confidence: float,
    metadata: dict[str, Any],
) -> VisionHallucinationMetric:
    """Summarise one (session, assistant) as the share of frames below the threshold."""
    pairs = scored(frames)
    flags = [score < threshold for score, _ in pairs]
    n_flagged = sum(flags)
    rate = rounded_share(n_flagged, len(pairs)) if pairs else None
    interval = wilson_interval(n_flagged, len(pairs), confidence) if pairs else None
    return VisionHallucinationMetric(
        **_shared(key, frames, confidence, metadata),
        hallucination_rate=rate,
        n_hallucinations=n_flagged,
        threshold=threshold,
        weighted_hallucination_rate=weighted_mean(
            [float(flagged) for flagged in flags], [weight for _, weight in pairs]
        ),
        hallucination_rate_interval=interval,
        summary=_hallucination_summary(
            rate, n_flagged, len(pairs), len(frames), threshold, interval, confidence
        ),
        interactions=[
            VisionHallucinationInteraction(
                qa_id=frame.qa_id or "",
                similarity_score=frame.score,
                is_hallucination=flag(frame, threshold),
                status=frame.status,
                reason=frame.reason,
            )
            for frame in frames
        ],
    )


def _shared(
    key: Key, frames: list[Frame], confidence: float, metadata: dict[str, Any]
) -> dict[str, Any]:
    n_scored = len(scored(frames))
    return {
        "session_id": key[0],
        "assistant_id": key[1],
        "n_frames": n_scored,
        "n_total": len(frames),
        "n_unscored": len(frames) - n_scored,
        "n_truncated": sum(frame.truncated for frame in frames),
        "confidence": confidence,
        "metadata": metadata,
    }


def _similarity_summary(
    mean: float | None,
    scores: list[float],
    n_total: int,
    interval: tuple[float, float] | None,
    confidence: float,
) -> str:
    if mean is None:
        return f"No mean similarity: {_count(0, n_total)}."
    shown = [format_percent(x, edges=_SIMILARITY_EDGES) for x in (mean, min(scores), max(scores))]
    band = similarity_band(mean)
    return (
        f"Mean similarity {shown[0]} (min {shown[1]}, max {shown[2]}"
        f"{_interval(interval, confidence)}); {_count(len(scores), n_total)}. "
        f"{band.name.capitalize()}: {band.meaning}."
    )


def _hallucination_summary(
    rate: float | None,
    n_flagged: int,
    n_scored: int,
    n_total: int,
    threshold: float,
    interval: tuple[float, float] | None,
    confidence: float,
) -> str:
    rule = f"similarity with the ground truth below {threshold}"
    if rate is None:
        return f"No hallucination rate ({rule}): {_count(0, n_total)}."
    band = rate_band(rate)
    return (
        f"Hallucinated in {n_flagged} of {n_scored} frames "
        f"({format_percent(rate, edges=_RATE_EDGES)}{_interval(interval, confidence)}), "
        f"which means {rule}; {_count(n_scored, n_total)}. "
        f"{band.name.capitalize()}: {band.meaning}."
    )


def _count(n_scored: int, n_total: int) -> str:
    return f"{n_scored}/{n_total} frames scored" if n_total else "the session has no frames"


def _interval(interval: tuple[float, float] | None, confidence: float) -> str:
    if interval is None:
        return ""
    low, high = (format_percent(bound) for bound in interval)
    return f", {confidence * 100:g}% interval {low} to {high}"
