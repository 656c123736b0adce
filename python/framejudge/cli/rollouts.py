"""`framejudge run` and `framejudge loop`: rollouts in, scores with evidence and a gate out."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from framejudge.cli.progress import stages
from framejudge.errors import IncompleteLoopError
from framejudge.schemas import ExitCode

__all__ = ["loop", "print_json", "run"]


class Output(StrEnum):
    """How the result is printed."""

    TEXT = "text"
    JSON = "json"


class Selection(StrEnum):
    """Which frames are sent."""

    FINAL = "final"
    KEYFRAMES = "keyframes"
    SEQUENCE = "sequence"


class FrameFormat(StrEnum):
    """How frames are encoded."""

    PNG = "png"
    JPEG = "jpeg"


InputPath = Annotated[str, typer.Option("--input-path", help="Pictures, an episode or a video.")]
OutputPath = Annotated[
    str, typer.Option("--output-path", help="A folder, or a path that ends in .json.")
]
Task = Annotated[
    str,
    typer.Option(
        help="What was to be done; the default looks into the rollout's metadata.",
        envvar="FRAMEJUDGE_TASK",
    ),
]
Backend = Annotated[
    str, typer.Option(help="self-hosted, api or stub.", envvar="FRAMEJUDGE_BACKEND")
]
Model = Annotated[
    str, typer.Option("--model", "-m", help="The judge.", envvar="FRAMEJUDGE_JUDGE_MODEL")
]
EndpointUrl = Annotated[str, typer.Option(help="A base URL, or the one of /chat/completions.")]
ApiKeyEnv = Annotated[str, typer.Option(help="The environment variable that holds the key.")]
FrameSelection = Annotated[
    Selection, typer.Option(help="Which frames are sent.", envvar="FRAMEJUDGE_FRAME_SELECTION")
]
MaxFrames = Annotated[
    int, typer.Option(help="How many frames are sent.", envvar="FRAMEJUDGE_MAX_FRAMES")
]
MaxSidePx = Annotated[int, typer.Option(help="Longer sides are scaled down to it.")]
Format = Annotated[FrameFormat, typer.Option("--frame-format", help="How frames are encoded.")]
Rubric = Annotated[str, typer.Option(help="How to score; replaces the default rubric.")]
RubricPath = Annotated[str, typer.Option(help="A file with the rubric; it comes before --rubric.")]
Threshold = Annotated[
    float,
    typer.Option(help="A score from it on passes.", envvar="FRAMEJUDGE_SUCCESS_THRESHOLD"),
]
TimeoutS = Annotated[float, typer.Option(help="Seconds that one request may take.")]
OutputFormat = Annotated[Output, typer.Option("--output", help="How the result is printed.")]
NoCache = Annotated[
    bool, typer.Option("--no-cache", help="Ask again also what was answered before.")
]
Prices = Annotated[
    str,
    typer.Option(help="A .toml or .json file: input_per_million and output_per_million by model."),
]
MaxCost = Annotated[
    float | None, typer.Option(help="Dollars after which no new call starts; needs --prices.")
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say which frames would be sent; call nothing, write nothing.",
        envvar=["FRAMEJUDGE_DRY_RUN", "NPA_DRY_RUN", "DRY_RUN"],
    ),
]
ExitZero = Annotated[
    bool, typer.Option("--exit-zero", help="Exit with 0 instead of 1 when the gate fails.")
]


def run(
    input_path: InputPath,
    output_path: OutputPath,
    task: Task = "sim-to-real",
    backend: Backend = "self-hosted",
    model: Model = "Qwen/Qwen2-VL-7B-Instruct",
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    frame_selection: FrameSelection = Selection.KEYFRAMES,
    max_frames: MaxFrames = 4,
    max_side_px: MaxSidePx = 768,
    frame_format: Format = FrameFormat.PNG,
    rubric: Rubric = "",
    rubric_path: RubricPath = "",
    success_threshold: Threshold = 0.8,
    timeout_s: TimeoutS = 120.0,
    task_from: Annotated[
        str, typer.Option(help="A JSON file whose `analysis` is the plan to judge against.")
    ] = "",
    max_plan_chars: Annotated[
        int, typer.Option(help="A longer plan is an error, never cut.")
    ] = 900,
    score: Annotated[
        float | None, typer.Option(help="Skip the call; for testing pipelines only.")
    ] = None,
    no_cache: NoCache = False,
    prices: Prices = "",
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    output: OutputFormat = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Judge one rollout.

    Exit status: 0 passed, 1 below --success-threshold, 2 usage, 3 no verdict.
    """
    from framejudge.rollout import run as judge_one  # noqa: PLC0415 - keeps --help quick

    options = _rollout_options(locals())
    if dry_run:
        plan = {"task_from": task_from, "max_plan_chars": max_plan_chars, "score": score}
        return _show_plan(input_path, output_path, output, options | plan)
    with Console(stderr=True).status(f"judging {input_path}"):
        result = judge_one(
            input_path,
            output_path,
            task_from=task_from,
            max_plan_chars=max_plan_chars,
            score=score,
            **options,
        )
    if output is Output.JSON:
        print_json(result.model_dump(mode="json") | {"written_uri": result.result_uri})
    else:
        from framejudge.report.rollouts import print_rollout  # noqa: PLC0415

        print_rollout(result, Console())
    return int(result.verdict.exit_code(exit_zero=exit_zero))


