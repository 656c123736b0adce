"""Made-up camera descriptions for timing: distinct, 8 to 59 words, always the same ones.

`FRAMEJUDGE_TEST_DATA/camera2000.txt` (one description a line) is used instead where it exists.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

__all__ = ["camera_texts"]

MOST = 4000

_PLACES = (
    "the main entrance", "the loading dock", "the north car park", "the escalator on level two",
    "the cold store", "platform three", "the server room corridor", "the school gate",
    "the pharmacy counter", "the rear fire exit", "the toll booth", "the rooftop terrace",
)  # fmt: skip
_PEOPLE = (
    "a man in a yellow vest", "two women with prams", "an elderly person with a cane",
    "a cyclist without a helmet", "a group of five teenagers", "a courier holding a parcel",
    "a child in a red coat", "a guard with a radio", "nobody", "a technician on a ladder",
)  # fmt: skip
_ACTIONS = (
    "walks slowly past", "is waiting beside", "has fallen in front of", "runs away from",
    "is pointing at something near", "leaves a black bag next to", "looks up at the camera over",
    "argues loudly with someone at", "closes the shutter of", "is kneeling on the floor by",
)  # fmt: skip
_DETAILS = (
    "the lights flicker twice and then stay off for the rest of the sequence",
    "a white van is parked across both lanes with its hazard lights on",
    "there is water on the floor and a yellow warning sign lies on its side",
    "rain makes the far half of the picture hard to read",
    "three pallets are stacked higher than the marked line",
    "a forklift reverses without a banksman while its alarm can be seen flashing",
    "the door stays open although the sign beside it says that it must be kept shut",
    "no anomaly is visible in the rest of the frame",
    "smoke or steam drifts in from the left and hides the clock",
    "a dog without a leash crosses the picture from right to left",
)
_TIMES = ("At dawn", "At noon", "Shortly after closing time", "During the night shift", "At 14:32")


def camera_texts(count: int) -> list[str]:
    """Return `count` distinct descriptions.

    Raises:
        ValueError: More are asked for than there are.
    """
    folder = os.environ.get("FRAMEJUDGE_TEST_DATA")
    path = Path(folder) / "camera2000.txt" if folder else None
    if path is not None and path.is_file():
        texts = list(dict.fromkeys(path.read_text(encoding="utf-8").splitlines()))
    else:
        texts = _made_up(MOST)
    if count > len(texts):
        raise ValueError(f"{count} texts were asked for, there are {len(texts)}")
    return texts[:count]


def _made_up(count: int) -> list[str]:
    """Put sentences together until there are enough different ones."""
    pick = random.Random(20260317)
    texts: dict[str, None] = {}
    while len(texts) < count:
        scene = f"{pick.choice(_PEOPLE)} {pick.choice(_ACTIONS)} {pick.choice(_PLACES)}"
        details = pick.sample(_DETAILS, pick.choice((0, 0, 1, 1, 1, 2, 2, 3)))
        start = f"{pick.choice(_TIMES)} {scene}" if pick.random() < 0.6 else scene.capitalize()
        text = ", and ".join([start, *details]) + "."
        if 8 <= len(text.split()) <= 59:
            texts[text] = None
    return list(texts)
