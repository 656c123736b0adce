"""A score run as text for a terminal: sessions, the table, the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge.metrics.bands import RATE_BANDS, SIMILARITY_BANDS, rate_band
from framejudge.schemas import ScoreRun, VisionHallucinationMetric
from framejudge.schemas.numbers import format_percent, format_score

__all__ = ["FRAMES_SHOWN", "print_run"]

FRAMES_SHOWN = ("all", "flagged", "none")
_AT_MOST = 20
_RATE_EDGES = [band.low for band in RATE_BANDS]
_SIMILARITY_EDGES = [band.low for band in SIMILARITY_BANDS]
_BAND_STYLES = {"reliable": "green", "review needed": "yellow", "unreliable": "red"}


def print_run(
    run: ScoreRun,
    console: Console,
    *,
    frames: Literal["all", "flagged", "none"] = "flagged",
    verdict: bool = True,
) -> None:
    """Print a run: each session with its frames, a table of sessions, and the verdict.

    Args:
        run: what `score` returned.
        console: where to print.
        frames: every frame, those that are flagged or have no score (20 a session at most), or
            none.
        verdict: whether the run is a gate.
    """
    if frames == "all":
        for result in run.hallucination:
            console.print(Text(result.render()), soft_wrap=True)
    elif frames == "flagged":
        for result in run.hallucination:
            for line in _noteworthy(result):
                console.print(Text(line), soft_wrap=True)
    for frame in run.frames:
        if frame.session_id is None or frame.assistant_id is None:
            console.print(
                Text(f"{frame.status.value}: {frame.reason}", style="red"), soft_wrap=True
            )
    console.print(_table(run))
    if verdict:
        console.print(_verdict(run), soft_wrap=True)


def _noteworthy(result: VisionHallucinationMetric) -> Iterator[str]:
    picked = [frame for frame in result.interactions if frame.is_hallucination is not False]
    if not picked:
        return
    shown = result.model_copy(update={"interactions": picked[:_AT_MOST]})
    yield shown.render().rstrip()
    if len(picked) > _AT_MOST:
        yield f"  … and {len(picked) - _AT_MOST} more (--frames all, or -o, shows them)"
    yield ""


def _table(run: ScoreRun) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("session", "assistant"):
        table.add_column(name, overflow="fold")
    for name in ("similarity", "min", "max", "flagged", "rate", "interval", "scored"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reading", no_wrap=True)
    for similarity, hallucination in zip(run.similarity, run.hallucination, strict=True):
        rate = hallucination.hallucination_rate
        interval = hallucination.hallucination_rate_interval
        band = "" if rate is None else rate_band(rate).name
        table.add_row(
            Text(similarity.session_id),
            Text(similarity.assistant_id),
            *(
                "-" if value is None else format_score(value, below=_SIMILARITY_EDGES)
                for value in (
                    similarity.mean_similarity,
                    similarity.min_similarity,
                    similarity.max_similarity,
                )
            ),
            str(hallucination.n_hallucinations) if rate is not None else "-",
            "-" if rate is None else format_percent(rate, edges=_RATE_EDGES),
            "-" if interval is None else " to ".join(format_percent(x) for x in interval),
            f"{hallucination.n_frames}/{hallucination.n_total}",
            Text(band, style=_BAND_STYLES.get(band, "")),
        )
    return table


def _verdict(run: ScoreRun) -> Text:
    verdict = run.verdict
    word, style = ("PASS", "bold green") if verdict.passed else ("FAIL", "bold red")
    if not verdict.passed and not verdict.gate_failed:
        word, style = "INCOMPLETE", "bold yellow"
    text = Text(word, style=style)
    measured = "nothing scored"
    limit = format_percent(verdict.threshold, edges=[verdict.threshold])
    if verdict.score is not None:
        measured = f"highest rate {format_percent(verdict.score, edges=[verdict.threshold])}"
    text.append(
        f"  {measured}, at most {limit} allowed; "
        f"{verdict.n_scored}/{verdict.n_total} frames scored",
        style="not bold default",
    )
    for reason in verdict.reasons[:_AT_MOST]:
        text.append(f"\n  - {reason}", style="not bold default")
    if len(verdict.reasons) > _AT_MOST:
        text.append(f"\n  - … and {len(verdict.reasons) - _AT_MOST} more", style="not bold default")
    return text
