"""JPEG to RGB: framejudge beside simplejpeg, OpenCV and Pillow.

One process, one thread, methods in random order, CPU time, median. Each peer's picture is compared
with ours first; libjpeg-turbo's accurate DCT makes all of them equal. The smallest size shows what
a call costs apart from decoding.

    python -m pip install simplejpeg opencv-python-headless pillow
    python benchmarks/frames_decode.py
"""

from __future__ import annotations

import io
import random
import statistics
import time
from collections.abc import Callable

import cv2
import numpy as np
import simplejpeg
from PIL import Image

import framejudge
from framejudge import frames

SIZES = {"64 x 64": (64, 64), "720p": (720, 1280), "1080p": (1080, 1920), "4K": (2160, 3840)}
ROUNDS = 11
LEAST_S = 0.01  # of one measurement


def photo_like(height: int, width: int) -> np.ndarray:
    """Smooth shapes with a sensor's noise: about as many bytes as a photo's."""
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (9, 16, 3), dtype=np.uint8)
    smooth = frames.resize(coarse, size=(height, width), filter="bicubic").astype(np.int16)
    return np.clip(smooth + rng.normal(0, 4, smooth.shape), 0, 255).astype(np.uint8)


def methods(jpeg: bytes) -> dict[str, Callable[[], np.ndarray]]:
    encoded = np.frombuffer(jpeg, np.uint8)
    return {
        "framejudge": lambda: frames.decode(jpeg),
        "simplejpeg": lambda: simplejpeg.decode_jpeg(jpeg, "RGB"),
        "OpenCV": lambda: cv2.imdecode(encoded, cv2.IMREAD_COLOR_RGB),
        "Pillow": lambda: np.asarray(Image.open(io.BytesIO(jpeg)).convert("RGB")),
    }


def seconds(call: Callable[[], np.ndarray], repeats: int) -> float:
    start = time.thread_time()
    for _ in range(repeats):
        call()
    return (time.thread_time() - start) / repeats


def compare(jpeg: bytes) -> dict[str, tuple[float, bool]]:
    """Median CPU seconds of each method, and whether its picture is ours."""
    calls = methods(jpeg)
    ours = calls["framejudge"]()
    equal = {name: np.array_equal(call(), ours) for name, call in calls.items()}
    repeats = max(1, round(LEAST_S / seconds(calls["framejudge"], 3)))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(seconds(calls[name], repeats))
    return {name: (statistics.median(values), equal[name]) for name, values in times.items()}


def main() -> None:
    cv2.setNumThreads(1)
    print(f"framejudge with {framejudge.build_info()['jpeg']}; times relative to its own\n")
    for title, shape in SIZES.items():
        jpeg = frames.encode_jpeg(photo_like(*shape), quality=85)
        results = compare(jpeg)
        own = results["framejudge"][0]
        print(f"{title}, {len(jpeg) / 1000:.0f} kB: {own * 1000:.3f} ms")
        for name, (duration, is_equal) in results.items():
            verdict = "same pixels" if is_equal else "OTHER PIXELS"
            print(f"  {name:<12}{duration / own:6.2f}  {verdict}")


if __name__ == "__main__":
    main()
