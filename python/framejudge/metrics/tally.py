"""Running numbers of one (session, assistant): enough for a result without keeping its frames."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from framejudge.metrics.frames import Frame
from framejudge.metrics.stats import rounded_share
from framejudge.schemas.numbers import round_score

__all__ = ["Tally"]


@dataclass(slots=True)
class Tally:
    """Counts and sums over frames; add more at any time."""

    threshold: float
    n_total: int = 0
    n_scored: int = 0
    n_flagged: int = 0
    n_truncated: int = 0
    lowest: float = math.inf
    highest: float = -math.inf
    weighted: bool = False
    """Some frame has a weight."""
    _sum: float = 0.0
    _weights: float = 0.0
    _weighted_sum: float = 0.0
    _weighted_flags: float = 0.0

    def add(self, frames: Iterable[Frame]) -> Tally:
        """Count frames in; return the same tally."""
        for frame in frames:
            self.n_total += 1
            self.n_truncated += frame.truncated
            if frame.score is None:
                continue
            flagged = frame.score < self.threshold
            weight = 1.0 if frame.weight is None else frame.weight
            self.n_scored += 1
            self.n_flagged += flagged
            self.lowest = min(self.lowest, frame.score)
            self.highest = max(self.highest, frame.score)
            self.weighted |= frame.weight is not None
            self._sum += frame.score
            self._weights += weight
            self._weighted_sum += weight * frame.score
            self._weighted_flags += weight * flagged
        return self

    @property
    def mean(self) -> float | None:
        """Unweighted mean, four decimals; None without a scored frame."""
        return round_score(self._sum / self.n_scored) if self.n_scored else None

    @property
    def rate(self) -> float | None:
        """Share of scored frames below the threshold; None without a scored frame."""
        return rounded_share(self.n_flagged, self.n_scored) if self.n_scored else None

    @property
    def weighted_mean(self) -> float | None:
        """Weighted mean, a missing weight counting as 1; None when no frame has one."""
        return self._per_weight(self._weighted_sum)

    @property
    def weighted_rate(self) -> float | None:
        """Weighted rate, a missing weight counting as 1; None when no frame has one."""
        return self._per_weight(self._weighted_flags)

    def _per_weight(self, value: float) -> float | None:
        return round_score(value / self._weights) if self.weighted and self._weights > 0 else None
