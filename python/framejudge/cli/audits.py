"""`framejudge compare-judges` and `compare-preference`: records for people, never a gate."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from framejudge.cli.rollouts import (
    ApiKeyEnv,
    DryRun,
    EndpointUrl,
    ExitZero,
    Format,
    FrameFormat,
    FrameSelection,
    InputPath,
    MaxFrames,
    MaxSidePx,
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
from framejudge.errors import AuditAccessError
from framejudge.schemas import ExitCode

__all__ = ["compare_judges", "compare_preference"]

ArtifactPath = Annotated[
    str, typer.Option("--output-path", help="A folder, or the artifact's path; never replaced.")
]


def compare_judges(
    input_path: InputPath,
    output_path: ArtifactPath,
    primary_model: Annotated[str, typer.Option(help="One hosted judge.")],
    secondary_model: Annotated[str, typer.Option(help="Another one.")],
    task: Task = "sim-to-real",
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
    dry_run: DryRun = False,
    output: OutputFormat = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Ask two hosted judges the same about one rollout, and keep both answers.

    Each is asked once. The artifact is an audit's: agreement qualifies neither judge.

    Exit status: 0 both let it pass, 1 they disagree or find it short, 2 usage, 3 a judge erred.
    """
    given = locals().copy()
    from framejudge.rollout import compare_judges as compare  # noqa: PLC0415 - keeps --help quick

    own = ("input_path", "output_path", "dry_run", "output", "exit_zero")
    options = {name: value for name, value in given.items() if name not in own}
    if dry_run:
        return _show_judges(input_path, output_path, output, options)
    with Console(stderr=True).status("asking both judges"):
        report = compare(input_path, output_path, **options)
    if output is Output.JSON:
        print_json(report.summary())
    else:
        from framejudge.report.judge_audits import print_judge_comparison  # noqa: PLC0415

        print_judge_comparison(report, Console())
    return int(report.exit_code(exit_zero=exit_zero))


def compare_preference(
    baseline_path: Annotated[
        str, typer.Option(help="A picture, or a folder with exactly one.", show_default=False)
    ],
    candidate_path: Annotated[str, typer.Option(help="Another one.", show_default=False)],
    output_path: ArtifactPath,
    task: Annotated[str, typer.Option(help="What the images are to show, told neutrally.")],
    model: Annotated[str, typer.Option("--model", "-m", help="The hosted judge.")] = (
        "MiniMaxAI/MiniMax-M3"
    ),
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    rubric: Rubric = "",
    rubric_path: RubricPath = "",
    timeout_s: TimeoutS = 120.0,
    output: Annotated[
        Output, typer.Option("--output", "--output-format", help="How the result is printed.")
    ] = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Ask a hosted judge which of two images it prefers, blind and in both orders.

    Each order is asked once. Where a run died after both answers, the same command writes the
    report; it sends nothing again.

    Exit status: 0 the same in both orders and sure, 1 a person must look, 2 usage, 3 no verdict.
    """
    from framejudge.rollout import compare_preference as compare  # noqa: PLC0415

    try:
        with Console(stderr=True).status("asking in both orders"):
            report = compare(
                baseline_path,
                candidate_path,
                output_path,
                task=task,
                model=model,
                endpoint_url=endpoint_url,
                api_key_env=api_key_env,
                rubric=rubric,
                rubric_path=rubric_path,
                timeout_s=timeout_s,
            )
    except AuditAccessError as error:
        if output is Output.JSON:
            told = {"result": "error", "reason_code": error.reason_code, "message": str(error)}
            print_json(told)
        raise
    if output is Output.JSON:
        print_json(report.summary())
    else:
        from framejudge.report.judge_audits import print_preference  # noqa: PLC0415

        print_preference(report, Console())
    return int(report.exit_code(exit_zero=exit_zero))


def _show_judges(input_path: str, output_path: str, output: Output, options: dict[str, Any]) -> int:
    from framejudge.rollout.audits.judge_pair import prepare_judges  # noqa: PLC0415

    pair = prepare_judges(input_path, output_path, **options)
    frames = [frame.evidence for frame in pair.requests[0].frames]
    models = [request.settings.model for request in pair.requests]
    plan = {
        "models": models,
        "n_calls": len(models),
        "request_bytes": pair.request_bytes,
        "common_request_sha256": pair.common_request_sha256,
        "frames": [frame.model_dump(include={"label", "sha256", "byte_count"}) for frame in frames],
    }
    if output is Output.JSON:
        print_json(plan)
    else:
        for frame in frames:
            print(f"  {frame.sha256}  {frame.byte_count:>9}  {frame.label}")
        print(f"1 call each to {' and '.join(models)}, {pair.request_bytes} bytes in all")
    return int(ExitCode.PASS)
