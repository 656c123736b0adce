"""What `run` and `loop` would send: for looking at before anything is paid for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from framejudge._files import place
from framejudge.errors import FramejudgeError
from framejudge.rollout.evaluate import Evaluator
from framejudge.rollout.options import RolloutOptions
from framejudge.rollout.prefix import report_path, rollouts_under
from framejudge.rollout.task import MAX_PLAN_CHARS, task_from_plan

__all__ = ["PlannedRollout", "RolloutPlan", "plan_rollouts"]


class PlannedFrame(BaseModel):
    """A frame that would be sent."""

    model_config = ConfigDict(extra="forbid")

    label: str
    sha256: str
    byte_count: int


class PlannedRollout(BaseModel):
    """A rollout, and the call that would be made for it."""

    model_config = ConfigDict(extra="forbid")

    rollout_id: str
    task: str
    frames: list[PlannedFrame]
    request_bytes: int
    problem: str | None = None
    """Why no call could be made."""


class RolloutPlan(BaseModel):
    """All calls, none of which was made."""

    model_config = ConfigDict(extra="forbid")

    model: str
    n_calls: int
    request_bytes: int
    """Of all requests, were none answered from an earlier run."""
    rollouts: list[PlannedRollout]


def plan_rollouts(
    input_path: str,
    output_path: str,
    *,
    every_folder: bool = False,
    task_from: str = "",
    max_plan_chars: int = MAX_PLAN_CHARS,
    score: float | None = None,
    **options: Any,
) -> RolloutPlan:
    """Read the frames and make the requests, send nothing and write nothing.

    Args:
        input_path: as `run` (or `loop`) takes it.
        output_path: as they take it.
        every_folder: each folder is a rollout, as for `loop`.
        task_from: as `run` takes it.
        max_plan_chars: as `run` takes it.
        score: as `run` takes it; there is no call then.
        **options: the fields of `RolloutOptions`.

    Raises:
        ConfigurationError: an option that can't work.
    """
    settled = RolloutOptions.of(input_path, output_path, options)
    evaluator = Evaluator.of(settled)
    task = settled.task
    if task_from:
        task = task_from_plan(task_from, max_plan_chars=max_plan_chars)
    root = place(settled.input_path)
    output = report_path(settled.output_path).parent
    paths = rollouts_under(root, without=output) if every_folder else {root.name: root}
    planned = [_planned(evaluator, name, path, task) for name, path in paths.items()]
    possible = [rollout for rollout in planned if rollout.problem is None]
    return RolloutPlan(
        model=evaluator.settings.model,
        n_calls=0 if evaluator.settings.backend == "stub" or score is not None else len(possible),
        request_bytes=sum(rollout.request_bytes for rollout in possible),
        rollouts=planned,
    )


def _planned(evaluator: Evaluator, name: str, path: Path, task: str) -> PlannedRollout:
    try:
        request = evaluator.request(path, task)
    except (FramejudgeError, OSError) as error:
        return PlannedRollout(
            rollout_id=name, task=task, frames=[], request_bytes=0, problem=str(error)
        )
    return PlannedRollout(
        rollout_id=name,
        task=request.task,
        frames=[
            PlannedFrame(
                label=frame.evidence.label,
                sha256=frame.evidence.sha256,
                byte_count=frame.evidence.byte_count,
            )
            for frame in request.frames
        ],
        request_bytes=len(json.dumps(request.body()).encode()),
    )
