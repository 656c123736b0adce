"""`framejudge bench`: microbenchmarks of an installed framejudge, without peers."""

from __future__ import annotations

from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

__all__ = ["bench"]


def bench(
    suite: Annotated[
        list[str] | None, typer.Argument(help="Which to run; all of them when none is named.")
    ] = None,
) -> None:
    """Time the kernels and the encoder on this machine: under a minute, no peers."""
    from framejudge.bench import SUITES, run  # noqa: PLC0415 - keeps --help quick

    for name in suite or SUITES:
        with Console(stderr=True).status(f"measuring {name}"):
            rows = run(name)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        table.add_column(name)
        for column in ("ns a call", "rate", "ISA"):
            table.add_column(column, justify="right")
        for row in rows:
            rate = f"{row.rate:,.1f} {row.unit}"
            table.add_row(row.name, f"{row.ns_per_call:,.0f}", rate, row.isa)
        Console().print(table)
