"""Records that every other package speaks in; imports nothing of framejudge but errors."""

from __future__ import annotations

from framejudge.schemas.common import (
    Batch,
    Dataset,
    IterationLevel,
    Logprobs,
    SessionMetadata,
    StreamedBatch,
)
from framejudge.schemas.run import ScoreRun
from framejudge.schemas.verdict import ExitCode, FrameRecord, FrameStatus, Verdict
from framejudge.schemas.vision import (
    BaseMetric,
    VisionHallucinationInteraction,
    VisionHallucinationMetric,
    VisionSimilarityInteraction,
    VisionSimilarityMetric,
)

__all__ = [
    "BaseMetric",
    "Batch",
    "Dataset",
    "ExitCode",
    "FrameRecord",
    "FrameStatus",
    "IterationLevel",
    "Logprobs",
    "ScoreRun",
    "SessionMetadata",
    "StreamedBatch",
    "Verdict",
    "VisionHallucinationInteraction",
    "VisionHallucinationMetric",
    "VisionSimilarityInteraction",
    "VisionSimilarityMetric",
]
