"""`framejudge demo`: the main job on packaged camera sessions and real weights."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from framejudge.cli.progress import prepare_model, progress

__all__ = ["demo"]

_NEXT = """\
These were {n_frames} descriptions of {n_cameras} cameras by {n_models} models, against what a
human saw. A similarity below {threshold} counts as a hallucination. Read the frames with care:
cosine similarity passes small lies ({passed} of {small} negations and wrong counts, sides and
colours scored {threshold} or more), and flags honest paraphrases ({flagged} of {honest}).

Next:
  framejudge score YOUR.jsonl -o run.json    your own frames, one a row:
    {{"session_id": "cam-1", "assistant_id": "my-vlm", "qa_id": "frame-1",
     "assistant": "what the VLM said", "ground_truth_assistant": "what a human saw"}}
  framejudge score --help                    thresholds, gates, formats, exit codes
The whole run is in {path}"""
_SMALL_LIES = ("negation", "wrong_count", "wrong_side", "wrong_colour")
_HONEST = ("paraphrase",)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the run as JSON.")
    ] = Path("framejudge-demo.json"),
) -> int:
    """Score the packaged camera sessions with the real all-mpnet-base-v2.

    Fetches the weights (about 400 MB) the first time. No gate: exit status 0 when complete.
    """
    from framejudge.metrics import score  # noqa: PLC0415 - keeps --help quick
    from framejudge.report import check_outputs, print_run, write_run  # noqa: PLC0415

    check_outputs([output])
    prepare_model("all-mpnet-base-v2")
    source = resources.files("framejudge.data") / "demo_sessions.json"
    with resources.as_file(source) as path, progress("scoring frames") as done:
        run = score(path, progress=done)
    write_run(run, output)
    console = Console()
    print_run(run, console, frames="all", verdict=False)
    kinds = [(frame.metadata.get("kind"), frame.is_hallucination) for frame in run.frames]
    small = [flagged for kind, flagged in kinds if kind in _SMALL_LIES]
    honest = [flagged for kind, flagged in kinds if kind in _HONEST]
    text = _NEXT.format(
        n_frames=len(run.frames),
        n_cameras=len({frame.session_id for frame in run.frames}),
        n_models=len({frame.assistant_id for frame in run.frames}),
        threshold=run.hallucination[0].threshold,
        passed=small.count(False),
        small=len(small),
        flagged=honest.count(True),
        honest=len(honest),
        path=output,
    )
    console.print(text, highlight=False, markup=False, soft_wrap=True)
    return int(run.verdict.exit_code(exit_zero=True))
