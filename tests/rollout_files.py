"""Rollouts on disk, and the options under which the tests' own server judges them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from framejudge import frames


def picture(level, height=24, width=32):
    return frames.encode_png(np.full((height, width, 3), level, np.uint8))


def make_rollout(folder, count=5, first=10):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"frame_{number}.png").write_bytes(picture(10 * number + first))
    return folder


def make_rollouts(folder, count):
    for number in range(count):
        make_rollout(folder / f"r{number}", first=10 + number)
    return folder


def options(server, **more):
    return {"endpoint_url": server.url, "model": "judge", "task": "place the cube", **more}


def scored(score, **more):
    return {"success": score >= 0.8, "score": score, "rationale": f"scored {score}", **more}


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "framejudge", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
