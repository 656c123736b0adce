"""`framejudge cache`: stored answers of judges."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Stored answers of judges.")

_DAY_S = 86_400


@app.command("stats")
def stats() -> None:
    """Print where they are, how many, and how large."""
    from framejudge.judge.cache import JudgeCache  # noqa: PLC0415 - keeps --help quick

    store = JudgeCache().store
    if not store.path.exists():
        print(f"{store.path}: no answers")
        return
    print(f"{store.path}: {len(store)} answers, {store.n_bytes} bytes, at most {store.max_bytes}")


@app.command("prune")
def prune(
    unused_days: Annotated[
        float, typer.Option(min=0, help="Drop what was not used for so long; 0 drops all.")
    ] = 30,
) -> None:
    """Drop answers that were not used for a while."""
    from framejudge.judge.cache import JudgeCache  # noqa: PLC0415

    store = JudgeCache().store
    dropped = store.prune(unused_days * _DAY_S) if store.path.exists() else 0
    print(f"{dropped} answers dropped")
