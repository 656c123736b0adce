"""Texts a second of the encoder against sentence-transformers: same weights, CPU.

Each contender encodes the same texts in one call, in a process of its own, with as many threads as
the machine has CPUs, in turn with the other. `--texts camera` takes 800 distinct descriptions,
`repeated` 400 of them twice, `stsb` all 2,758 sentences of the STS benchmark's test set (`--every`
thins them), `one` a text of 12 words 100 times, one call each: there the median and the 99th
percentile of a call are shown. Ours runs without its cache, so that no round profits from the one
before. The products are torch's matrix products of the same arithmetic and nothing else.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.camera_texts import camera_texts
from benchmarks.timing import OURS, machine, versions, write_json
from benchmarks.workers import interleave_workers, serve

CPUS = len(os.sched_getaffinity(0))
PEER = "sentence-transformers"
PRODUCTS = {"products fp32": "float32", "products bf16": "bfloat16"}
CONTENDERS = [
    OURS,
    f"{OURS} bf16",
    f"{OURS} int8",
    f"{OURS} openvino",
    PEER,
    f"{PEER} bf16",
    *PRODUCTS,
]
TEXTS = ("camera", "repeated", "stsb", "one")
ONE = "A man in a grey coat falls near the main entrance door."
FLOP_PER_TOKEN = 170.1e6
"""Matrix products with the 85.05 million weights outside the embedding tables."""


def texts_of(kind: str, count: int, every: int = 1) -> list[str]:
    """Return the texts of one kind; `count` is for those made of camera descriptions."""
    if kind == "one":
        return [ONE] * 100
    if kind == "camera":
        return camera_texts(count)
    if kind == "repeated":
        half = camera_texts(count // 2)
        return [*half, *half[::-1]]
    folder = os.environ.get("FRAMEJUDGE_TEST_DATA") or Path(__file__).parents[1] / "tests/data"
    with (Path(folder) / "stsb-en-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    return ([row[0] for row in rows] + [row[1] for row in rows])[::every]


def prepare_ours(variant: str):
    from framejudge import Encoder

    precision = variant if variant in {"bf16", "int8"} else "fp32"
    engine = "openvino" if variant == "openvino" else "auto"
    encoder = Encoder(cache=None, threads=CPUS, precision=precision, engine=engine)
    encoder.warm_up()
    return encoder.encode


def prepare_products(kind: str):
    """Return a function that multiplies as much as the texts need, in the layers' own shapes."""
    import torch

    from framejudge import Encoder

    torch.set_num_threads(CPUS)
    encoder = Encoder(cache=None)
    dtype = getattr(torch, kind)
    left, right = torch.ones(384, 768, dtype=dtype), torch.ones(768, 3072, dtype=dtype)

    def call(texts: list[str]) -> np.ndarray:
        tokens = call.tokens or encoder.encode_result(texts).n_tokens * len(texts) / len({*texts})
        call.tokens = tokens
        for _ in range(round(tokens * FLOP_PER_TOKEN / (2 * 384 * 768 * 3072))):
            left @ right
        return np.ones((len(texts), 1))

    call.tokens = 0
    return call


def prepare_peer(variant: str):
    import torch
    from sentence_transformers import SentenceTransformer

    from framejudge.encoder.weights import find_model

    torch.set_num_threads(CPUS)
    model = SentenceTransformer(str(find_model("all-mpnet-base-v2").folder), device="cpu")
    if variant == "bf16":
        model = model.to(torch.bfloat16)

    def encode(texts: list[str]) -> np.ndarray:
        vectors = model.encode(
            texts, batch_size=32, show_progress_bar=False, convert_to_tensor=True
        )
        return vectors.float().numpy()

    return encode


def work(name: str, texts: list[str], scratch: Path) -> None:
    """In a contender's process: encode when asked, and leave the embeddings for comparison."""
    library, _, variant = name.partition(" ")
    if name in PRODUCTS:
        encode = prepare_products(PRODUCTS[name])
    else:
        encode = prepare_ours(variant) if library == OURS else prepare_peer(variant)

    def call() -> list[float]:
        if texts[0] != ONE:
            # Not timed apart: writing 800 rows takes about a millisecond of many seconds.
            np.save(scratch / f"{name}.npy", encode(texts))
            return []
        seconds = []
        for text in texts:
            start = time.perf_counter()
            embedding = encode([text])
            seconds.append(time.perf_counter() - start)
        np.save(scratch / f"{name}.npy", embedding)
        return [float(np.percentile(seconds, rank)) for rank in (50, 99)]

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
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--every", type=int, default=1, help="take every n-th text of stsb")
    parser.add_argument("--count", type=int, default=800, help="camera descriptions")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    if options.worker:
        work(options.worker, texts_of(options.texts, options.count, options.every), options.scratch)
        return
    count = len(texts_of(options.texts, options.count, options.every))
    names = [n for n in options.contenders if available(n)]
    before = machine()
    with tempfile.TemporaryDirectory() as scratch:
        flags = ["--texts", options.texts, "--count", str(options.count), "--scratch", scratch]
        flags += ["--every", str(options.every)]
        results = interleave_workers(__spec__.name, names, flags, rounds=options.rounds)
        saved = {name: np.load(Path(scratch) / f"{name}.npy") for name in names}
    report(results, saved, count, options, before)


def available(name: str) -> bool:
    """Tell whether a contender's library is installed."""
    needs = "openvino" if name.startswith(OURS) else "torch"
    return name == OURS or importlib.util.find_spec(needs) is not None


def report(results, saved, count: int, options, before) -> None:
    """Print the table, and write the record where one is asked for."""
    base = PEER if PEER in results else OURS
    rows = [
        {
            "name": name,
            "median_s": result.median,
            "texts_per_s": count / result.median,
            "times_the_peer": results[base].median / result.median,
            "p50_p99_ms": [1000 * seconds for seconds in result.answer],
            "peak_rss_mb": result.peak_rss_mb,
            "max_cosine_deviation": (
                None if name in PRODUCTS else deviation(saved[name], saved[base])
            ),
            "samples": len(result.seconds),
        }
        for name, result in results.items()
    ]
    print(f"{count} texts ({options.texts}), {CPUS} threads")
    print(f"{'':28}{'texts/s':>9}{'x peer':>8}{'peak MB':>9}{'max 1-cos':>11}  p50, p99 ms")
    for row in rows:
        away = row["max_cosine_deviation"]
        print(
            f"{row['name']:28}{row['texts_per_s']:9.1f}{row['times_the_peer']:8.2f}"
            f"{row['peak_rss_mb']:9.0f}{'' if away is None else f'{away:.1e}':>11}  "
            f"{', '.join(f'{ms:.1f}' for ms in row['p50_p99_ms'])}"
        )
    if options.output:
        record = {"machine": before, "versions": versions(["torch", PEER]), "rows": rows}
        write_json(options.output, {**record, "texts": options.texts})


if __name__ == "__main__":
    main()
