"""Timing of one kernel for the microbenchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from framejudge import _core
from framejudge.bench import BenchRow

__all__ = ["timed_row"]

_REPEATS = 5
_MIN_SAMPLE_S = 0.05


def timed_row(name: str, call: Callable[[], object], work: int, *, unit: str = "GB/s") -> BenchRow:
    """Time a call.

    Args:
        name: what is timed, with its shape.
        call: what to time.
        work: bytes or floating-point operations of one call.
        unit: billions of those a second.
    """
    seconds = _median_seconds(call)
    return BenchRow(name, seconds * 1e9, work / seconds / 1e9, unit, _core.build_info()["isa"])


def _median_seconds(call: Callable[[], object]) -> float:
    """Median over samples of a call's time, each sample long enough for the clock."""
    call()  # starts the pool, faults the pages in
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    number = max(1, round(_MIN_SAMPLE_S / max(once, 1e-9)))
    samples = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        for _ in range(number):
            call()
        samples.append((time.perf_counter() - start) / number)
    return statistics.median(samples)
