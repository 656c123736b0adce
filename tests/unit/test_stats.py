"""Intervals and shares, against published and hand-made values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from framejudge.metrics.stats import (
    bootstrap_mean_interval,
    rounded_share,
    wilson_interval,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_interval_gives_newcombes_published_values(successes, trials, low, high):
    assert wilson_interval(successes, trials, 0.95) == (low, high)


def test_wilson_interval_mirrors_for_failures():
    low, high = wilson_interval(3, 10, 0.9)
    mirrored = wilson_interval(7, 10, 0.9)
    assert (round(1 - high, 4), round(1 - low, 4)) == mirrored


def test_a_share_is_zero_or_one_only_when_it_is_exactly_that():
    assert rounded_share(0, 50_000) == 0.0
    assert rounded_share(1, 50_000) == 0.0001
    assert rounded_share(49_999, 50_000) == 0.9999
    assert rounded_share(50_000, 50_000) == 1.0
    assert rounded_share(1, 3) == 0.3333


def test_bootstrap_interval_has_the_width_of_the_normal_theory():
    values = np.linspace(0.2, 0.8, 400)
    low, high = bootstrap_mean_interval(list(values), 0.95)
    half = 1.959964 * values.std(ddof=1) / math.sqrt(values.size)
    # The end points of 2,000 resamples scatter by about 4 % of the half-width.
    assert low == pytest.approx(0.5 - half, abs=0.15 * half)
    assert high == pytest.approx(0.5 + half, abs=0.15 * half)


def test_bootstrap_interval_is_repeatable_and_needs_two_values():
    assert bootstrap_mean_interval([0.1, 0.9, 0.4], 0.9) == bootstrap_mean_interval(
        [0.1, 0.9, 0.4], 0.9
    )
    assert bootstrap_mean_interval([0.5], 0.95) is None
    assert bootstrap_mean_interval([], 0.95) is None


def test_a_large_sample_gets_the_normal_interval():
    values = np.tile([0.0, 1.0], 5000)
    low, high = bootstrap_mean_interval(list(values), 0.95)
    # 0.5 +- 1.96 * 0.5 / 100
    assert (low, high) == (0.4902, 0.5098)
