"""What benchmarks of the frame path share: a picture like a photo, interleaved CPU times."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping

import numpy as np


def photo(height: int, width: int, seed: int = 0) -> np.ndarray:
    """(H, W, 3) uint8: a 1/f spectrum as photos have, hard edges, and a sensor's noise."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None, :])
    frequency[0, 0] = 1.0
    luma, *chroma = (
        np.fft.irfft2(
            np.exp(2j * np.pi * rng.random(frequency.shape)) / frequency**1.4, (height, width)
        )
        for _ in range(3)
    )
    luma = 128 + 45 * luma / luma.std()
    for _ in range(40):
        y, x = rng.integers(0, height), rng.integers(0, width)
        h, w = rng.integers(height // 50, height // 5), rng.integers(width // 50, width // 5)
        luma[y : y + h, x : x + w] += rng.normal(0, 25)
    red_blue = [12 * c / c.std() for c in chroma]
    rgb = np.stack([luma + red_blue[0], luma - sum(red_blue) / 2, luma + red_blue[1]], axis=2)
    return np.clip(rgb + rng.normal(0, 2, rgb.shape), 0, 255).astype(np.uint8)


def cpu_times(
    methods: Mapping[str, Callable[[], object]], *, rounds: int = 9, repeat: int = 1
) -> dict[str, float]:
    """Milliseconds of this thread per call, median of rounds; each round in another order."""
    times: dict[str, list[float]] = {name: [] for name in methods}
    for round_ in range(rounds + 1):  # the first warms up
        names = list(methods)
        random.Random(round_).shuffle(names)
        for name in names:
            start = time.thread_time()
            for _ in range(repeat):
                methods[name]()
            if round_:
                times[name].append((time.thread_time() - start) * 1e3 / repeat)
    return {name: statistics.median(values) for name, values in times.items()}


def psnr(a: np.ndarray, b: np.ndarray) -> float:
    """Decibels between two pictures of levels 0 to 255."""
    error = np.mean((a.astype(np.float64) - b.astype(np.float64)) ** 2)
    return float("inf") if error == 0 else float(10 * np.log10(255.0**2 / error))


def show(title: str, times: Mapping[str, float], ours: str, notes: Mapping[str, str]) -> None:
    """Print each method's time, its ratio to ours and what its picture was."""
    print(f"\n{title}")
    for name, ms in sorted(times.items(), key=lambda item: item[1]):
        print(f"  {ms:9.3f} ms  {ms / times[ours]:6.2f} x  {name:<44} {notes.get(name, '')}")
