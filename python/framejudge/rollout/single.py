"""`run`: one rollout becomes a score with evidence."""

from __future__ import annotations

import asyncio
from typing import Any

from framejudge._files import place
from framejudge.judge import JudgeClient
from framejudge.rollout.evaluate import Evaluator, result_path
from framejudge.rollout.options import RolloutOptions
from framejudge.rollout.task import MAX_PLAN_CHARS, task_from_plan
from framejudge.schemas import RolloutResult

__all__ = ["run", "run_async"]


def run(
    input_path: str,
    output_path: str,
    *,
    score: float | None = None,
    task_from: str = "",
    max_plan_chars: int = MAX_PLAN_CHARS,
    **options: Any,
) -> RolloutResult:
    """Judge one rollout, write `vlm_eval.json`, and return what it holds.

    Args:
        input_path: a folder of pictures, a .npy or .npz episode, or a video.
        output_path: a folder, or a path that ends in .json.
        score: skips the call; for testing pipelines, and said so in the result.
        task_from: a JSON file whose `analysis` is a plan; it comes before `task`.
        max_plan_chars: a longer plan is an error, never cut. Default 900.
        **options: the fields of `RolloutOptions`: task, backend, model, endpoint_url,
            api_key_env, frame_selection, max_frames, max_side_px, frame_format, rubric,
            rubric_path, success_threshold, timeout_s, cache, prices, max_cost.

    Returns:
        The result; `passed` is `score >= success_threshold` and nothing else.

    Raises:
        ConfigurationError: an option that can't work, before anything is read or sent.
        JudgeError: no verdict; nothing is written.
        DataError, ImageError, VideoError: frames that can't be read, by name.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = run(folder, folder, backend="stub", task="place the cube")
    >>> result.provider_call_made, result.evidence
    (False, None)
    """
    return asyncio.run(
        run_async(
            input_path,
            output_path,
            score=score,
            task_from=task_from,
            max_plan_chars=max_plan_chars,
            **options,
        )
    )


async def run_async(
    input_path: str,
    output_path: str,
    *,
    score: float | None = None,
    task_from: str = "",
    max_plan_chars: int = MAX_PLAN_CHARS,
    **options: Any,
) -> RolloutResult:
    """Do what `run` does, in a running event loop."""
    settled = RolloutOptions.of(input_path, output_path, options)
    evaluator = await asyncio.to_thread(Evaluator.of, settled)
    task = None
    if task_from:
        task = await asyncio.to_thread(task_from_plan, task_from, max_plan_chars=max_plan_chars)
    path, output = place(settled.input_path), result_path(settled.output_path)
    settled.check_output(output)
    if score is not None:
        return await asyncio.to_thread(evaluator.override, path, output, score)
    if evaluator.settings.backend == "stub":
        return await evaluator.evaluate(path, output, task=task)
    async with JudgeClient(evaluator.settings) as client:
        await client.check()
        evaluator.client = client
        return await evaluator.evaluate(path, output, task=task)
