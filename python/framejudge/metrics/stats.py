"""Shares and confidence intervals of a session's scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from framejudge.schemas.numbers import SCORE_DECIMALS, round_score

__all__ = ["bootstrap_mean_interval", "rounded_share", "wilson_interval"]

_RESAMPLES = 2000
_SEED = 20260317
_BOOTSTRAP_UP_TO = 5000
_DRAWS_AT_ONCE = 1 << 21


def rounded_share(part: int, whole: int) -> float:
    """Return part / whole to four decimals; neither 0 nor 1 unless it is exactly that.

    A gate at zero must see one flagged frame in a million.

    >>> rounded_share(1, 3), rounded_share(1, 1_000_000), rounded_share(0, 7)
    (0.3333, 0.0001, 0.0)
    """
    step = 10.0**-SCORE_DECIMALS
    share = round_score(part / whole)
    return min(max(share, step), round_score(1 - step)) if 0 < part < whole else share


def wilson_interval(successes: int, trials: int, confidence: float) -> tuple[float, float]:
    """Return the Wilson score interval of a proportion.

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927), 209-212.

    >>> wilson_interval(1, 2, 0.95)
    (0.0945, 0.9055)
    """
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    margin = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    low, high = max(0.0, (centre - margin) / scale), min(1.0, (centre + margin) / scale)
    return round_score(low), round_score(high)


def bootstrap_mean_interval(
    values: Sequence[float], confidence: float
) -> tuple[float, float] | None:
    """Return the percentile bootstrap interval of a mean; None below two values.

    2,000 resamples from a fixed seed. Above 5,000 values the normal approximation takes over, as
    resampling would cost seconds there.

    Source: B. Efron, Annals of Statistics 7 (1979), 1-26.
    """
    if len(values) < 2:  # noqa: PLR2004 - one value has no spread
        return None
    sample = np.asarray(values, dtype=np.float64)
    if sample.size > _BOOTSTRAP_UP_TO:
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        half = z * float(sample.std(ddof=1)) / math.sqrt(sample.size)
        low, high = float(sample.mean()) - half, float(sample.mean()) + half
    else:
        rng = np.random.default_rng(_SEED)
        means = np.empty(_RESAMPLES)
        step = max(1, _DRAWS_AT_ONCE // sample.size)
        for start in range(0, _RESAMPLES, step):
            rows = min(step, _RESAMPLES - start)
            means[start : start + rows] = rng.choice(sample, (rows, sample.size)).mean(axis=1)
        tail = (1 - confidence) / 2
        low, high = (float(q) for q in np.quantile(means, [tail, 1 - tail]))
    return round_score(max(0.0, low)), round_score(min(1.0, high))
