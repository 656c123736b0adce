"""Rollouts judged by a VLM, one of them or all under a folder, and the gate on their evidence."""

from __future__ import annotations

from framejudge.rollout.compare_judges import compare_judges, compare_judges_async
from framejudge.rollout.compare_preference import compare_preference, compare_preference_async
from framejudge.rollout.gate import (
    GateDecision,
    VerifyReport,
    promotion_gate,
    verify_evidence,
)
from framejudge.rollout.prefix import loop, loop_async
from framejudge.rollout.single import run, run_async

__all__ = [
    "GateDecision",
    "VerifyReport",
    "compare_judges",
    "compare_judges_async",
    "compare_preference",
    "compare_preference_async",
    "loop",
    "loop_async",
    "promotion_gate",
    "run",
    "run_async",
    "verify_evidence",
]
