"""Which frames a judge sees, for any number of frames."""

from __future__ import annotations

import pytest

from framejudge.errors import InputError
from framejudge.frames.selection import select_indices

# Published vectors: (frames, how many may be sent) and the keyframes.
VECTORS = {
    (250, 4): [0, 112, 225, 249],
    (7, 4): [0, 2, 5, 6],
    (6, 3): [0, 4, 5],
    (5, 3): [0, 3, 4],
    (3, 2): [0, 2],
    (454, 4): [0, 204, 408, 453],
    (221, 4): [0, 98, 198, 220],
    (100, 3): [0, 90, 99],
    (1000, 4): [0, 450, 900, 999],
}


@pytest.mark.parametrize(("given", "expected"), VECTORS.items())
def test_keyframes_are_the_published_ones(given, expected):
    assert select_indices(*given, "keyframes") == expected


def test_a_sequence_is_spread_evenly():
    assert select_indices(6, 3, "sequence") == [0, 2, 5]


@pytest.mark.parametrize("strategy", ["final", "keyframes", "sequence"])
def test_what_holds_for_every_count_and_every_limit(strategy):
    for count in range(1001):
        for limit in (*range(1, 20), 31, 32, 33, 64, 100, 127, 128):
            chosen = select_indices(count, limit, strategy)
            wanted = min(count, limit) if strategy != "final" else min(count, 1)
            assert len(chosen) == wanted
            assert chosen == sorted(set(chosen))
            if not chosen:
                continue
            assert chosen[-1] == count - 1
            assert chosen[0] >= 0
            if wanted > 1:
                assert chosen[0] == 0
            if strategy == "keyframes" and 1 < wanted < count:
                tail = -(-wanted // 2)
                start = count - max(tail, -(-count // 10))
                assert sum(index >= start for index in chosen) == tail


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((5, 0, "sequence"), "max_frames must be at least 1"),
        ((-1, 2, "sequence"), "count at least 0"),
        ((5, 2, "first"), "one of final, keyframes, sequence, got 'first'"),
    ],
)
def test_what_can_not_be_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        select_indices(*arguments)
