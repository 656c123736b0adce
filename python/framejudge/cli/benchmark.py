"""`framejudge benchmark`: which model, rubric and threshold to trust, on labelled rollouts."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.progress import stages
from framejudge.cli.rollouts import (
    ApiKeyEnv,
    Backend,
    EndpointUrl,
    Format,
    FrameFormat,
    FrameSelection,
    MaxFrames,
    MaxSidePx,
    NoCache,
    Output,
    Selection,
    Task,
    TimeoutS,
)
from framejudge.errors import ConfigurationError
from framejudge.schemas import ExitCode

__all__ = ["benchmark"]


def benchmark(
    output: Annotated[str, typer.Option("--output", "-o", help="The report's path.")],
    dataset: Annotated[
        str,
        typer.Option(
            help="A manifest, its folder or URL, or a packaged one: sample, isaac-agency."
        ),
    ] = "sample",
    thresholds: Annotated[
        str, typer.Option(help="Numbers with commas, or auto: one that is found on the items.")
    ] = "0.5,0.8,0.9",
    rubrics: Annotated[
        list[str] | None,
        typer.Option(help="Names of the dataset, default, @file, or a text; may be repeated."),
    ] = None,
    models: Annotated[
        list[str] | None, typer.Option("--models", "-m", help="Judges; may be repeated.")
    ] = None,
    backend: Backend = "self-hosted",
    task: Task = "sim-to-real",
    endpoint_url: EndpointUrl = "",
    api_key_env: ApiKeyEnv = "VLM_EVAL_API_KEY",
    frame_selection: FrameSelection = Selection.KEYFRAMES,
    max_frames: MaxFrames = 4,
    max_side_px: MaxSidePx = 768,
    frame_format: Format = FrameFormat.PNG,
    timeout_s: TimeoutS = 120.0,
    use_fixture_scores: Annotated[
        bool, typer.Option("--use-fixture-scores", help="Take scores that the dataset holds.")
    ] = False,
    repeats: Annotated[
        int, typer.Option(help="Calls for each item; the first counts, the others show the spread.")
    ] = 1,
    concurrency: Annotated[
        int, typer.Option("--max-concurrency", "-j", help="Items judged at once.")
    ] = 8,
    no_cache: NoCache = False,
    output_format: Annotated[
        Output, typer.Option("--format", help="How the result is printed.")
    ] = Output.TEXT,
) -> int:
    """Judge labelled rollouts under every model, rubric and threshold.

    It is no gate. Exit status: 0 complete, 2 usage or dataset, 3 a case without a verdict.
    """
    from framejudge.report.benchmark import print_benchmark  # noqa: PLC0415 - keeps --help quick
    from framejudge.rollout import benchmark as judge_all  # noqa: PLC0415
    from framejudge.rollout.calibration.dataset import load_dataset  # noqa: PLC0415
    from framejudge.rollout.calibration.rubrics import split_rubrics  # noqa: PLC0415

    found = load_dataset(dataset)
    names = [name.strip() for one in models or [] for name in one.split(",") if name.strip()]
    with stages() as show:
        report = judge_all(
            dataset,
            output,
            thresholds=_numbers(thresholds),
            rubrics=split_rubrics(rubrics or ["default"], named=found.rubrics, folder=found.folder),
            models=names or [""],
            backend=backend,
            task=task,
            endpoint_url=endpoint_url,
            api_key_env=api_key_env,
            frame_selection=frame_selection.value,
            max_frames=max_frames,
            max_side_px=max_side_px,
            frame_format=frame_format.value,
            timeout_s=timeout_s,
            use_fixture_scores=use_fixture_scores,
            repeats=repeats,
            concurrency=concurrency,
            cache=not no_cache,
            progress=lambda done, total: show("judging items", done, total),
            warn=lambda text: print(f"Warning: {text}", file=sys.stderr),
        )
    if output_format is Output.JSON:
        print(json.dumps(report.model_dump(mode="json"), indent=2, sort_keys=True))
    else:
        print_benchmark(report, Console())
    return int(ExitCode.PASS)


def _numbers(text: str) -> list[float] | str:
    if text.strip().lower() == "auto":
        return "auto"
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ConfigurationError(
            f"thresholds must be numbers with commas between them, or auto; got {text!r}"
        ) from None
