"""The one table of what a score or a rate means, and of thresholds to start from."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "RATE_BANDS",
    "SIMILARITY_BANDS",
    "THRESHOLDS",
    "Band",
    "rate_band",
    "similarity_band",
]


@dataclass(frozen=True, slots=True)
class Band:
    """A range of values and what it means."""

    name: str
    low: float
    """The lowest value that belongs to the band."""
    meaning: str


# Highest first: a value belongs to the first band whose `low` it reaches.
SIMILARITY_BANDS = (
    Band("near-identical", 0.90, "the descriptions say what the ground truth says"),
    Band("close", 0.75, "minor differences in wording"),
    Band("partial", 0.50, "key details are missing or altered"),
    Band("low", 0.0, "the descriptions diverge from the ground truth"),
)
RATE_BANDS = (
    # The middle band includes 30 % itself, so this one begins at the next rounded rate.
    Band("unreliable", 0.3001, "scene content is made up or missed often"),
    Band("review needed", 0.10, "some frames are missed or made up"),
    Band("reliable", 0.0, "scenes are described accurately"),
)
THRESHOLDS = {"strict": 0.85, "balanced": 0.75, "narrative": 0.65, "lenient": 0.60}


def similarity_band(score: float) -> Band:
    """Return the band of a rounded similarity in [0, 1].

    >>> [similarity_band(s).name for s in (0.9, 0.8999, 0.75, 0.5, 0.4999)]
    ['near-identical', 'close', 'close', 'partial', 'low']
    """
    return next(band for band in SIMILARITY_BANDS if score >= band.low)


def rate_band(rate: float) -> Band:
    """Return the band of a rounded hallucination rate in [0, 1].

    >>> [rate_band(r).name for r in (0.0999, 0.1, 0.3, 0.3001)]
    ['reliable', 'review needed', 'review needed', 'unreliable']
    """
    return next(band for band in RATE_BANDS if rate >= band.low)
