"""A text never contradicts the flag beside it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from framejudge.schemas.numbers import format_percent, format_score, round_score

rounded = st.integers(0, 10_000).map(lambda n: n / 10_000)


@pytest.mark.parametrize(
    ("score", "threshold", "shown"),
    [
        (0.89, 0.75, "0.89"),
        (0.7499, 0.75, "0.7499"),  # two decimals would read 0.75 beside HALLUCINATION
        (0.7451, 0.75, "0.745"),
        (0.75, 0.75, "0.75"),
        (0.8496, 0.85, "0.8496"),
        (0.17, 0.75, "0.17"),
        (0.7501, 0.75, "0.75"),
    ],
)
def test_a_score_shows_the_decimals_its_flag_needs(score, threshold, shown):
    assert format_score(score, below=[threshold]) == shown


@given(rounded, rounded)
def test_a_shown_score_compares_with_the_threshold_as_the_score_does(score, threshold):
    assert (float(format_score(score, below=[threshold])) < threshold) == (score < threshold)


@given(rounded, rounded)
def test_a_shown_percentage_compares_with_its_edges_as_the_share_does(share, edge):
    shown = round_score(float(format_percent(share, edges=[edge]).rstrip("%")) / 100)
    assert (shown < edge) == (share < edge)
    assert (shown > edge) == (share > edge)
    assert (shown == 0) == (share == 0)
    assert (shown == 1) == (share == 1)


def test_a_raw_score_is_rounded_to_four_decimals():
    assert round_score(0.74996) == 0.75
    assert round_score(0.74994) == 0.7499
