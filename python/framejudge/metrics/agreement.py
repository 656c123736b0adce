"""How well scores tell pass from fail, and how far judgements of the same items agree.

Everything here is a function of labels and scores alone. Rounding is to four decimals, once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from framejudge.schemas.numbers import round_score

__all__ = [
    "ReliabilityBin",
    "brier_score",
    "fleiss_kappa",
    "krippendorff_alpha",
    "mcnemar",
    "reliability_table",
    "roc_auc",
    "roc_auc_interval",
]

_RESAMPLES = 2000
_SEED = 20260317
_TAIL = 0.025


def roc_auc(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the area under the ROC curve: how often a pass scores above a fail, ties by half.

    Source: J. A. Hanley and B. J. McNeil, Radiology 143 (1982), 29-36.

    Args:
        labels: what is true of each item.
        scores: what it was given.

    Returns:
        From 0 to 1; None without both labels.

    >>> roc_auc([True, True, False], [0.9, 0.5, 0.5])
    0.75
    """
    passed, failed = _by_label(labels, scores)
    if not len(passed) or not len(failed):
        return None
    return round_score(_share_above(passed, failed))


def roc_auc_interval(labels: Sequence[bool], scores: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % percentile bootstrap interval of `roc_auc`; 2,000 resamples, a fixed seed.

    Items are drawn within each label, so that both are in every resample. None where a label has
    fewer than two items.

    Source: B. Efron, Annals of Statistics 7 (1979), 1-26.
    """
    passed, failed = _by_label(labels, scores)
    if min(len(passed), len(failed)) < 2:  # noqa: PLR2004 - one item has no spread
        return None
    rng = np.random.default_rng(_SEED)
    areas = [
        _share_above(rng.choice(passed, len(passed)), rng.choice(failed, len(failed)))
        for _ in range(_RESAMPLES)
    ]
    low, high = (float(q) for q in np.quantile(areas, [_TAIL, 1 - _TAIL]))
    return round_score(low), round_score(high)


def brier_score(labels: Sequence[bool], scores: Sequence[float]) -> float | None:
    """Return the mean squared difference between score and label; None of nothing.

    Source: G. W. Brier, Monthly Weather Review 78 (1950), 1-3.

    >>> brier_score([True, False], [0.9, 0.2])
    0.025
    """
    if not scores:
        return None
    errors = [(score - label) ** 2 for label, score in zip(labels, scores, strict=True)]
    return round_score(math.fsum(errors) / len(errors))


class ReliabilityBin(NamedTuple):
    """Scores from `low` to below `high` (the last one's upper edge belongs to it)."""

    low: float
    high: float
    n: int
    mean_score: float | None
    share_of_passes: float | None


def reliability_table(
    labels: Sequence[bool], scores: Sequence[float], *, bins: int = 5
) -> list[ReliabilityBin]:
    """Return what share of items is true in each range of scores.

    >>> [entry.n for entry in reliability_table([True, False, True], [0.1, 0.15, 1.0])]
    [2, 0, 0, 0, 1]
    """
    table = []
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = [
            (score, label)
            for label, score in zip(labels, scores, strict=True)
            if min(int(score * bins), bins - 1) == number
        ]
        n = len(inside)
        table.append(
            ReliabilityBin(
                round_score(low),
                round_score(high),
                n,
                round_score(math.fsum(score for score, _ in inside) / n) if n else None,
                round_score(sum(label for _, label in inside) / n) if n else None,
            )
        )
    return table


def fleiss_kappa(ratings: Sequence[Sequence[bool]]) -> float | None:
    """Return Fleiss' kappa of repeated pass or fail judgements: 1 agrees, 0 is chance.

    Source: J. L. Fleiss, Psychological Bulletin 76 (1971), 378-382.

    Args:
        ratings: a row of judgements for each item, all equally many, two at least.

    Returns:
        None where it is not defined: fewer than two judgements, or all of them the same.

    >>> fleiss_kappa([[True, True], [False, False], [True, False], [True, True]])
    0.4667
    """
    if not ratings or len(ratings[0]) < 2:  # noqa: PLR2004 - one can't agree
        return None
    n = len(ratings[0])
    if any(len(row) != n for row in ratings):
        raise ValueError("every item needs as many judgements as the others")
    passes = np.array([sum(row) for row in ratings], dtype=np.float64)
    within = float(
        ((passes * (passes - 1) + (n - passes) * (n - passes - 1)) / (n * (n - 1))).mean()
    )
    share = float(passes.mean()) / n
    by_chance = share**2 + (1 - share) ** 2
    return None if by_chance == 1 else round_score((within - by_chance) / (1 - by_chance))


def krippendorff_alpha(ratings: Sequence[Sequence[float]]) -> float | None:
    """Return Krippendorff's alpha of repeated scores, on the interval scale.

    Source: K. Krippendorff, Content Analysis (2004), chapter 11: one minus the mean squared
    difference within items over that among all scores.

    Args:
        ratings: a row of scores for each item, two or more; rows may differ in length.

    Returns:
        None where it is not defined: no item with two scores, or all scores the same.

    >>> krippendorff_alpha([[0.1, 0.1], [0.9, 0.9], [0.5, 0.5]])
    1.0
    """
    rows = [np.asarray(row, dtype=np.float64) for row in ratings if len(row) > 1]
    if not rows:
        return None
    everything = np.concatenate(rows)
    total = len(everything)
    within = sum(2 * _squared_differences(row) / (len(row) - 1) for row in rows) / total
    among = 2 * _squared_differences(everything) / (total * (total - 1))
    return None if among == 0 else round_score(1 - within / among)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> float:
    """Return the exact two-sided p-value of McNemar's test: are two judges right equally often?

    Only the items on which one is right and the other wrong count; under the hypothesis each of
    these is a fair coin.

    Source: Q. McNemar, Psychometrika 12 (1947), 153-157; exact by the binomial distribution.

    Args:
        first: whether the first is right about each item.
        second: the same of the second.

    >>> mcnemar([True] * 6 + [False], [False] * 6 + [True])
    0.125
    """
    only_first = sum(a and not b for a, b in zip(first, second, strict=True))
    only_second = sum(b and not a for a, b in zip(first, second, strict=True))
    n = only_first + only_second
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return round_score(min(1.0, 2 * tail / 2**n))


def _by_label(
    labels: Sequence[bool], scores: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    truth = np.asarray(labels, dtype=bool)
    numbers = np.asarray(scores, dtype=np.float64)
    if truth.shape != numbers.shape:
        raise ValueError(f"{truth.size} labels do not go with {numbers.size} scores")
    return numbers[truth], numbers[~truth]


def _share_above(passed: NDArray[np.float64], failed: NDArray[np.float64]) -> float:
    ordered = np.sort(failed)
    below = np.searchsorted(ordered, passed, side="left")
    up_to = np.searchsorted(ordered, passed, side="right")
    return float((below + up_to).sum()) / (2 * len(passed) * len(failed))


def _squared_differences(values: NDArray[np.float64]) -> float:
    """Over all pairs, each once: n times the sum of squares less the square of the sum."""
    centred = values - values.mean()
    return float(len(values) * (centred @ centred) - centred.sum() ** 2)
