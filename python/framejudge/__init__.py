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
        benchmark,
        benchmark_async,
        compare_judges,
        compare_judges_async,
        compare_preference,
        compare_preference_async,
        controls,
        controls_async,
        list_backends,
        loop,
        loop_async,
        promotion_gate,
        review_visual,
        review_visual_async,
        run,
        run_async,
        status,
        verify_evidence,
        workflow,
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
    "benchmark",
    "benchmark_async",
    "build_info",
    "compare_judges",
    "compare_judges_async",
    "compare_preference",
    "compare_preference_async",
    "controls",
    "controls_async",
    "cosine",
    "data",
    "embedders",
    "errors",
    "frames",
    "list_backends",
    "loop",
    "loop_async",
    "metrics",
    "promotion_gate",
    "review_visual",
    "review_visual_async",
    "run",
    "run_async",
    "score",
    "scorers",
    "similarity",
    "status",
    "verify_evidence",
    "workflow",
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
    "benchmark": "framejudge.rollout",
    "benchmark_async": "framejudge.rollout",
    "controls": "framejudge.rollout",
    "controls_async": "framejudge.rollout",
    "compare_judges": "framejudge.rollout",
    "compare_judges_async": "framejudge.rollout",
    "compare_preference": "framejudge.rollout",
    "compare_preference_async": "framejudge.rollout",
    "cosine": "framejudge.cosine",
    "data": "framejudge.data",
    "embedders": "framejudge.embedders",
    "errors": "framejudge.errors",
    "frames": "framejudge.frames",
    "list_backends": "framejudge.rollout",
    "loop": "framejudge.rollout",
    "loop_async": "framejudge.rollout",
    "metrics": "framejudge.metrics",
    "promotion_gate": "framejudge.rollout",
    "review_visual": "framejudge.rollout",
    "review_visual_async": "framejudge.rollout",
    "run": "framejudge.rollout",
    "run_async": "framejudge.rollout",
    "score": "framejudge.metrics",
    "scorers": "framejudge.scorers",
    "similarity": "framejudge.scorers",
    "status": "framejudge.rollout",
    "verify_evidence": "framejudge.rollout",
    "workflow": "framejudge.rollout",
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
