"""Progress on stderr: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

__all__ = ["progress"]

_LINE_EVERY_S = 5.0


@contextmanager
def progress(what: str, *, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes how many are done.

    Args:
        what: for instance "scoring frames".
        total: how many there are; None when that is not known.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = [
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
        ]
        start = time.monotonic()
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task(what, total=total, rate="")

            def show(done: int) -> None:
                rate = done / max(time.monotonic() - start, 1e-3)
                bar.update(task, completed=done, rate=f"{rate:.1f}/s")

            yield show
        return
    last = time.monotonic()

    def tell(done: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _LINE_EVERY_S:
            last = time.monotonic()
            console.print(f"{what}: {done}" + (f" of {total}" if total else ""), highlight=False)

    yield tell
