"""`framejudge gate` and `framejudge verify`: what stored evidence is worth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from framejudge.schemas import ExitCode

__all__ = ["gate", "verify"]


def gate(
    report: Annotated[Path, typer.Argument(help="vlm_eval.json, or the folder that holds it.")],
    threshold: Annotated[
        float,
        typer.Option(help="The least score that promotes.", envvar="FRAMEJUDGE_GATE_THRESHOLD"),
    ] = 0.5,
    decision_path: Annotated[
        Path | None, typer.Option(help="Write the decision to this file.")
    ] = None,
    exit_zero: Annotated[
        bool, typer.Option("--exit-zero", help="Exit with 0 instead of 1 for loop_back.")
    ] = False,
) -> int:
    """Promote a checkpoint, or loop back: by the score, and only on evidence that holds.

    Exit status: 0 promote_checkpoint, 1 loop_back, 2 usage.
    """
    from framejudge.rollout import promotion_gate  # noqa: PLC0415 - keeps --help quick

    decision = promotion_gate(report, threshold=threshold, decision_path=decision_path)
    for key, value in decision.model_dump(mode="json").items():
        if value is not None:
            # A report may hold what a terminal can't show.
            print(f"  {key}: {value}".encode("utf-8", "backslashreplace").decode())
    promoted = decision.decision == "promote_checkpoint"
    return int(ExitCode.PASS if promoted or exit_zero else ExitCode.GATE_FAILED)


def verify(
    file: Annotated[Path, typer.Argument(help="vlm_eval.json or task_success_report.json.")],
) -> int:
    """Recompute every hash in a result's evidence, and say which does not hold.

    Exit status: 0 all hold, 1 some do not, 2 usage.
    """
    from framejudge.rollout import verify_evidence  # noqa: PLC0415

    reports = verify_evidence(file)
    for report in reports:
        print(f"{report.path}: {'holds' if report.ok else 'does not hold'}")
        for name, problem in report.checks.items():
            print(
                f"  {'ok ' if problem is None else 'BAD'} {name}{f': {problem}' if problem else ''}"
            )
    fine = bool(reports) and all(report.ok for report in reports)
    return int(ExitCode.PASS if fine else ExitCode.GATE_FAILED)
