"""The published Spearman correlation of all-mpnet-base-v2 on the STS benchmark is met."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from framejudge import Encoder, cosine

pytestmark = pytest.mark.usefixtures("weights")

PUBLISHED = 83.42


def average_ranks(values):
    """Rank values from 0, ties sharing the mean of their ranks."""
    values = np.asarray(values, np.float64)
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts) - 1
    return (last - (counts - 1) / 2)[inverse]


def spearman(a, b):
    """Return Spearman's rho: Pearson's correlation of the average ranks."""
    return np.corrcoef(average_ranks(a), average_ranks(b))[0, 1]


def test_spearman_by_hand():
    # Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: covariance 4.5, variances 4.5 and 5.
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(4.5 / np.sqrt(4.5 * 5))


def test_sts_benchmark_correlation_is_the_published_one(test_data):
    with (test_data / "stsb-en-test.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert len(rows) == 1379
    encoder = Encoder()
    left = encoder.encode([row[0] for row in rows])
    right = encoder.encode([row[1] for row in rows])
    rho = spearman(cosine.paired(left, right), [float(row[2]) for row in rows])
    assert abs(100 * rho - PUBLISHED) <= 0.02
