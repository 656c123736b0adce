"""Rollouts judged by a VLM, one of them or all under a folder, and the gate on their evidence."""

from __future__ import annotations

from framejudge.rollout.audits.image_pair import compare_preference, compare_preference_async
from framejudge.rollout.audits.judge_pair import compare_judges, compare_judges_async
from framejudge.rollout.audits.visual_review import review_visual, review_visual_async
from framejudge.rollout.calibration.control_set import controls, controls_async
from framejudge.rollout.calibration.sweep import benchmark, benchmark_async
from framejudge.rollout.gate import (
    GateDecision,
    VerifyReport,
    promotion_gate,
    verify_evidence,
)
from framejudge.rollout.prefix import loop, loop_async
from framejudge.rollout.single import run, run_async
from framejudge.rollout.workflows import list_backends, status, workflow

__all__ = [
    "GateDecision",
    "VerifyReport",
    "benchmark",
    "benchmark_async",
    "compare_judges",
    "compare_judges_async",
    "compare_preference",
    "compare_preference_async",
    "controls",
    "controls_async",
    "list_backends",
    "loop",
    "loop_async",
    "promotion_gate",
    "review_visual",
    "review_visual_async",
    "run",
    "run_async",
    "status",
    "verify_evidence",
    "workflow",
]
