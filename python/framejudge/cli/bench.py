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
    from framejudge.errors import ConfigurationError  # noqa: PLC0415

    for name in suite or []:
        if name not in SUITES:
            raise ConfigurationError(f"no benchmark {name!r}; accepted: {', '.join(SUITES)}")
    for name in suite or SUITES:
        table = Table("benchmark", box=box.SIMPLE_HEAD, title=name, title_justify="left")
        for column in ("time a call", "rate", "ISA"):
            table.add_column(column, justify="right")
        with Console(stderr=True).status(f"measuring {name}"):
            rows = run(name)
        for row in rows:
            table.add_row(row.name, row.time, row.rate, row.isa)
        Console().print(table)