def loop(
    input_path: InputPath,
    output_path: OutputPath,
    task: Task = "sim-to-real",
    backend: Backend = "self-hosted",
    model: Model = "Qwen/Qwen2-VL-7B-Instruct",
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    frame_selection: FrameSelection = Selection.KEYFRAMES,
    max_frames: MaxFrames = 4,
    max_side_px: MaxSidePx = 768,
    frame_format: Format = FrameFormat.PNG,
    rubric: Rubric = "",
    rubric_path: RubricPath = "",
    success_threshold: Threshold = 0.8,
    timeout_s: TimeoutS = 120.0,
    concurrency: Annotated[
        int, typer.Option("--max-concurrency", "-j", help="Rollouts judged at once.")
    ] = 8,
    resume: Annotated[
        bool, typer.Option("--resume", help="Reuse finished results of the same request.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier report.")
    ] = False,
    allow_unscored: Annotated[
        bool,
        typer.Option("--allow-unscored", help="Write a report also where scores are missing."),
    ] = False,
    min_pass_rate: Annotated[
        float | None, typer.Option(help="Also gate on the share of rollouts that pass alone.")
    ] = None,
    no_cache: NoCache = False,
    prices: Prices = "",
    max_cost: MaxCost = None,
    dry_run: DryRun = False,
    output: OutputFormat = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Judge every folder under a prefix as a rollout, and gate on the mean score.

    Exit status: 0 passed, 1 the mean is below --success-threshold (or the pass rate below
    --min-pass-rate), 2 usage, 3 some rollout has no score.
    """
    from framejudge.rollout import loop as judge_all  # noqa: PLC0415 - keeps --help quick

    options = _rollout_options(locals())
    if dry_run:
        return _show_plan(input_path, output_path, output, options | {"every_folder": True})
    try:
        with stages() as show:
            report = judge_all(
                input_path,
                output_path,
                **options,
                concurrency=concurrency,
                resume=resume,
                overwrite=overwrite,
                allow_unscored=allow_unscored,
                min_pass_rate=min_pass_rate,
                progress=lambda done, total: show("judging rollouts", done, total),
                warn=_warn,
            )
    except IncompleteLoopError as error:
        for name, why in error.unscored.items():
            print(f"{name}: {why}", file=sys.stderr)
        raise
    for entry in report.unscored:
        print(f"{entry['rollout_id']}: {entry['reason']}", file=sys.stderr)
    if output is Output.JSON:
        print_json(report.model_dump(mode="json"))
    else:
        from framejudge.report.rollouts import print_loop  # noqa: PLC0415

        print_loop(report, Console())
    return int(report.verdict.exit_code(exit_zero=exit_zero))


def _rollout_options(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of `RolloutOptions` among a command's arguments."""
    from framejudge.rollout.options import RolloutOptions  # noqa: PLC0415 - keeps --help quick

    names = {field.name for field in fields(RolloutOptions)} - {"input_path", "output_path"}
    found = {name: value for name, value in given.items() if name in names}
    return found | {"cache": not given["no_cache"]}


def _show_plan(input_path: str, output_path: str, output: Output, options: dict[str, Any]) -> int:
    from framejudge.rollout.plan import plan_rollouts  # noqa: PLC0415 - keeps --help quick

    plan = plan_rollouts(input_path, output_path, **options)
    if output is Output.JSON:
        print_json(plan.model_dump(mode="json"))
    else:
        for rollout in plan.rollouts:
            print(f"{rollout.rollout_id}: {rollout.problem or rollout.task}")
            for frame in rollout.frames:
                print(f"  {frame.sha256}  {frame.byte_count:>9}  {frame.label}")
        print(f"{plan.n_calls} call(s) to {plan.model}, {plan.request_bytes} bytes at most")
    unreadable = any(rollout.problem for rollout in plan.rollouts)
    return int(ExitCode.INCOMPLETE if unreadable else ExitCode.PASS)


def _warn(text: str) -> None:
    print(f"Warning: {text}", file=sys.stderr)


def print_json(record: dict[str, Any]) -> None:
    """Print a record for programs."""
    print(json.dumps(record, indent=2, sort_keys=True))
