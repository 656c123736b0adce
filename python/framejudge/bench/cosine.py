"""How fast the cosine kernels are here."""

from __future__ import annotations

import numpy as np

from framejudge import cosine
from framejudge.bench import BenchRow
from framejudge.bench.timing import timed_row

__all__ = ["run"]

_WIDTH = 768  # of all-mpnet-base-v2


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
        timed_row(
            "paired, one 768-d pair", lambda: cosine.paired(vector, second), 2 * vector.nbytes
        ),
        timed_row("paired, 20000 x 768 float32", lambda: cosine.paired(corpus, other), pair_bytes),
        timed_row(
            "paired, 20000 x 768 float16", lambda: cosine.paired(half, other_half), pair_bytes // 2
        ),
        timed_row(
            "paired, 20000 x 768 float32 in float64",
            lambda: cosine.paired(corpus, other, accumulate="float64"),
            pair_bytes,
        ),
        timed_row(
            "matrix, 2048 x 2048 x 768",
            lambda: cosine.matrix(queries, queries),
            2 * len(queries) * len(queries) * _WIDTH,
            unit="GFLOP/s",
        ),
        timed_row(
            "top_k, 2048 of 20000 x 768, k=10",
            lambda: cosine.top_k(queries, corpus, 10),
            2 * len(queries) * len(corpus) * _WIDTH,
            unit="GFLOP/s",
        ),
        timed_row(
            "top_k, 1 of 20000 x 768, k=10",
            lambda: cosine.top_k(queries[:1], corpus, 10),
            corpus.nbytes,
        ),
    ]
