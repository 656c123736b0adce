"""JPEG to RGB: framejudge beside simplejpeg, OpenCV and Pillow; the overhead; a batch on all cores.

Needs `pip install opencv-python-headless pillow simplejpeg`, and for the overhead over libjpeg a C
compiler and libjpeg's headers. CPU time of one thread; of the batch, wall-clock time.
"""

from __future__ import annotations

import ctypes
import io
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import simplejpeg
from PIL import Image

import framejudge
from benchmarks.frames_common import cpu_times, show
from framejudge import frames

SIZES = {"64 x 64": (64, 64), "720p": (720, 1280), "1080p": (1080, 1920), "4K": (2160, 3840)}
ROUNDS = 11
LEAST_S = 0.01  # of one measurement
BATCH = 64


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


def single(title: str, jpeg: bytes) -> None:
    calls = methods(jpeg)
    ours = calls["framejudge"]()
    notes = {
        name: "same pixels" if np.array_equal(call(), ours) else "OTHER PIXELS"
        for name, call in calls.items()
    }
    start = time.thread_time()
    calls["framejudge"]()
    repeat = max(1, round(LEAST_S / (time.thread_time() - start)))
    times = cpu_times(calls, rounds=ROUNDS, repeat=repeat)
    show(f"{title}, {len(jpeg) / 1000:.0f} kB", times, "framejudge", notes)


def overhead(jpeg: bytes, count: int = 1000) -> None:
    """Print what Python and framejudge add to libjpeg's own time, in interleaved rounds."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(__file__).with_name("libjpeg_loop.c"), Path(folder) / "loop.so"
        command = ["cc", "-O2", "-shared", "-fPIC", source, "-o", library, "-ljpeg"]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"\noverhead over libjpeg: not measured ({error})")
            return
        loop = ctypes.CDLL(str(library)).libjpeg_loop
        loop.argtypes = [ctypes.c_char_p, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_long]
        pixels = np.empty((64, 64, 3), np.uint8)

        def ours() -> None:
            for _ in range(count):
                frames.decode(jpeg)

        def alone() -> None:
            loop(jpeg, len(jpeg), pixels.ctypes.data, count)

        times = cpu_times({"ours": ours, "alone": alone}, rounds=31)
        assert np.array_equal(pixels, frames.decode(jpeg))
    total_us, codec_us = (times[name] * 1000 / count for name in ("ours", "alone"))
    print(f"\n64 x 64: {total_us:.2f} us; libjpeg in a loop of C {codec_us:.2f} us:")
    print(f"  an overhead of {total_us - codec_us:.2f} us")


def processes_s(jpeg: bytes, count: int) -> float:
    """Wall-clock seconds of so many processes that share nothing and decode the batch together."""
    code = (
        "import sys, time; from framejudge import frames\n"
        "jpeg = sys.stdin.buffer.read(); frames.decode(jpeg)\n"
        "start = time.perf_counter()\n"
        f"for _ in range({BATCH // count}): frames.decode(jpeg)\n"
        "print(time.perf_counter() - start)\n"
    )
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(count)
    ]
    for process in running:
        process.stdin.write(jpeg)
    for process in running:
        process.stdin.close()
    return max(float(process.stdout.read()) for process in running)


def batch(jpeg: bytes) -> None:
    """Print how much faster a batch is on the whole pool, and what processes apart reach."""
    threads = framejudge.build_info()["threads"]
    times: dict[str, list[float]] = {"one": [], "all": [], "one process": [], "processes": []}
    for _ in range(ROUNDS):
        for name, count in (("one", 1), ("all", threads)):
            start = time.perf_counter()
            frames.decode_batch([jpeg] * BATCH, threads=count)
            times[name].append(time.perf_counter() - start)
        times["one process"].append(processes_s(jpeg, 1))
        times["processes"].append(processes_s(jpeg, threads))
    one, all_, process, apart = (statistics.median(seconds) for seconds in times.values())
    print(f"\n{BATCH} x 1080p: {one * 1e3:.0f} ms on 1 thread, {all_ * 1e3:.0f} ms on {threads}:")
    print(f"  {one / all_:.2f} x; {threads} processes that share nothing: {process / apart:.2f} x")


def main() -> None:
    cv2.setNumThreads(1)
    print(f"framejudge with {framejudge.build_info()['jpeg']}")
    jpegs = {
        title: frames.encode_jpeg(photo_like(*shape), quality=85) for title, shape in SIZES.items()
    }
    for title, jpeg in jpegs.items():
        single(title, jpeg)
    overhead(jpegs["64 x 64"])
    batch(jpegs["1080p"])


if __name__ == "__main__":
    main()
