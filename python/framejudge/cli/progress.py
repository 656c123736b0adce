"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["prepare_model", "progress", "stages"]

_FIRST_LINE_AFTER_S = 2.0
_LINE_EVERY_S = 5.0
_MEGABYTE = 1_000_000


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Yield a function that takes (what is being done, how much is done, how much there is).

    Each new "what" gets a bar of its own. Large numbers are bytes, and shown as megabytes.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}
        started: dict[str, float] = {}

        def show(what: str, done: int, total: int | None) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total, state="")
                started[what] = time.monotonic()
            rate = done / max(time.monotonic() - started[what], 1e-3)
            state = f"{_amount(done, total)}  {_quantity(rate, total)}/s"
            bars.update(tasks[what], completed=done, total=total, state=state)

        yield show


@contextmanager
def progress(what: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many are done, of one thing; see `stages`."""
    with stages() as show:
        yield lambda done: show(what, done, total)


def prepare_model(model: str | os.PathLike[str]) -> None:
    """Find, fetch and export an encoder's model before it is used, with progress.

    Raises:
        ModelError: the model can't be found, fetched, trusted or exported.
    """
    from framejudge.encoder.weights import export_model, find_model  # noqa: PLC0415 - heavy

    with stages() as show:
        export_model(find_model(model, progress=show), progress=show)


def _lines(console: Console) -> Callable[[str, int, int | None], None]:
    due = time.monotonic() + _FIRST_LINE_AFTER_S

    def tell(what: str, done: int, total: int | None) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _LINE_EVERY_S
            console.print(f"{what}: {_amount(done, total)}", highlight=False, markup=False)

    return tell


def _amount(done: int, total: int | None) -> str:
    return (
        _quantity(done, total)
        if total is None
        else f"{_quantity(done, total)} of " + _quantity(total, total)
    )


def _quantity(number: float, total: int | None) -> str:
    if total is not None and total > _MEGABYTE:
        return f"{number / _MEGABYTE:.0f} MB"
    return f"{number:.0f}"
