"""What `score` returns: both metrics' results, the verdict, and every frame."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from framejudge.schemas.verdict import FrameRecord, Verdict
from framejudge.schemas.vision import VisionHallucinationMetric, VisionSimilarityMetric

__all__ = ["ScoreRun"]


class ScoreRun(BaseModel):
    """One pass over the data; what reports are made from."""

    model_config = ConfigDict(extra="forbid")

    schema_id: Literal["framejudge_score_v1"] = "framejudge_score_v1"
    verdict: Verdict
    similarity: list[VisionSimilarityMetric]
    """A result per (session, assistant), in the order in which they were first seen."""
    hallucination: list[VisionHallucinationMetric]
    """The same order as `similarity`."""
    frames: list[FrameRecord]
    """Every frame in input order; rows that could not be read are among them."""
