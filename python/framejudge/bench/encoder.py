"""How fast the encoder is here, with the real weights; they are fetched when they are missing."""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from framejudge import Encoder
from framejudge.bench import BenchRow

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["run"]

_SHORT = "A man in a grey coat falls near the entrance."
_TWELVE = "A man in a grey coat falls near the main entrance door."
_LONG = (
    "Two people with a pram wait at the lift while a cleaner mops the floor behind them; the "
    "yellow warning sign has been put up, the emergency door is closed, and nobody seems hurt."
)
_REPEATS = 5
_LATENCY_CALLS = 200


def run() -> list[BenchRow]:
    """Time opening the model, one text, a batch of them, and texts that are in the cache."""
    encoder = Encoder(cache=None)
    encoder.warm_up()  # fetches and exports where that is still to be done

    def reopen() -> None:
        Encoder(cache=None).warm_up()

    one, batch = [_SHORT], _distinct(64)
    cached = Encoder()
    cached.encode(batch)
    taken = Encoder(cache=None, precision="auto", device="auto")
    return [
        _row("open the model and run it once", reopen, 1, unit="opens/s"),
        _row("encode, one text of 10 words", lambda: encoder.encode(one), 1),
        _row("encode, 64 texts of 10 to 34 words", lambda: encoder.encode(batch), len(batch)),
        _row("encode, the same 64 texts from the cache", lambda: cached.encode(batch), len(batch)),
        *_latency(encoder),
        *(_latency(taken) if taken.info()["precision"] != "fp32" else []),
    ]


def _latency(encoder: Encoder) -> list[BenchRow]:
    """Time one text of 12 words call by call, as a camera loop does: p50 and p99."""
    samples = []
    for turn in range(_LATENCY_CALLS + _LATENCY_CALLS // 10):
        start = time.perf_counter()
        encoder.encode([_TWELVE])
        if turn >= _LATENCY_CALLS // 10:
            samples.append(time.perf_counter() - start)
    cuts = statistics.quantiles(samples, n=100, method="inclusive")
    info = encoder.info()
    what = f"one text of 12 words, {info['precision']} on {info['engine']}, {info['device']}"
    return [
        BenchRow(f"{what}, {name}", seconds * 1e9, 1 / seconds, "texts/s", "")
        for name, seconds in (("p50", cuts[49]), ("p99", cuts[98]))
    ]


def _distinct(count: int) -> list[str]:
    """Return different texts of both lengths."""
    return [f"Camera {n}: {_LONG if n % 2 else _SHORT}" for n in range(count)]


def _row(name: str, call: Callable[[], object], work: int, *, unit: str = "texts/s") -> BenchRow:
    """Time a call that does `work` things."""
    call()
    samples = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        call()
        samples.append(time.perf_counter() - start)
    seconds = statistics.median(samples)
    return BenchRow(name, seconds * 1e9, work / seconds, unit, "")
