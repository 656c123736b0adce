"""`framejudge controls`: does the judge fall for a rollout that shows less than it should?"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.rollouts import (
    ApiKeyEnv,
    Backend,
    EndpointUrl,
    ExitZero,
    FrameSelection,
    InputPath,
    MaxFrames,
    MaxSidePx,
    Model,
    Output,
    OutputFormat,
    Rubric,
    RubricPath,
    Selection,
    Task,
    Threshold,
    TimeoutS,
    print_json,
)

__all__ = ["controls"]


def controls(
    input_path: InputPath,
    output_path: Annotated[
        str, typer.Option(help="A folder for vlm_controls.json and a page to look at.")
    ] = "",
    task: Task = "sim-to-real",
    backend: Backend = "self-hosted",
    model: Model = "Qwen/Qwen2-VL-7B-Instruct",
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    ambiguous_path: Annotated[str, typer.Option(help="A rollout whose end can't be told.")] = "",
    unrelated_path: Annotated[
        str, typer.Option(help="A rollout that has nothing to do with the task.")
    ] = "",
    frame_selection: FrameSelection = Selection.KEYFRAMES,
    max_frames: MaxFrames = 4,
    max_side_px: MaxSidePx = 768,
    rubric: Rubric = "",
    rubric_path: RubricPath = "",
    success_threshold: Threshold = 0.8,
    timeout_s: TimeoutS = 120.0,
    output: OutputFormat = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Judge a complete rollout, a shorter and a blank one with the same prompt.

    Exit status: 0 only the complete one passed and the others scored 0.0, 1 not so, 2 usage,
    3 a control without a verdict.
    """
    from framejudge._files import place  # noqa: PLC0415 - keeps --help quick
    from framejudge.report.controls import print_controls, write_page  # noqa: PLC0415
    from framejudge.rollout import controls as judge_all  # noqa: PLC0415

    with Console(stderr=True).status(f"judging controls of {input_path}"):
        report = judge_all(
            input_path,
            output_path,
            ambiguous_path=ambiguous_path,
            unrelated_path=unrelated_path,
            task=task,
            backend=backend,
            model=model,
            endpoint_url=endpoint_url,
            api_key_env=api_key_env,
            frame_selection=frame_selection.value,
            max_frames=max_frames,
            max_side_px=max_side_px,
            rubric=rubric,
            rubric_path=rubric_path,
            success_threshold=success_threshold,
            timeout_s=timeout_s,
        )
    page = write_page(report, place(output_path)) if output_path else None
    if output is Output.JSON:
        print_json(report.model_dump(mode="json"))
    else:
        print_controls(report, Console())
        if page is not None:
            print(f"Look at {page}")
    return int(report.verdict.exit_code(exit_zero=exit_zero))
