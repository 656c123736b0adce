"""Which frames of a rollout a judge gets to see, by formulas that others can recompute."""

from __future__ import annotations

from typing import Literal

from framejudge.errors import InputError

__all__ = ["FRAME_SELECTIONS", "FrameSelection", "select_indices"]

FrameSelection = Literal["final", "keyframes", "sequence"]
FRAME_SELECTIONS: tuple[FrameSelection, ...] = ("final", "keyframes", "sequence")


def select_indices(count: int, max_frames: int, strategy: FrameSelection) -> list[int]:
    """Choose frames of a source whose number of frames is known.

    "sequence" spreads them evenly from the first to the last. "keyframes" spends half of them,
    rounded up, on the end (its last tenth at least) and spreads the rest over what comes before:
    the outcome is what a verdict is about. "final" is the last one. A source that has no more
    frames than may be sent is sent whole.

    Args:
        count: frames of the source, 0 or more.
        max_frames: how many may be sent, 1 or more.
        strategy: "final", "keyframes" or "sequence".

    Returns:
        Ascending indices, each once; empty for an empty source.

    Raises:
        InputError: a value out of range.

    >>> select_indices(250, 4, "keyframes"), select_indices(6, 3, "sequence")
    ([0, 112, 225, 249], [0, 2, 5])
    """
    if max_frames < 1 or count < 0:
        raise InputError(
            f"max_frames must be at least 1 and count at least 0, got {max_frames} and {count}"
        )
    if strategy not in FRAME_SELECTIONS:
        raise InputError(
            f"frame_selection must be one of {', '.join(FRAME_SELECTIONS)}, got {strategy!r}"
        )
    if count == 0:
        return []
    wanted = min(max_frames, count)
    if strategy == "final" or wanted == 1:
        return [count - 1]
    if wanted == count:
        return list(range(count))
    if strategy == "sequence":
        return sorted({round(i * (count - 1) / (wanted - 1)) for i in range(wanted)})
    tail = -(-wanted // 2)
    broad = wanted - tail
    start = count - max(tail, -(-count // 10))
    early = [round(i * (start - 1) / broad) for i in range(broad)]
    late = [count - 1]
    if tail > 1:
        late = [round(start + i * (count - 1 - start) / (tail - 1)) for i in range(tail)]
    return early + late
