"""PNG: decoding against pyspng, OpenCV and Pillow; encoding against Pillow's optimize=True.

One process, one thread, interleaved in random order; CPU time, the median. Beside each time
whether the peer's pixels were right, beside each file its size. pip install pyspng
opencv-python-headless; a peer that is missing is left out. The picture is the first argument, or
made here: a smooth scene with the noise of a camera.
"""

from __future__ import annotations

import io
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image

from framejudge import build_info, frames

ROUNDS = 9

Pixels = np.ndarray


def scene(height: int, width: int) -> Pixels:
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:height, :width] / height
    light = 120 + 80 * np.sin(5 * x + 3 * y) + 30 * np.sin(40 * x * y)
    edges = 40 * ((np.floor(9 * x) + np.floor(7 * y)) % 2)
    channels = [light + edges * weight for weight in (1.0, 0.8, 0.6)]
    noisy = np.stack(channels, axis=-1) + rng.normal(0, 2.5, (height, width, 3))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def photo(height: int, width: int) -> Pixels:
    if len(sys.argv) < 2:
        return scene(height, width)
    image = Image.open(Path(sys.argv[1])).convert("RGB")
    pixels = np.asarray(image.resize((width, height), Image.Resampling.LANCZOS)).astype(int)
    noise = np.random.default_rng(0).normal(0, 2.0, pixels.shape)
    return np.clip(pixels + noise, 0, 255).astype(np.uint8)


def screenshot(height: int, width: int) -> Pixels:
    pixels = np.full((height, width, 3), 244, np.uint8)
    pixels[: height // 20] = (40, 44, 52)
    rng = np.random.default_rng(1)
    for top in range(height // 10, height - 20, 24):
        left = 60
        while left < width - 120:
            length = int(rng.integers(8, 80))
            pixels[top : top + 11, left : left + length] = (rng.integers(0, 80, 3)).astype(np.uint8)
            left += length + 9
    return pixels


def pillow_png(pixels: Pixels, *, optimize: bool) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", optimize=optimize)
    return file.getvalue()


def decoders() -> dict[str, Callable[[bytes], Pixels]]:
    found: dict[str, Callable[[bytes], Pixels]] = {"framejudge": frames.decode}
    try:
        import pyspng

        found["pyspng"] = pyspng.load
    except ImportError:
        print("pyspng is missing")
    try:
        import cv2

        cv2.setNumThreads(1)
        found["cv2"] = lambda file: cv2.imdecode(
            np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB
        )
    except ImportError:
        print("cv2 is missing")
    found["Pillow"] = lambda file: np.asarray(Image.open(io.BytesIO(file)))
    return found


def interleaved(tasks: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Median CPU milliseconds of each."""
    for task in tasks.values():
        task()
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(ROUNDS):
        for name in random.sample(sorted(tasks), len(tasks)):
            start = time.thread_time()
            tasks[name]()
            taken[name].append(1e3 * (time.thread_time() - start))
    return {name: median(values) for name, values in taken.items()}


def decoding(title: str, pixels: Pixels) -> None:
    file = pillow_png(pixels, optimize=False)
    readers = decoders()
    times = interleaved({name: lambda read=read: read(file) for name, read in readers.items()})
    print(f"\ndecode {title}, {len(file) / 1e6:.2f} MB")
    for name, taken in sorted(times.items(), key=lambda item: item[1]):
        is_right = np.array_equal(readers[name](file), pixels)
        ratio = taken / times["framejudge"]
        print(f"  {name:11s} {taken:7.2f} ms  {ratio:5.2f} x ours  right: {is_right}")


def encoding(title: str, pixels: Pixels) -> None:
    tasks: dict[str, Callable[[], bytes]] = {
        f"level {level}": lambda level=level: frames.encode_png(pixels, level=level)
        for level in (1, 3, 5, 7, 9)
    }
    tasks["Pillow optimize"] = lambda: pillow_png(pixels, optimize=True)
    times = interleaved(dict(tasks))
    theirs = len(tasks["Pillow optimize"]())
    print(f"\nencode {title}")
    for name, taken in times.items():
        file = tasks[name]()
        is_right = np.array_equal(np.asarray(Image.open(io.BytesIO(file))), pixels)
        speed = times["Pillow optimize"] / taken
        print(
            f"  {name:15s} {taken:7.1f} ms  {speed:6.1f} x Pillow's speed  "
            f"{len(file) / theirs:.3f} of its size  right: {is_right}"
        )


def main() -> None:
    info = build_info()
    print(f"{info['inflate']}, {info['isa']}, one thread, median of {ROUNDS} of CPU time")
    decoding("1080p photo", photo(1080, 1920))
    decoding("1080p screenshot", screenshot(1080, 1920))
    encoding("768 x 768 photo", photo(768, 768))
    encoding("768 x 432 screenshot", screenshot(432, 768))


if __name__ == "__main__":
    main()
