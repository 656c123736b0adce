"""Rollouts on disk, and the options under which the tests' own server judges them."""

from __future__ import annotations

import json
import subprocess
import sys

import jsonschema
import numpy as np

from framejudge import frames
from framejudge.report.json_schema import json_schema

_BY_FILE = {
    "vlm_eval.json": "vlm_eval",
    "task_success_report.json": "task_success_report",
    "vlm_controls.json": "vlm_controls",
    "vlm_visual_review.json": "vlm_visual_review",
    "vlm_judge_disagreement.json": "vlm_judge_disagreement",
    "vlm_preference_comparison.json": "vlm_preference_comparison",
}
_BY_VERSION = {"npa_vlm_eval_benchmark_report_v2": "vlm_eval_benchmark"}


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


def check_artifacts(folder):
    """Hold every artifact under a folder against its published schema; say how many there were."""
    count = 0
    for file in (path for path in folder.rglob("*.json") if path.is_file()):
        text = file.read_text(encoding="utf-8")
        if not text.startswith("{"):
            continue  # every artifact is an object; a test left this in the way of one
        found = json.loads(text)
        version = found.get("schema_version") if isinstance(found, dict) else None
        name = _BY_FILE.get(file.name) or _BY_VERSION.get(version)
        if name is not None:
            jsonschema.validate(found, json_schema(name))
            count += 1
    return count
