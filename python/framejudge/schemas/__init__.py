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
from framejudge.schemas.rollout import (
    Attempt,
    Evidence,
    FrameEvidence,
    LoopReport,
    LoopRow,
    ProviderEvidence,
    RequestEvidence,
    RequestManifest,
    RolloutResult,
    Sampling,
    SubmittedFrame,
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
    "Attempt",
    "BaseMetric",
    "Batch",
    "Dataset",
    "Evidence",
    "ExitCode",
    "FrameEvidence",
    "FrameRecord",
    "FrameStatus",
    "IterationLevel",
    "Logprobs",
    "LoopReport",
    "LoopRow",
    "ProviderEvidence",
    "RequestEvidence",
    "RequestManifest",
    "RolloutResult",
    "Sampling",
    "ScoreRun",
    "SessionMetadata",
    "StreamedBatch",
    "SubmittedFrame",
    "Verdict",
    "VisionHallucinationInteraction",
    "VisionHallucinationMetric",
    "VisionSimilarityInteraction",
    "VisionSimilarityMetric",
]
