"""What each engine and precision does to a pair's cosine, against float32 by onnxruntime.

Spearman correlation does not see this damage, so it is gated on: the largest change of a pair's
cosine (0.03), the 99th percentile (0.01), pairs that change sides of 0.75 (0.5 %), and how far a
pair's cosine moves when the texts are embedded alone instead of in a mixed batch (0.001).
`auto` asks for a largest change of 0.01. Sets: STS benchmark test, SICK, camera descriptions.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
from pathlib import Path

import numpy as np

from benchmarks.camera_texts import camera_texts
from benchmarks.timing import machine, versions, write_json

THRESHOLD = 0.75
GATE = {"max": 0.03, "p99": 0.01, "flips": 0.005, "mates": 0.001}
DATA = Path(os.environ.get("FRAMEJUDGE_TEST_DATA") or Path(__file__).parents[1] / "tests/data")


def stsb() -> list[tuple[str, str]]:
    with (DATA / "stsb-en-test.csv").open(encoding="utf-8", newline="") as stream:
        return [(row[0], row[1]) for row in csv.reader(stream)]


def sick() -> list[tuple[str, str]]:
    path = DATA / "sick.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [(row["a"], row["b"]) for row in map(json.loads, lines)]


def camera() -> list[tuple[str, str]]:
    texts = camera_texts(2000)
    return list(zip(texts[:1000], texts[1000:], strict=True))


def cosines(encode, pairs: list[tuple[str, str]]) -> np.ndarray:
    embeddings = encode([text for pair in pairs for text in pair]).astype(np.float64)
    return (embeddings[::2] * embeddings[1::2]).sum(axis=1)


def compare(want: np.ndarray, got: np.ndarray) -> dict[str, float]:
    moved = np.abs(got - want)
    return {
        "max": float(moved.max()),
        "p99": float(np.quantile(moved, 0.99)),
        "mean": float(moved.mean()),
        "bias": float((got - want).mean()),
        "flips": float(((got < THRESHOLD) != (want < THRESHOLD)).mean()),
    }


def mates(options: dict[str, str], pairs: list[tuple[str, str]]) -> float:
    """Return how far cosines move between texts alone and in batches of all lengths."""
    from framejudge import Encoder

    alone = Encoder(cache=None, max_batch=1, **options)
    mixed = Encoder(cache=None, token_budget=4096, **options)
    return float(np.abs(cosines(alone.encode, pairs) - cosines(mixed.encode, pairs)).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take every n-th pair of each set")
    parser.add_argument("--precision", help="only this one")
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    from framejudge import Encoder
    from framejudge.encoder.cuda import problem
    from framejudge.encoder.ratings import RATINGS

    sets = {"stsb": stsb(), "sick": sick(), "camera": camera()}
    sets = {name: pairs[:: options.every] for name, pairs in sets.items() if pairs}
    reference = Encoder(cache=None)
    want = {name: cosines(reference.encode, pairs) for name, pairs in sets.items()}
    rows = []
    print(f"{'':26}{'set':8}{'pairs':>6}{'max':>9}{'p99':>9}{'mean':>9}{'flips':>8}{'mates':>9}")
    for rating in RATINGS:
        if options.precision not in {None, rating.precision}:
            continue
        if rating.device == "cuda" and problem() is not None:
            print(f"{rating.precision} {rating.engine} {rating.device}: not measured, {problem()}")
            continue
        asked = {f: getattr(rating, f) for f in ("engine", "precision", "device")}
        if asked == {"engine": "onnxruntime", "precision": "fp32", "device": "cpu"}:
            continue  # the reference itself
        encoder = Encoder(cache=None, **asked)
        spread = max(1, len(sets["stsb"]) // 96)
        moved_by_mates = mates(asked, sets["stsb"][::spread])
        for name, pairs in sets.items():
            row = compare(want[name], cosines(encoder.encode, pairs)) | {"mates": moved_by_mates}
            passed = all(row[key] <= limit for key, limit in GATE.items())
            label = f"{rating.precision} {rating.engine} {rating.device}"
            print(
                f"{label:26}{name:8}{len(pairs):6}{row['max']:9.1e}{row['p99']:9.1e}"
                f"{row['mean']:9.1e}{row['flips']:8.2%}{row['mates']:9.1e}"
                f"{'' if passed else '  FAILS THE GATE'}",
                flush=True,
            )
            rows.append({**asked, "set": name, "pairs": len(pairs), **row, "passed": passed})
    if options.output:
        write_json(options.output, {"machine": machine(), "versions": versions([]), "rows": rows})


if __name__ == "__main__":
    main()
