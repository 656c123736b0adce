"""The JSON Schemas of everything that framejudge writes, made from the records themselves."""

from __future__ import annotations

import importlib
from typing import Any

from framejudge.errors import InputError

__all__ = ["SCHEMAS", "json_schema"]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"

SCHEMAS = {
    "vlm_eval": "framejudge.schemas.rollout:RolloutResult",
    "evidence": "framejudge.schemas.rollout:Evidence",
    "task_success_report": "framejudge.schemas.rollout:LoopReport",
    "vlm_eval_benchmark": "framejudge.schemas.benchmark:BenchmarkReport",
    "vlm_controls": "framejudge.schemas.controls:ControlsReport",
    "vlm_judge_disagreement": "framejudge.schemas.judge_audit:JudgeComparison",
    "vlm_preference_comparison": "framejudge.schemas.preference:PreferenceReport",
    "vlm_visual_review": "framejudge.schemas.visual_review:VisualReview",
    "threshold_decision": "framejudge.rollout.gate:GateDecision",
    "score": "framejudge.schemas.run:ScoreRun",
    "rollout_plan": "framejudge.rollout.plan:RolloutPlan",
}
"""By the artifact's name: where its record is."""


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an artifact.

    Args:
        name: one of `SCHEMAS`.

    Raises:
        InputError: another name.

    >>> json_schema("vlm_eval")["properties"]["passed"]["type"]
    'boolean'
    """
    if name not in SCHEMAS:
        raise InputError(f"schema must be one of {', '.join(SCHEMAS)}, got {name!r}")
    module, record = SCHEMAS[name].split(":")
    found = getattr(importlib.import_module(module), record)
    schema: dict[str, Any] = found.model_json_schema(mode="serialization")
    return {"$schema": _DIALECT, **schema}
