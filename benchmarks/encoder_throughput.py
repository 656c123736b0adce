"""Texts a second of the encoder against sentence-transformers: same weights, float32, CPU.

Each contender encodes the same texts in one call, in a process of its own, with as many threads as
the machine has CPUs, in turn with the other. `--texts camera` takes 800 distinct descriptions,
`repeated` 400 of them twice, `stsb` all 2,758 sentences of the STS benchmark's test set. Ours runs
without its cache, so that no round profits from the one before.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.camera_texts import camera_texts
from benchmarks.timing import OURS, machine, versions, write_json
from benchmarks.workers import interleave_workers, serve

CPUS = len(os.sched_getaffinity(0))
PEER = "sentence-transformers"
CONTENDERS = [OURS, PEER]
TEXTS = ("camera", "repeated", "stsb")


def texts_of(kind: str, count: int) -> list[str]:
    """Return the texts of one kind; `count` is for those made of camera descriptions."""
    if kind == "camera":
        return camera_texts(count)
    if kind == "repeated":
        half = camera_texts(count // 2)
        return [*half, *half[::-1]]
    folder = os.environ.get("FRAMEJUDGE_TEST_DATA") or Path(__file__).parents[1] / "tests/data"
    with (Path(folder) / "stsb-en-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    return [row[0] for row in rows] + [row[1] for row in rows]


def prepare_ours():
    from framejudge import Encoder

    encoder = Encoder(cache=None, threads=CPUS)
    encoder.warm_up()
    return encoder.encode


def prepare_peer():
    import torch
    from sentence_transformers import SentenceTransformer

    from framejudge.encoder.weights import find_model

    torch.set_num_threads(CPUS)
    model = SentenceTransformer(str(find_model("all-mpnet-base-v2").folder), device="cpu")
    return lambda texts: model.encode(texts, batch_size=32, show_progress_bar=False)


def work(name: str, texts: list[str], scratch: Path) -> None:
    """In a contender's process: encode when asked, and leave the embeddings for comparison."""
    encode = prepare_ours() if name == OURS else prepare_peer()
    latest = {}

    def call() -> None:
        latest["embeddings"] = encode(texts)
        # Not timed apart: writing 800 rows takes about a millisecond of many seconds.
        np.save(scratch / f"{name}.npy", latest["embeddings"])

    serve(lambda: call)


def deviation(a: np.ndarray, b: np.ndarray) -> float:
    """Return the largest 1 - cosine of corresponding rows, in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    cosines = (a * b).sum(axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    return float((1 - cosines).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", choices=CONTENDERS, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--texts", choices=TEXTS, default="camera")
    parser.add_argument("--count", type=int, default=800, help="camera descriptions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    if options.worker:
        work(options.worker, texts_of(options.texts, options.count), options.scratch)
        return
    before, count = machine(), len(texts_of(options.texts, options.count))
    with tempfile.TemporaryDirectory() as scratch:
        flags = ["--texts", options.texts, "--count", str(options.count), "--scratch", scratch]
        results = interleave_workers(__spec__.name, CONTENDERS, flags, rounds=options.rounds)
        saved = {name: np.load(Path(scratch) / f"{name}.npy") for name in CONTENDERS}
    rows = [
        {
            "name": name,
            "median_s": result.median,
            "texts_per_s": count / result.median,
            "ours_is_faster_by": result.median / results[OURS].median,
            "peak_rss_mb": result.peak_rss_mb,
            "max_cosine_deviation": deviation(saved[name], saved[PEER]),
            "samples": len(result.seconds),
        }
        for name, result in results.items()
    ]
    print(f"{count} texts ({options.texts}), {CPUS} threads")
    print(f"{'':24}{'texts/s':>9}{'ours x':>8}{'peak MB':>9}{'max 1-cos':>11}")
    for row in rows:
        print(
            f"{row['name']:24}{row['texts_per_s']:9.1f}{row['ours_is_faster_by']:8.2f}"
            f"{row['peak_rss_mb']:9.0f}{row['max_cosine_deviation']:11.1e}"
        )
    if options.output:
        record = {"machine": before, "versions": versions(["torch", PEER]), "rows": rows}
        write_json(options.output, {**record, "texts": options.texts})


if __name__ == "__main__":
    main()
