"""`framejudge review-visual`: what a model sees, kept privately and never scored."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.audits import ArtifactPath
from framejudge.cli.rollouts import (
    ApiKeyEnv,
    EndpointUrl,
    ExitZero,
    FrameSelection,
    InputPath,
    MaxFrames,
    MaxSidePx,
    Output,
    Rubric,
    RubricPath,
    Selection,
    TimeoutS,
    print_json,
)
from framejudge.schemas import ExitCode

__all__ = ["review_visual"]


def review_visual(
    input_path: InputPath,
    output_path: ArtifactPath,
    model: Annotated[str, typer.Option("--model", "-m", help="A hosted model.")],
    task: Annotated[str, typer.Option(help="What to look at; neutral, it names no source.")],
    baseline_path: Annotated[
        str, typer.Option(help="A second source, shown beside the first in both orders.")
    ] = "",
    frame_selection: FrameSelection = Selection.KEYFRAMES,
    max_frames: MaxFrames = 4,
    max_side_px: MaxSidePx = 768,
    max_images: Annotated[
        int, typer.Option(help="The most images that the provider takes in one request.")
    ] = 10,
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    rubric: Rubric = "",
    rubric_path: RubricPath = "",
    objective_evidence_path: Annotated[
        str, typer.Option(help="A JSON list of references; kept, neither sent nor verified.")
    ] = "",
    matched_view_map_path: Annotated[
        str, typer.Option(help="A JSON object of matched views; likewise.")
    ] = "",
    timeout_s: TimeoutS = 120.0,
    output: Annotated[
        Output, typer.Option("--output", "--output-format", help="How the result is printed.")
    ] = Output.TEXT,
    exit_zero: ExitZero = False,
) -> int:
    """Have a model describe a source, or compare two; never a score.

    Exit status: 0 completed, 1 a person must look, 2 usage, 3 an answer does not count.
    """
    given = locals().copy()
    from framejudge.rollout import review_visual as review  # noqa: PLC0415 - keeps --help quick

    own = ("input_path", "output_path", "output", "exit_zero")
    options = {name: value for name, value in given.items() if name not in own}
    options["frame_selection"] = frame_selection.value
    with Console(stderr=True).status("asking for a review"):
        found = review(input_path, output_path, **options)
    if output is Output.JSON:
        print_json(found.summary())
    else:
        for key, value in found.summary().items():
            print(f"  {key}: {value}")
    if found.status == "judge_error":
        return int(ExitCode.INCOMPLETE)
    return int(
        ExitCode.GATE_FAILED if found.escalation_required and not exit_zero else ExitCode.PASS
    )
