"""An audit as text for a terminal: how it ended, and nothing that a judge wrote."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge.report.rollouts import score_bar
from framejudge.schemas.judge_audit import ComparedJudge, JudgeComparison
from framejudge.schemas.numbers import format_score
from framejudge.schemas.preference import PreferenceOutcome, PreferenceReport
from framejudge.schemas.text import printable

__all__ = ["print_judge_comparison", "print_preference"]

_JUDGES = {
    "judge_error": "a judge gave no verdict",
    "judge_identity_collision": "both answers are of one model",
    "judge_disagreement": "the judges disagree",
    "judges_agree_passed": "both judges let it pass",
    "judges_agree_needs_iteration": "both judges find it short of the threshold",
}
_PREFERENCES = {
    "judge_error": "the judge gave no verdict",
    "unresolved": "the judge could not tell",
    "low_confidence": "the judge was not sure",
    "order_disagreement_or_nondeterminism": "the preference changed with the order, or by chance",
    "consistent_tie": "neither image is preferred, in both orders",
    "consistent_baseline_preference": "the baseline is preferred, in both orders",
    "consistent_candidate_preference": "the candidate is preferred, in both orders",
}


def print_judge_comparison(report: JudgeComparison, console: Console) -> None:
    """Print both judges' verdicts side by side; no path, prompt, rationale or mean.

    Args:
        report: what `compare_judges` returned.
        console: where to print.
    """
    _headline(
        report.status, _JUDGES[report.status], console, needs_human=report.escalation_required
    )
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("", "judge"):
        table.add_column(name, overflow="fold")
    table.add_column("score", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("verdict", overflow="fold")
    for name, judge in (("primary", report.primary), ("secondary", report.secondary)):
        table.add_row(name, *_judge_cells(judge, report.success_threshold))
    console.print(table)
    delta = report.score_delta_secondary_minus_primary
    differ = "" if delta is None else f"; secondary minus primary {delta:+g}"
    _footer(
        f"{report.frame_count} frames, {report.success_threshold:g} to pass{differ}",
        "agreement qualifies no judge",
        console,
    )


def print_preference(report: PreferenceReport, console: Console) -> None:
    """Print what was preferred in each order; no path, prompt, or words of the judge's.

    Args:
        report: what `compare_preference` returned.
        console: where to print.
    """
    told = _PREFERENCES[report.status]
    _headline(report.status, told, console, needs_human=report.escalation_required)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("shown as A", "shown as B", "preferred", "confidence"):
        table.add_column(name, overflow="fold")
    for outcome in (report.first_order, report.reversed_order):
        table.add_row(*_order_cells(outcome))
    console.print(table)
    _footer(f"judge {report.model}", "a preference is no measurement", console)


def _headline(status: str, told: str, console: Console, *, needs_human: bool) -> None:
    line = Text(status, style="bold yellow" if needs_human else "bold")
    line.append(f"  {told}", style="not bold default")
    if needs_human:
        line.append("; a person must look", style="not bold default")
    console.print(line, soft_wrap=True)


def _footer(told: str, caution: str, console: Console) -> None:
    text = printable(f"{told}; audit only, {caution}; artifact written")
    console.print(Text(text, style="dim"), soft_wrap=True)


def _judge_cells(judge: ComparedJudge, threshold: float) -> tuple[Text, ...]:
    name = Text(printable(judge.model))
    if judge.result is None:
        stage = judge.error.stage if judge.error else ""
        return name, Text("none"), Text(""), Text(f"error: {stage}", style="red")
    score = judge.result.score
    return (
        name,
        Text(format_score(score, below=[threshold])),
        score_bar(score, threshold),
        Text(judge.result.status.replace("_", " ")),
    )


def _order_cells(outcome: PreferenceOutcome) -> tuple[Text, ...]:
    arms = Text(outcome.A_arm), Text(outcome.B_arm)
    if outcome.verdict is None:
        stage = outcome.error.stage if outcome.error else ""
        return *arms, Text(f"error: {stage}", style="red"), Text("")
    return *arms, Text(outcome.mapped or ""), Text(outcome.verdict.confidence)
