"""Checks of the metrics' options: ranges, and keywords that look like a misspelt one."""

from __future__ import annotations

import math
from collections.abc import Iterable

from framejudge.errors import ConfigurationError

__all__ = ["OPTIONS", "check_share", "check_spelling"]

# Of the metrics and of score().
OPTIONS = (
    "retriever",
    "scorer",
    "threshold",
    "max_hallucination_rate",
    "reference",
    "confidence",
    "progress",
    "verbose",
)
_NEAR = 2
_MOST = 0.9999  # nearer to 1, an interval is everything


def check_share(name: str, value: float, *, open_ends: bool = False) -> float:
    """Return a share as float.

    Raises:
        ConfigurationError: it is no number in [0, 1], or with `open_ends` above 0 and below 1.
    """
    accepted = f"a number in (0, {_MOST}]" if open_ends else "a number in [0, 1]"
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    inside = 0 < number <= _MOST if open_ends else 0 <= number <= 1
    if not inside:
        raise ConfigurationError(f"{name} is {value!r}; accepted: {accepted}")
    return number


def check_spelling(keywords: Iterable[str]) -> None:
    """Refuse a keyword that is within edit distance 2 of one of ours.

    A retriever that takes any keyword would swallow it, and the default would be used unseen.

    Raises:
        ConfigurationError: names the option that was probably meant.
    """
    for keyword in keywords:
        if keyword in OPTIONS:
            raise ConfigurationError(f"{keyword!r} is no option here")
        near = min(OPTIONS, key=lambda option: edit_distance(keyword, option))
        if edit_distance(keyword, near) <= _NEAR:
            raise ConfigurationError(
                f"unexpected keyword {keyword!r}: did you mean {near!r}? "
                "(a retriever's own option needs a name less like it)"
            )


def edit_distance(left: str, right: str) -> int:
    """Return the Levenshtein distance of two words.

    >>> edit_distance("treshold", "threshold"), edit_distance("scoer", "scorer")
    (1, 1)
    """
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, start=1):
        previous, row[0] = row[0], i
        for j, b in enumerate(right, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (a != b))
    return row[-1]
