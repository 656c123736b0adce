"""framejudge: is what a vision-language model says about camera frames true?

Only numpy and the extension are loaded here; everything else is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from framejudge._core import __version__, build_info

if TYPE_CHECKING:
    from framejudge import cosine, data, embedders, errors, frames, metrics, scorers
    from framejudge.encoder import EmbeddingCache, Encoder
    from framejudge.encoder.cache_file import EmbeddingFile
    from framejudge.metrics import ScoreRun, score
    from framejudge.rollout import (
        loop,
        loop_async,
        promotion_gate,
        run,
        run_async,
        verify_evidence,
    )
    from framejudge.rollout.compare_judges import compare_judges, compare_judges_async
    from framejudge.rollout.compare_preference import (
        compare_preference,
        compare_preference_async,
    )
    from framejudge.schemas import LoopReport, RolloutResult, Verdict
    from framejudge.schemas.judge_audit import JudgeComparison
    from framejudge.schemas.preference import PreferenceReport
    from framejudge.scorers import similarity

__all__ = [
    "EmbeddingCache",
    "EmbeddingFile",
    "Encoder",
    "JudgeComparison",
    "LoopReport",
    "PreferenceReport",
    "RolloutResult",
    "ScoreRun",
    "Verdict",
    "__version__",
    "build_info",
    "compare_judges",
    "compare_judges_async",
    "compare_preference",
    "compare_preference_async",
    "cosine",
    "data",
    "embedders",
    "errors",
    "frames",
    "loop",
    "loop_async",
    "metrics",
    "promotion_gate",
    "run",
    "run_async",
    "score",
    "scorers",
    "similarity",
    "verify_evidence",
]

# Public name -> the module that defines it; a submodule maps to itself.
_LAZY = {
    "EmbeddingCache": "framejudge.encoder",
    "EmbeddingFile": "framejudge.encoder.cache_file",
    "Encoder": "framejudge.encoder",
    "JudgeComparison": "framejudge.schemas.judge_audit",
    "LoopReport": "framejudge.schemas",
    "PreferenceReport": "framejudge.schemas.preference",
    "RolloutResult": "framejudge.schemas",
    "ScoreRun": "framejudge.metrics",
    "Verdict": "framejudge.schemas",
    "compare_judges": "framejudge.rollout.compare_judges",
    "compare_judges_async": "framejudge.rollout.compare_judges",
    "compare_preference": "framejudge.rollout.compare_preference",
    "compare_preference_async": "framejudge.rollout.compare_preference",
    "cosine": "framejudge.cosine",
    "data": "framejudge.data",
    "embedders": "framejudge.embedders",
    "errors": "framejudge.errors",
    "frames": "framejudge.frames",
    "loop": "framejudge.rollout",
    "loop_async": "framejudge.rollout",
    "metrics": "framejudge.metrics",
    "promotion_gate": "framejudge.rollout",
    "run": "framejudge.rollout",
    "run_async": "framejudge.rollout",
    "score": "framejudge.metrics",
    "scorers": "framejudge.scorers",
    "similarity": "framejudge.scorers",
    "verify_evidence": "framejudge.rollout",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, and keep it."""
    if name not in _LAZY:
        raise AttributeError(f"module 'framejudge' has no attribute {name!r}")
    module = importlib.import_module(_LAZY[name])
    value = module if _LAZY[name] == f"framejudge.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
