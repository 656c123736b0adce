"""Microbenchmarks that run from an installed wheel, without peers, in well under a minute.

The scripts that compare with other libraries are in the repository's `benchmarks` folder.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from framejudge.errors import InputError

__all__ = ["SUITES", "BenchRow", "run"]

# Name -> the module whose run() returns the rows; imported when it is asked for.
SUITES: dict[str, str] = {
    "cosine": "framejudge.bench.cosine",
    "encoder": "framejudge.bench.encoder",
    "frames": "framejudge.bench.frames",
}


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One line of a microbenchmark."""

    name: str
    """What was timed, with its shape."""
    ns_per_call: float
    """Median time of a call, in nanoseconds."""
    rate: float
    """How much was done a second, in `unit`."""
    unit: str
    """GB/s of input read, GFLOP/s (a multiply-add is two), or calls/s and the like."""
    isa: str
    """The instruction tier that ran, empty where there is none."""


def run(name: str) -> list[BenchRow]:
    """Run one suite.

    Args:
        name: One of `SUITES`.

    Returns:
        Its rows, in a fixed order.

    Raises:
        InputError: If there is no such suite.

    >>> from framejudge import bench
    >>> bench.run("cosinus")
    Traceback (most recent call last):
    framejudge.errors.InputError: no benchmark is called 'cosinus'; there are: cosine...
    """
    if name not in SUITES:
        raise InputError(f"no benchmark is called {name!r}; there are: {', '.join(sorted(SUITES))}")
    rows: list[BenchRow] = importlib.import_module(SUITES[name]).run()
    return rows
