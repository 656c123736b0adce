"""A benchmark's report as text for a terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from framejudge.schemas.benchmark import BenchmarkReport, ConfigResult, JudgeStatistics
from framejudge.schemas.text import printable

__all__ = ["print_benchmark"]

_AT_MOST = 20
_WIDE = 100
_CHANCE = 0.5


def print_benchmark(report: BenchmarkReport, console: Console) -> None:
    """Print a report: configurations by rank, what the scores say, and what they don't.

    Args:
        report: what `benchmark` returned, or an older one; what it lacks shows as n/a.
        console: where to print.
    """
    console.print(_configurations(report, wide=console.width >= _WIDE))
    best = report.best_config
    for what, ids in (
        ("passed and should fail", best.metrics.false_positive_item_ids),
        ("failed and should pass", best.metrics.false_negative_item_ids),
    ):
        if ids:
            console.print(Text(printable(f"Best one, {what}: {', '.join(ids)}")), soft_wrap=True)
    for judge in report.judges or ():
        console.print(_judge(judge), soft_wrap=True)
    if report.comparison is not None:
        both = report.comparison
        console.print(
            f"First against second: right alone {both.only_first_correct} and "
            f"{both.only_second_correct} times, p = {both.p_value:g} (McNemar's exact test)",
            soft_wrap=True,
        )
    if report.dataset_evidence_scope == "illustrative_only":
        console.print("The dataset is illustrative: it shows that a sweep runs.", style="yellow")
    for text in [*(report.limitations or ()), *(report.dataset_limitations or ())]:
        console.print(Text(printable(f"  - {text}"), style="dim"), soft_wrap=True)
    if report.written_uri:
        console.print(Text(printable(f"Written to {report.written_uri}")), soft_wrap=True)


def _configurations(report: BenchmarkReport, *, wide: bool) -> Table:
    """Make the table; a narrow one leaves out what the counts tell too."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("model", overflow="fold", min_width=8)
    table.add_column("rubric", overflow="fold", min_width=8)
    rates = ("accuracy", "recall", "specificity") if wide else ()
    for name in ("threshold", "balanced", *rates, "TP FP FN TN"):
        table.add_column(name, justify="right", no_wrap=True)
    for result in report.ranked_configs[:_AT_MOST]:
        table.add_row(*_cells(result, wide=wide), style="bold" if result.rank == 1 else "")
    if len(report.ranked_configs) > _AT_MOST:
        table.caption = f"and {len(report.ranked_configs) - _AT_MOST} more, in the report"
    return table


def _cells(result: ConfigResult, *, wide: bool) -> list[str]:
    metrics = result.metrics
    counts = (
        metrics.true_positives,
        metrics.false_positives,
        metrics.false_negatives,
        metrics.true_negatives,
    )
    rates = (metrics.accuracy, metrics.recall, metrics.specificity) if wide else ()
    return [
        str(result.rank),
        printable(result.config.model),
        printable(result.config.rubric_name),
        f"{result.config.success_threshold:g}",
        _rate(metrics.balanced_accuracy),
        *(_rate(rate) for rate in rates),
        " ".join(f"{count:2d}" for count in counts),
    ]


def _judge(judge: JudgeStatistics) -> Text:
    text = Text(printable(f"{judge.model}, {judge.rubric_name}: "), style="bold")
    area = f"AUC {_rate(judge.roc_auc)}"
    if judge.roc_auc_interval is not None:
        area += " ({:g} to {:g})".format(*judge.roc_auc_interval)
    parts = [area, f"Brier {_rate(judge.brier_score)}", f"{judge.n} items"]
    found = judge.threshold_proposal
    if found is not None and found.balanced_accuracy <= _CHANCE:
        parts.append("no threshold tells passes from fails")
    elif found is not None:
        parts.append(
            f"proposed threshold {found.threshold:g}: balanced accuracy "
            f"{found.balanced_accuracy:g} on these items, "
            f"{_rate(found.left_out_balanced_accuracy)} with each left out"
        )
    return text.append("; ".join(parts), style="not bold")


def _rate(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.4g}"
