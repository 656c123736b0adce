"""From process start to the first embedding, against sentence-transformers: time and peak memory.

Each contender starts in a new process that imports it, opens the model from the local disk, embeds
one sentence and says so; the clock runs from the start of the process to that word. The processes
take turns, and the files are in the page cache of both.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.timing import OURS, machine, versions, write_json

CPUS = len(os.sched_getaffinity(0))
PEER = "sentence-transformers"
SENTENCE = "A man in a grey coat falls near the entrance."

OURS_CODE = """
import sys
from framejudge import Encoder
embedding = Encoder(precision="{precision}").encode([sys.argv[1]])[0]
"""
PEER_CODE = """
import sys, torch
from sentence_transformers import SentenceTransformer
torch.set_num_threads(int(sys.argv[3]))
embedding = SentenceTransformer(sys.argv[2], device="cpu").encode([sys.argv[1]])[0]
"""
SAY = """
print(float(embedding[0]), flush=True)
"""
CONTENDERS = {
    OURS: OURS_CODE.format(precision="fp32") + SAY,
    f"{OURS} bf16": OURS_CODE.format(precision="bf16") + SAY,
    f"{OURS} int8": OURS_CODE.format(precision="int8") + SAY,
    PEER: PEER_CODE + SAY,
}


def start(code: str, folder: str) -> tuple[float, float, float]:
    """Return the seconds to the first embedding, the peak memory in MB, and one number of it."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", code, SENTENCE, folder, str(CPUS)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    line = process.stdout.readline() if process.stdout else ""
    seconds = time.perf_counter() - began
    _, status, usage = os.wait4(process.pid, 0)
    if status or not line:
        raise RuntimeError(f"a contender ended with status {status}")
    return seconds, usage.ru_maxrss / 1024, float(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    from framejudge.encoder.weights import export_model, find_model

    folder = str(export_model(find_model("all-mpnet-base-v2")).files.folder)
    before, runs = machine(), {name: [] for name in CONTENDERS}
    for turn in range(options.rounds + 1):
        for name, code in CONTENDERS.items():
            run = start(code, folder)
            if turn:  # the first fills the page cache
                runs[name].append(run)
            print(f"round {turn} of {options.rounds}: {name} {run[0]:.2f} s", file=sys.stderr)
    medians = {name: statistics.median(run[0] for run in done) for name, done in runs.items()}
    rows = [
        {
            "name": name,
            "median_s": medians[name],
            "ours_is_faster_by": medians[name] / medians[OURS],
            "peak_rss_mb": max(run[1] for run in done),
            "difference": abs(done[0][2] - runs[PEER][0][2]),
            "samples": len(done),
        }
        for name, done in runs.items()
    ]
    print(f"{'':24}{'seconds':>9}{'ours x':>8}{'peak MB':>9}{'difference':>12}")
    for row in rows:
        print(
            f"{row['name']:24}{row['median_s']:9.2f}{row['ours_is_faster_by']:8.2f}"
            f"{row['peak_rss_mb']:9.0f}{row['difference']:12.1e}"
        )
    if options.output:
        record = {"machine": before, "versions": versions(["torch", PEER]), "rows": rows}
        write_json(options.output, record)


if __name__ == "__main__":
    main()
