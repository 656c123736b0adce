"""A score run as text for a terminal: sessions, the table, the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge.metrics.bands import RATE_BANDS, SIMILARITY_BANDS, rate_band
from framejudge.schemas import (
    ScoreRun,
    Verdict,
    VisionHallucinationMetric,
    VisionSimilarityMetric,
)
from framejudge.schemas.numbers import format_percent, format_score
from framejudge.schemas.text import printable

__all__ = ["FRAMES_SHOWN", "print_run", "verdict_word"]

FRAMES_SHOWN = ("all", "flagged", "none")
_AT_MOST = 20
_WIDE = 100
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
                Text(printable(f"{frame.status.value}: {frame.reason}"), style="red"),
                soft_wrap=True,
            )
    console.print(_table(run, wide=console.width >= _WIDE))
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


def _table(run: ScoreRun, *, wide: bool) -> Table:
    """Make the table of sessions; a narrow one leaves out range and interval."""
    incomplete = any(result.n_unscored for result in run.hallucination)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("session", "assistant"):
        table.add_column(name, overflow="fold", min_width=10)
    numbers = (
        ["mean", "(range)", "flagged", "rate", "interval"] if wide else ["mean", "flagged", "rate"]
    )
    for name in (*numbers, *(["scored"] if incomplete else [])):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reading", no_wrap=True)
    for similarity, hallucination in zip(run.similarity, run.hallucination, strict=True):
        table.add_row(*_cells(similarity, hallucination, wide=wide, incomplete=incomplete))
    return table


def _cells(
    similarity: VisionSimilarityMetric,
    hallucination: VisionHallucinationMetric,
    *,
    wide: bool,
    incomplete: bool,
) -> Iterator[Text]:
    yield Text(printable(similarity.session_id))
    yield Text(printable(similarity.assistant_id))
    rate, interval = hallucination.hallucination_rate, hallucination.hallucination_rate_interval
    scored = similarity.mean_similarity is not None and rate is not None
    numbers = (
        similarity.mean_similarity or 0.0,
        similarity.min_similarity or 0.0,
        similarity.max_similarity or 0.0,
    )
    mean, low, high = (format_score(number, below=_SIMILARITY_EDGES) for number in numbers)
    yield Text(mean if scored else "-")
    if wide:
        yield Text(f"({low}-{high})" if scored else "-")
    yield Text(f"{hallucination.n_hallucinations} of {hallucination.n_frames}")
    yield Text(format_percent(rate, edges=_RATE_EDGES) if rate is not None else "-")
    if wide:
        yield Text(" to ".join(format_percent(bound) for bound in interval) if interval else "-")
    if incomplete:
        yield Text(f"{hallucination.n_frames}/{hallucination.n_total}")
    band = rate_band(rate).name if rate is not None else "not scored"
    yield Text(band, style=_BAND_STYLES.get(band, ""))


def verdict_word(verdict: Verdict) -> Text:
    """Return PASS, FAIL or INCOMPLETE, in its colour."""
    if verdict.passed:
        return Text("PASS", style="bold green")
    if verdict.gate_failed:
        return Text("FAIL", style="bold red")
    return Text("INCOMPLETE", style="bold yellow")


def _verdict(run: ScoreRun) -> Text:
    verdict = run.verdict
    text = verdict_word(verdict)
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
        text.append(f"\n  - {printable(reason)}", style="not bold default")
    if len(verdict.reasons) > _AT_MOST:
        text.append(f"\n  - … and {len(verdict.reasons) - _AT_MOST} more", style="not bold default")
    return text
