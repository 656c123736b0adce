"""Statistics of labels and scores, against formulas written out and figures from the literature."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from framejudge.metrics.agreement import (
    brier_score,
    fleiss_kappa,
    krippendorff_alpha,
    mcnemar,
    reliability_table,
    roc_auc,
    roc_auc_interval,
)

cases = st.lists(
    st.tuples(st.booleans(), st.integers(0, 10).map(lambda n: n / 10)), min_size=1, max_size=30
)


@given(cases)
def test_the_area_is_the_share_of_pairs_in_order(items):
    labels, scores = zip(*items, strict=True)
    passed = [score for label, score in items if label]
    failed = [score for label, score in items if not label]
    pairs = [(a > b) + 0.5 * (a == b) for a, b in itertools.product(passed, failed)]
    expected = round(sum(pairs) / len(pairs), 4) if pairs else None
    assert roc_auc(labels, scores) == pytest.approx(expected, abs=1e-4)


def test_the_interval_of_the_area_holds_it_and_is_reproducible():
    rng = np.random.default_rng(3)
    labels = list(rng.random(60) < 0.5)
    scores = [float(np.clip(0.3 * label + 0.7 * rng.random(), 0, 1)) for label in labels]
    low, high = roc_auc_interval(labels, scores)
    assert low < roc_auc(labels, scores) < high
    assert (low, high) == roc_auc_interval(labels, scores)
    assert roc_auc_interval([True, True, False], [1, 1, 0]) is None
    assert roc_auc_interval([True, True, False, False], [1, 1, 0, 0]) == (1.0, 1.0)


def test_the_brier_score_is_the_mean_squared_error():
    assert brier_score([True, False, True], [1.0, 0.0, 0.5]) == round(0.25 / 3, 4)
    assert brier_score([], []) is None


def test_every_score_has_one_place_in_the_table():
    scores = [0.0, 0.19, 0.2, 0.5, 0.8, 0.99, 1.0]
    table = reliability_table([True] * 3 + [False] * 4, scores)
    assert sum(entry.n for entry in table) == len(scores)
    assert [entry.n for entry in table] == [2, 1, 1, 0, 3]
    assert table[0].share_of_passes == 1.0
    assert table[3] == (0.6, 0.8, 0, None, None)


def test_fleiss_kappa_is_the_textbooks():
    # Fleiss (1971) with two categories: 10 items by 5 raters, passes as counted here.
    passes = [5, 5, 4, 3, 0, 1, 2, 5, 0, 5]
    rows = [[True] * n + [False] * (5 - n) for n in passes]
    share = sum(passes) / 50
    within = np.mean([(n * (n - 1) + (5 - n) * (4 - n)) / 20 for n in passes])
    chance = share**2 + (1 - share) ** 2
    assert fleiss_kappa(rows) == round((within - chance) / (1 - chance), 4)
    assert fleiss_kappa([[True, True], [True, True]]) is None
    assert fleiss_kappa([[True], [False]]) is None
    assert fleiss_kappa([[True, False], [False, True]]) == -1.0
    with pytest.raises(ValueError, match="as many judgements"):
        fleiss_kappa([[True, False], [True]])


def test_krippendorffs_alpha_is_one_minus_observed_over_expected_disagreement():
    rows = [[0.1, 0.3], [0.5, 0.5, 0.7], [0.9], [0.2, 0.2]]
    kept = [row for row in rows if len(row) > 1]
    total = sum(len(row) for row in kept)
    observed = (
        sum(
            sum((a - b) ** 2 for a, b in itertools.permutations(row, 2)) / (len(row) - 1)
            for row in kept
        )
        / total
    )
    flat = [score for row in kept for score in row]
    expected = sum((a - b) ** 2 for a, b in itertools.permutations(flat, 2)) / (total * (total - 1))
    assert krippendorff_alpha(rows) == round(1 - observed / expected, 4)
    assert krippendorff_alpha([[0.5, 0.5], [0.5, 0.5]]) is None
    assert krippendorff_alpha([[0.5], [0.1]]) is None


@pytest.mark.parametrize(
    ("only_first", "only_second", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (10, 0, 0.002), (1, 8, 0.0391), (2, 7, 0.1797)],
)
def test_mcnemars_p_is_the_exact_binomial_one(only_first, only_second, p):
    first = [True] * only_first + [False] * only_second + [True, False]
    second = [False] * only_first + [True] * only_second + [True, False]
    assert mcnemar(first, second) == p
    assert mcnemar(second, first) == p
