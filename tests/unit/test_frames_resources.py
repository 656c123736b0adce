"""What each function of the frame path leaves to others: memory, the GIL, other threads."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from framejudge import frames
from framejudge.errors import FramejudgeError

MEMORY = Path("/proc/self/statm")
SIZE = {"size": (24, 32)}
UNIT = {"mean": (0, 0, 0), "std": (1, 1, 1)}


def noise(height, width):
    return np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)


def calls(height, width):
    """Each function on a picture of this size, good and bad, by name."""
    picture = noise(height, width)
    jpeg, png = frames.encode_jpeg(picture), frames.encode_png(picture)
    bad = np.zeros((4, 4, 2), np.uint8)
    return {
        "resize": lambda: frames.resize(picture, **SIZE),
        "resize, refused": lambda: frames.resize(bad, **SIZE),
        "to_tensor": lambda: frames.to_tensor([picture], **UNIT),
        "to_tensor, refused": lambda: frames.to_tensor([picture, bad], **UNIT),
        "decode_to_tensor": lambda: frames.decode_to_tensor([jpeg, png], **SIZE, **UNIT),
        "decode_to_tensor, cut": lambda: frames.decode_to_tensor([jpeg[:-90]], **SIZE, **UNIT),
        "decode PNG": lambda: frames.decode(png),
        "decode PNG, cut": lambda: frames.decode(png[: len(png) // 2]),
        "encode_png": lambda: frames.encode_png(picture),
        "encode_jpeg": lambda: frames.encode_jpeg(picture),
        "phash": lambda: frames.phash(picture),
        "dhash": lambda: frames.dhash(jpeg),
        "pdq": lambda: frames.pdq(jpeg),
        "pdq, refused": lambda: frames.pdq(b"no picture"),
        "sha256": lambda: frames.sha256(png),
    }


NAMES = list(calls(8, 8))


def resident_bytes():
    return int(MEMORY.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def run(call, times):
    for _ in range(times):
        try:
            call()
        except FramejudgeError:
            continue


@pytest.mark.skipif(not MEMORY.is_file(), reason="needs /proc")
@pytest.mark.parametrize("name", NAMES)
def test_memory_stays_flat_over_ten_thousand_calls(name):
    call = calls(24, 32)[name]
    run(call, 1000)
    before = resident_bytes()
    run(call, 10_000)
    # The smallest thing a call can leak is more than 16 bytes; the heap may move by some pages.
    assert resident_bytes() - before < 16 * 10_000 + (1 << 20)


def slow_call(name):
    """One that takes long enough for others to be kept waiting, if they are."""
    for height, width in ((1400, 2000), (2800, 4000), (5600, 8000)):
        call = calls(height, width)[name]
        call()
        start = time.monotonic()
        call()
        if time.monotonic() - start > 0.004:
            return call
    pytest.fail(f"{name} takes no time that could be noticed")


@pytest.mark.threads
@pytest.mark.parametrize("name", [name for name in NAMES if "," not in name])
def test_another_thread_runs_meanwhile(name):
    call = slow_call(name)
    done = threading.Event()
    took_s = []

    def work():
        start = time.monotonic()
        while time.monotonic() - start < 0.2:
            before = time.monotonic()
            call()
            took_s.append(time.monotonic() - before)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    ticks = 0
    while not done.is_set():
        ticks += 1
        time.sleep(0.0005)
    thread.join()
    # With the lock held this loop would run between two calls only.
    assert ticks > 2 * len(took_s)


@pytest.mark.threads
@pytest.mark.parametrize("name", [name for name in NAMES if "," not in name])
def test_threads_get_what_one_alone_gets(name):
    call = calls(60, 80)[name]
    expected = call()
    wrong = []

    def same(value):
        if isinstance(value, np.ndarray):
            return np.array_equal(value, expected)
        return bool(value == expected)

    def work():
        wrong.extend(i for i in range(40) if not same(call()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
