"""Strategies that compare a description with the ground truth."""

from __future__ import annotations

from framejudge.scorers.cosine_similarity import (
    CosineSimilarity,
    PairScores,
    SimilarityScorer,
    similarity,
)

__all__ = ["CosineSimilarity", "PairScores", "SimilarityScorer", "similarity"]
