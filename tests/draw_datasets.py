"""Draws the packaged benchmark datasets: `python tests/draw_datasets.py` writes them anew.

Simple shapes on purpose: they show that a sweep runs and that a check measures, and nothing about
any model.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from framejudge import frames
from framejudge.frames.rollout import collect_frames

FOLDER = Path(__file__).parents[1] / "python" / "framejudge" / "data" / "benchmarks"

HEIGHT, WIDTH = 240, 320
TITLE_ROWS = 22
CUBE_SIDE, CUBE_LEFT = 30, 190
# The cube's last row and the free columns between it and the gripper, frame by frame.
BOTTOMS = (195, 195, 190, 175, 155, 135)
GAPS = (50, 66, 82, 86, 90, 94)
LEVELS = {
    "title_rows_excluded": TITLE_ROWS,
    "object_r_min_inclusive": 121,
    "object_g_max_inclusive": 79,
    "object_b_max_inclusive": 79,
    "actor_channel_min_inclusive": 151,
    "actor_rg_delta_max_inclusive": 17,
    "actor_gb_delta_max_inclusive": 17,
    "contact_px_inclusive": 4,
    "movement_px_inclusive": 8,
}


def scene(number: int) -> np.ndarray:
    """(240, 320, 3) uint8: a gray gripper that moves off while a red cube rises by itself."""
    picture = np.empty((HEIGHT, WIDTH, 3), np.uint8)
    shade = np.linspace(0, 24, HEIGHT).astype(np.uint8)[:, None]
    picture[...] = np.stack([28 + shade, 44 + shade, 70 + shade], axis=-1)
    picture[196:202] = (96, 74, 52)  # the edge of a table
    picture[:TITLE_ROWS] = (18, 20, 26)
    # A bar for the frame's number, in colours that would count if the title did.
    picture[6:16, 8 : 8 + 40 * (number + 1)] = (200, 30, 30)
    picture[6:16, 270:310] = (210, 210, 210)
    right = CUBE_LEFT - GAPS[number]
    picture[40:120, right - 7 : right + 1] = (190, 192, 194)  # an arm, and two fingers below it
    picture[120:126, right - 23 : right + 1] = (176, 178, 180)
    picture[126:150, right - 23 : right - 18] = (176, 178, 180)
    picture[126:150, right - 4 : right + 1] = (176, 178, 180)
    bottom = BOTTOMS[number]
    cube = picture[bottom - CUBE_SIDE + 1 : bottom + 1, CUBE_LEFT : CUBE_LEFT + CUBE_SIDE]
    cube[...] = (200, 36, 32)
    cube[:4], cube[-4:] = (228, 60, 54), (150, 24, 22)
    return picture


def draw_agency(folder: Path) -> None:
    """Six frames, of which one claim is true and the other false."""
    rollout = folder / "isaac-franka-lift-cube"
    rollout.mkdir(parents=True, exist_ok=True)
    for number in range(len(BOTTOMS)):
        png = frames.encode_png(scene(number), level=6)
        (rollout / f"frame_{number:03d}.png").write_bytes(png)
    sent = collect_frames(rollout, frame_selection="sequence", max_frames=len(BOTTOMS)).frames
    check = {
        "kind": "stylized_color_bbox_agency_v1",
        "required_frame_selection": "sequence",
        "required_max_frames": len(BOTTOMS),
        "required_labels": [frame.evidence.label for frame in sent],
        "required_normalized_png_sha256": [frame.evidence.sha256 for frame in sent],
        "required_decoded_rgb_sha256": [frame.evidence.decoded_rgb_sha256 for frame in sent],
        **LEVELS,
    }
    items = [
        {
            "id": "cube-elevated-positive",
            "rollout": rollout.name,
            "expected_label": "pass",
            "task": "Say what the frames show in order. Then judge: does the red cube end higher "
            "above the table than it began?",
            "structural_check": check | {"claim": "object_elevates"},
        },
        {
            "id": "robot-grasp-lift-negative",
            "rollout": rollout.name,
            "expected_label": "fail",
            "task": "Say what the frames show in order. Then judge: does the gripper take hold of "
            "the red cube and lift it?",
            "structural_check": check | {"claim": "actor_causes_motion"},
        },
    ]
    write(
        folder / "benchmark.json",
        {
            "format": "npa_vlm_eval_benchmark_v1",
            "evidence_scope": "illustrative_only",
            "limitations": [
                "Both items have the same six drawn frames; they tell a state from its cause.",
                "The structural check measures coloured boxes; it says nothing about any model.",
                "Drawn frames show no contact, no physics, and nothing of a real robot's safety.",
            ],
            "items": items,
        },
    )
    listed = []
    for frame in sent:
        source = (rollout / frame.evidence.label).read_bytes()
        listed.append(
            {
                "name": frame.evidence.label,
                "bytes": len(source),
                "source_sha256": hashlib.sha256(source).hexdigest(),
                "normalized_png_sha256": frame.evidence.sha256,
                "decoded_rgb_sha256": frame.evidence.decoded_rgb_sha256,
            }
        )
    write(folder / "frame-manifest.json", {"frames": listed})


def swatch(path: Path, rgb: tuple[int, int, int]) -> None:
    """A picture of two by two pixels, as text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = "\n".join(" ".join(map(str, rgb)) for _ in range(4))
    path.write_text(f"P3\n2 2\n255\n{pixels}\n")


def draw_sample(folder: Path) -> None:
    """Five rollouts of coloured squares, with scores that were made up for them."""
    green, amber, red, gray = (40, 160, 70), (150, 170, 60), (190, 60, 40), (120, 120, 120)
    drawn = {
        "place-block-clear-pass": ([green], True, 0.93, "place the block on the mark"),
        "align-tool-pass": ([amber], True, 0.84, "line the tool up with the slot"),
        "missed-target-fail": ([red], False, 0.65, "place the block on the mark"),
        "unstable-end-state-fail": ([(110, 40, 30)], False, 0.22, "leave the stack at rest"),
        "progress-without-terminal-fail": (
            [gray, (130, 140, 110), (140, 160, 90)],
            False,
            0.41,
            "place the block on the mark and let it go",
        ),
    }
    items: list[dict[str, Any]] = []
    for name, (colours, expected, score, task) in drawn.items():
        for number, colour in enumerate(colours):
            swatch(folder / "rollouts" / name / f"frame_{number:03d}.ppm", colour)
        items.append(
            {
                "id": name,
                "rollout": name,
                "expected_label": expected,
                "task": task,
                "fixture_score": score,
            }
        )
    write(
        folder / "benchmark.json",
        {
            "format": "npa_vlm_eval_benchmark_v1",
            "evidence_scope": "illustrative_only",
            "limitations": [
                "The rollouts are squares of one colour; no judge can learn or show anything here.",
                "The labels follow the colours, and the recorded scores were made up.",
                "One sequence leaves its end out; it shows that such an item is counted, no more.",
            ],
            "rollout_base_path": "rollouts",
            "rubrics": {
                "strict": "Give 1.0 only where every part of the task is seen to be done and at "
                "rest in the last frame, and 0.0 for everything else. No score lies between.",
            },
            "items": items,
        },
    )


def write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n")


def main() -> None:
    draw_sample(FOLDER / "sample")
    draw_agency(FOLDER / "isaac-agency")


if __name__ == "__main__":
    main()
