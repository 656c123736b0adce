"""A judged rollout, or a loop over many, as text for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge.report.text import verdict_word
from framejudge.schemas import LoopReport, LoopRow, RolloutResult
from framejudge.schemas.numbers import format_percent, format_score
from framejudge.schemas.text import printable

__all__ = ["print_loop", "print_rollout", "score_bar"]

_BAR = 20
_AT_MOST = 20


def score_bar(score: float, threshold: float, *, width: int = _BAR) -> Text:
    """Return a bar as long as the score, with a mark where the threshold is.

    >>> score_bar(0.5, 0.8, width=10).plain
    '━━━━━╌╌╌╎╌'
    """
    full, mark = int(score * width), min(int(threshold * width), width - 1)
    bar = "━" * full + "╌" * (width - full)
    text = Text(bar[:mark] + "╎" + bar[mark + 1 :])
    text.stylize("green" if score >= threshold else "red", 0, full)
    return text


def print_rollout(result: RolloutResult, console: Console) -> None:
    """Print one result: the verdict, what the judge saw, and what the score rests on.

    Args:
        result: what `run` returned.
        console: where to print.
    """
    edges = [result.success_threshold]
    line = verdict_word(result.verdict)
    line.append(f"  {format_score(result.score, below=edges)} ", style="not bold default")
    line.append(score_bar(result.score, result.success_threshold))
    line.append(f" {result.success_threshold:g} to pass", style="not bold default")
    console.print(line, soft_wrap=True)
    told = Table(box=None, show_header=False, pad_edge=False)
    told.add_column(style="dim")
    told.add_column(overflow="fold")
    frames = f"{result.frame_count} frames, {result.frame_selection}"
    for name, value in (
        ("task", result.task),
        ("judge", f"{result.served_model or result.model} ({result.backend}), {frames}"),
        ("rationale", result.rationale),
        ("evidence", _evidence(result)),
        ("written", result.result_uri),
    ):
        told.add_row(name, Text(printable(value)))
    console.print(told)
    if result.provider_success_matches_score_gate is False:
        said = "success" if result.provider_success else "no success"
        console.print(f"The judge says {said}; the score decides.", style="yellow")


def print_loop(report: LoopReport, console: Console) -> None:
    """Print a loop: a row for each rollout, the means, and the verdict.

    Args:
        report: what `loop` returned.
        console: where to print.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("rollout", overflow="fold", min_width=8)
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("rationale", overflow="ellipsis", no_wrap=True, ratio=1)
    shown = report.rollouts
    if len(shown) > _AT_MOST:  # those that fall shortest say the most
        worst = sorted(shown, key=lambda row: row.score)[:_AT_MOST]
        shown = [row for row in shown if row in worst]
    for row in shown:
        table.add_row(*_cells(row, report.success_threshold))
    console.print(table)
    if len(shown) < len(report.rollouts):
        left = len(report.rollouts) - len(shown)
        console.print(f"… and {left} with higher scores; the report has them all", style="dim")
    verdict = report.verdict
    line = verdict_word(verdict)
    mean = "nothing scored"
    if report.mean_score is not None:
        mean = f"mean {format_score(report.mean_score, below=[report.success_threshold])}"
    rest = f"  {mean}, {report.success_threshold:g} to pass; {report.n_scored}/{report.n_total}"
    line.append(f"{rest} rollouts scored", style="not bold default")
    if report.success_rate is not None and report.pass_rate_interval is not None:
        low, high = (format_percent(bound) for bound in report.pass_rate_interval)
        line.append(
            f"\n  {report.passed_rollouts} of {report.n_scored} pass alone: "
            f"{format_percent(report.success_rate)} ({low} to {high})",
            style="not bold default",
        )
    for reason in verdict.reasons[:_AT_MOST]:
        line.append(f"\n  - {printable(reason)}", style="not bold default")
    if len(verdict.reasons) > _AT_MOST:
        line.append(f"\n  - … and {len(verdict.reasons) - _AT_MOST} more", style="not bold default")
    console.print(line, soft_wrap=True)
    console.print(_totals(report), style="dim", soft_wrap=True)


def _cells(row: LoopRow, threshold: float) -> tuple[Text, ...]:
    return (
        Text(printable(row.rollout_id)),
        Text(format_score(row.score, below=[threshold])),
        score_bar(row.score, threshold),
        Text(printable(row.rationale)),
    )


def _evidence(result: RolloutResult) -> str:
    if result.evidence is None:
        return "none: no call was made"
    stored = ", from an earlier call" if result.cache_hit else ""
    return f"request {result.evidence.request.request_manifest_sha256[:12]}…{stored}"


def _totals(report: LoopReport) -> str:
    parts = [f"judge {report.model}", f"{report.latency_s:g} s"]
    tokens = report.usage.get("total_tokens")
    if tokens:
        parts.append(f"{tokens} tokens")
    if report.cost_usd is not None:
        parts.append(f"${report.cost_usd:.4f}")
    for count, what in ((report.n_reused, "resumed"), (report.n_cache_hits, "from the cache")):
        if count:
            parts.append(f"{count} {what}")
    return printable(f"{', '.join(parts)}; written to {report.output_dir}")
