"""How fast the cosine kernels are here."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

import numpy as np

from framejudge import _core, cosine
from framejudge.bench import BenchRow

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run"]

_WIDTH = 768  # of all-mpnet-base-v2
_REPEATS = 5
_MIN_SAMPLE_S = 0.05


def run() -> list[BenchRow]:
    """Time a single pair, many pairs, a matrix and a search, on random embeddings."""
    rng = np.random.default_rng(0)

    def embeddings(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return rng.standard_normal((count, _WIDTH), dtype=np.float32)

    queries, corpus, other = embeddings(2048), embeddings(20_000), embeddings(20_000)
    vector, second = queries[0], queries[1]
    half, other_half = corpus.astype(np.float16), other.astype(np.float16)
    pair_bytes = 2 * corpus.nbytes
    return [
        _row("paired, one 768-d pair", lambda: cosine.paired(vector, second), 2 * vector.nbytes),
        _row("paired, 20000 x 768 float32", lambda: cosine.paired(corpus, other), pair_bytes),
        _row(
            "paired, 20000 x 768 float16", lambda: cosine.paired(half, other_half), pair_bytes // 2
        ),
        _row(
            "paired, 20000 x 768 float32 in float64",
            lambda: cosine.paired(corpus, other, accumulate="float64"),
            pair_bytes,
        ),
        _row(
            "matrix, 2048 x 2048 x 768",
            lambda: cosine.matrix(queries, queries),
            2 * len(queries) * len(queries) * _WIDTH,
            unit="GFLOP/s",
        ),
        _row(
            "top_k, 2048 of 20000 x 768, k=10",
            lambda: cosine.top_k(queries, corpus, 10),
            2 * len(queries) * len(corpus) * _WIDTH,
            unit="GFLOP/s",
        ),
        _row(
            "top_k, 1 of 20000 x 768, k=10",
            lambda: cosine.top_k(queries[:1], corpus, 10),
            corpus.nbytes,
        ),
    ]


def _row(name: str, call: Callable[[], object], work: int, *, unit: str = "GB/s") -> BenchRow:
    """Time a call; `work` is its bytes or floating-point operations."""
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
