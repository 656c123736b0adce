"""Contenders in processes of their own, run in turn: times and peak memory."""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@dataclass
class Result:
    """What a contender's process reported."""

    seconds: list[float] = field(default_factory=list)
    peak_rss_mb: float = 0.0
    answer: Any = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def serve(prepare: Callable[[], Callable[[], Any]]) -> None:
    """In a contender's process: run what `prepare` returned once for each line on stdin."""
    call = prepare()
    print("ready", file=sys.stderr, flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        answer = call()
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps([seconds, peak, answer]), flush=True)


def interleave_workers(
    module: str, contenders: Sequence[str], options: Sequence[str] = (), *, rounds: int = 5
) -> dict[str, Result]:
    """Start `python -m module --worker NAME` for each contender, and run them in turn."""
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-m", module, "--worker", name, *options],
            env={**os.environ, "TQDM_DISABLE": "1"},  # a peer's progress bar costs it time
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in contenders
    }
    results = {name: Result() for name in contenders}
    for turn in range(rounds + 1):
        for name, process in processes.items():
            seconds, peak, answer = _ask(name, process)
            result = results[name]
            if turn:  # the first is a warm-up
                result.seconds.append(seconds)
            result.peak_rss_mb, result.answer = peak, answer
            print(f"round {turn} of {rounds}: {name} {seconds:.2f} s", file=sys.stderr, flush=True)
    for process in processes.values():
        process.communicate()
    return results


def _ask(name: str, process: subprocess.Popen[str]) -> tuple[float, float, Any]:
    """Have one worker run once."""
    if process.stdin is None or process.stdout is None:
        raise RuntimeError(f"{name} has no pipes")
    process.stdin.write("\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{name} ended with status {process.wait()}")
    seconds, peak, answer = json.loads(line)
    return seconds, peak, answer
