"""How scores are rounded and shown: once, and never in contradiction to the flag beside them."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["SCORE_DECIMALS", "format_percent", "format_score", "round_score"]

SCORE_DECIMALS = 4


def round_score(value: float) -> float:
    """Round to the four decimals that are stored, shown, compared and gated.

    >>> round_score(0.749960)
    0.75
    """
    return round(float(value), SCORE_DECIMALS)


def format_score(value: float, *, below: Iterable[float] = ()) -> str:
    """Show a score with two decimals, or with as many as its comparisons need.

    Args:
        value: a rounded score.
        below: numbers that the score was compared with by `<`; the text compares alike.

    >>> format_score(0.7499), format_score(0.7499, below=[0.75])
    ('0.75', '0.7499')
    """
    edges = list(below)
    for decimals in range(2, SCORE_DECIMALS):
        text = f"{value:.{decimals}f}"
        if all((float(text) < edge) == (value < edge) for edge in edges):
            return text
    return f"{value:.{SCORE_DECIMALS}f}"


def format_percent(value: float, *, edges: Iterable[float] = ()) -> str:
    """Show a share as whole percent, or with as many decimals as its comparisons need.

    Args:
        value: a rounded share in [0, 1].
        edges: numbers that the share was compared with; 0 and 1 always count, so that
            neither "0%" nor "100%" is ever said of a share that is not.

    >>> format_percent(0.5), format_percent(0.0004), format_percent(0.8996, edges=[0.9])
    ('50%', '0.04%', '89.96%')
    """
    bounds = [0.0, 1.0, *edges]
    for decimals in range(2):
        text = f"{value * 100:.{decimals}f}"
        if all(_order(float(text) / 100, edge) == _order(value, edge) for edge in bounds):
            return f"{text}%"
    return f"{value * 100:.2f}%"


def _order(value: float, edge: float) -> int:
    return (value > edge) - (value < edge)
