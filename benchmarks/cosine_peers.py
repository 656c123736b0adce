"""Cosine kernels against numkong, simsimd, numpy and faiss: time, and error against float64.

Every contender gets the machine's CPUs and the same float32 arrays. What a peer can't do (cosine of
rows that aren't normalised) is done for it before the clock starts, in its favour.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import faiss
import numkong
import numpy as np
import simsimd

from benchmarks.timing import OURS, interleave, machine, repeat, versions, write_json
from framejudge import build_info, cosine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

WIDTH = 768
TABLES = ["pair", "paired", "matrix", "top_k"]
CPUS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Contender:
    """A way to the result, and how to read what it returns as cosines."""

    call: Callable[[], Any]
    cosines: Callable[[Any], NDArray[np.float64]] = np.asarray


def embeddings(count: int, seed: int) -> Floats:
    return np.random.default_rng(seed).standard_normal((count, WIDTH), dtype=np.float32)


def normalised(rows: Floats) -> Floats:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_chunks(kernel: Callable[..., Any], a: Floats, b: Floats, count: int) -> Callable[[], Any]:
    """Run a library's own batch call on slices, from a thread each."""
    pool = ThreadPoolExecutor(CPUS)
    edges = np.linspace(0, len(a), count + 1).astype(int)
    slices = [slice(start, stop) for start, stop in pairwise(edges)]
    return lambda: list(pool.map(lambda part: kernel(a[part], b[part]), slices))


def joined_distance(parts: Any) -> NDArray[np.float64]:
    return 1.0 - np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])


def one_distance(result: Any) -> NDArray[np.float64]:
    return 1.0 - np.asarray(result, dtype=np.float64).ravel()


def report(
    title: str, contenders: dict[str, Contender], truth: Any, rounds: int, calls: int
) -> Any:
    """Time, check and print one table; returns its record."""
    errors = {
        name: float(np.abs(contender.cosines(contender.call()) - truth).max())
        for name, contender in contenders.items()
    }
    timings = interleave(
        {
            name: contender.call if calls == 1 else repeat(contender.call, calls)
            for name, contender in contenders.items()
        },
        rounds=rounds,
    )
    ours = timings[OURS].median
    print(f"\n{title}\n{'':36} {'median':>11} {'best':>11} {'x ours':>7} {'max error':>10}")
    for name, timing in sorted(timings.items(), key=lambda item: item[1].median):
        print(
            f"{name:36} {shown(timing.median / calls):>11} {shown(timing.best / calls):>11} "
            f"{timing.median / ours:7.2f} {errors[name]:10.1e}"
        )
    return {
        "title": title,
        "rounds": rounds,
        "rows": {
            name: {
                "median_s": timing.median / calls,
                "best_s": timing.best / calls,
                "times_ours": timing.median / ours,
                "max_error": errors[name],
            }
            for name, timing in timings.items()
        },
    }


def shown(seconds: float) -> str:
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-5 else f"{seconds * 1e3:.2f} ms"


def one_pair() -> Any:
    a, b = embeddings(1, 1)[0], embeddings(1, 2)[0]
    x, y = a.astype(np.float64), b.astype(np.float64)
    truth = x @ y / np.sqrt((x @ x) * (y @ y))
    contenders = {
        OURS: Contender(lambda: cosine.paired(a, b)),
        "numkong.angular": Contender(lambda: numkong.angular(a, b), one_distance),
        "simsimd.cosine": Contender(lambda: simsimd.cosine(a, b), one_distance),
        "numpy dot / (norm * norm)": Contender(
            lambda: np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))
        ),
    }
    return report("one pair, 768-d (with 30 ns of loop)", contenders, truth, 15, 20_000)


def paired(rounds: int) -> Any:
    a, b = embeddings(100_000, 1), embeddings(100_000, 2)
    truth = np.array(
        [x @ y / np.sqrt((x @ x) * (y @ y)) for x, y in zip(a.astype(float), b, strict=True)]
    )
    contenders = {
        OURS: Contender(lambda: cosine.paired(a, b)),
        "framejudge, float64 sums": Contender(lambda: cosine.paired(a, b, accumulate="float64")),
        "numkong.angular": Contender(lambda: numkong.angular(a, b), one_distance),
        "simsimd.cosine": Contender(lambda: simsimd.cosine(a, b), one_distance),
        "numpy einsum": Contender(
            lambda: (
                np.einsum("ij,ij->i", a, b)
                / np.sqrt(np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b))
            )
        ),
    }
    for count in (CPUS, 16 * CPUS):
        name = f"in {count} chunks, {CPUS} threads"
        contenders[f"numkong.angular {name}"] = Contender(
            in_chunks(numkong.angular, a, b, count), joined_distance
        )
        contenders[f"simsimd.cosine {name}"] = Contender(
            in_chunks(simsimd.cosine, a, b, count), joined_distance
        )
    return report("paired, 100,000 x 768", contenders, truth, rounds, 1)


def matrix(rounds: int) -> Any:
    a, b = embeddings(4096, 1), embeddings(4096, 2)
    unit_a, unit_b = normalised(a), normalised(b)
    out = np.empty((4096, 4096), dtype=np.float32)
    truth = normalised(a.astype(np.float64)) @ normalised(b.astype(np.float64)).T
    contenders = {
        OURS: Contender(lambda: cosine.matrix(a, b)),
        "framejudge, float64 sums": Contender(lambda: cosine.matrix(a, b, accumulate="float64")),
        "framejudge, out=": Contender(lambda: cosine.matrix(a, b, out=out)),
        "numpy matmul, already normalised": Contender(lambda: unit_a @ unit_b.T),
        "numpy the same, out=": Contender(lambda: np.matmul(unit_a, unit_b.T, out=out)),
        "numpy normalise and matmul": Contender(lambda: normalised(a) @ normalised(b).T),
    }
    return report("matrix, 4096 x 4096 x 768", contenders, truth, rounds, 1)


def top_k(queries: int, corpus: int, rounds: int) -> Any:
    a, b = normalised(embeddings(queries, 1)), normalised(embeddings(corpus, 2))
    index = faiss.IndexFlatIP(WIDTH)
    index.add(b)
    faiss.omp_set_num_threads(CPUS)
    scores = np.hstack([a[:100].astype(float) @ part.T for part in np.array_split(b, 64)])
    sample = np.sort(scores, axis=1)[:, :-11:-1]
    contenders = {
        OURS: Contender(lambda: cosine.top_k(a, b, 10), lambda found: found[0][:100]),
        "faiss.IndexFlatIP": Contender(lambda: index.search(a, 10), lambda found: found[0][:100]),
    }
    title = f"top_k, {queries:,} of {corpus:,} x 768, k = 10"
    return report(title, contenders, sample, rounds, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="+", choices=TABLES, default=TABLES)
    parser.add_argument("--rounds", type=int, default=9, help="samples of each, at least 5")
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--corpus", type=int, default=100_000)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results/cosine.json"))
    options = parser.parse_args()
    tables = {
        "pair": one_pair,
        "paired": lambda: paired(options.rounds),
        "matrix": lambda: matrix(options.rounds),
        "top_k": lambda: top_k(options.queries, options.corpus, options.rounds),
    }
    distributions = ["framejudge", "numkong", "simsimd", "numpy", "faiss-cpu"]
    record = {
        "machine": machine(),
        "versions": versions(distributions),
        "build_info": build_info(),
        "tables": [tables[name]() for name in options.tables],
    }
    write_json(options.output, record)
    print(f"\nwrote {options.output}")
