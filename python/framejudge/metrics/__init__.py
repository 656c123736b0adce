"""Metrics of descriptions against ground truth, and their result records."""

from __future__ import annotations

from framejudge.metrics.scoring import score
from framejudge.metrics.vision import VisionHallucination, VisionSimilarity
from framejudge.schemas import (
    ScoreRun,
    VisionHallucinationInteraction,
    VisionHallucinationMetric,
    VisionSimilarityInteraction,
    VisionSimilarityMetric,
)

__all__ = [
    "ScoreRun",
    "VisionHallucination",
    "VisionHallucinationInteraction",
    "VisionHallucinationMetric",
    "VisionSimilarity",
    "VisionSimilarityInteraction",
    "VisionSimilarityMetric",
    "score",
]
