"""From labels and scores to rates, ranks and a threshold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from framejudge.metrics.agreement import fleiss_kappa, krippendorff_alpha
from framejudge.metrics.stats import wilson_interval
from framejudge.schemas.benchmark import (
    BenchmarkCase,
    BenchmarkMetrics,
    ConfigResult,
    ConfusionMatrix,
    Predictions,
    Repeatability,
    ThresholdProposal,
)
from framejudge.schemas.numbers import round_score

__all__ = ["metrics_of", "propose_threshold", "ranked", "repeatability_of"]

_CONFIDENCE = 0.95


def metrics_of(cases: Sequence[BenchmarkCase]) -> BenchmarkMetrics:
    """Count one configuration's cases, in the dataset's order.

    Rates are rounded to four decimals; balanced accuracy is half the sum of the rounded recall and
    specificity; a rate of nothing is None.
    """
    kinds = [(case.expected_label, case.predicted_label) for case in cases]
    tp, tn = kinds.count((True, True)), kinds.count((False, False))
    fp, fn = kinds.count((False, True)), kinds.count((True, False))
    recall, specificity = _share(tp, tp + fn), _share(tn, tn + fp)
    both = recall is not None and specificity is not None
    accuracy = round_score((tp + tn) / len(cases))
    return BenchmarkMetrics(
        total=len(cases),
        correct=tp + tn,
        agreement=accuracy,
        accuracy=accuracy,
        precision=_share(tp, tp + fp),
        recall=recall,
        f1=_share(2 * tp, 2 * tp + fp + fn),
        true_positives=tp,
        true_negatives=tn,
        false_positives=fp,
        false_negatives=fn,
        confusion_matrix=ConfusionMatrix(
            actual_positive=Predictions(predicted_positive=tp, predicted_negative=fn),
            actual_negative=Predictions(predicted_positive=fp, predicted_negative=tn),
        ),
        false_positive_rate=_share(fp, fp + tn),
        false_negative_rate=_share(fn, fn + tp),
        false_positive_item_ids=_ids(cases, expected=False),
        false_negative_item_ids=_ids(cases, expected=True),
        specificity=specificity,
        balanced_accuracy=round_score(((recall or 0) + (specificity or 0)) / 2) if both else None,
        intervals={
            "accuracy": _interval(tp + tn, len(cases)),
            "precision": _interval(tp, tp + fp),
            "recall": _interval(tp, tp + fn),
            "specificity": _interval(tn, tn + fp),
            "false_positive_rate": _interval(fp, fp + tn),
            "false_negative_rate": _interval(fn, fn + tp),
        },
    )


def ranked(results: Sequence[ConfigResult]) -> list[ConfigResult]:
    """Sort configurations, best first, and number them.

    By balanced accuracy, accuracy, F1, precision and recall, the larger first and None last; then
    by fewer false positives, fewer false negatives, the smaller threshold, model and rubric.
    """
    ordered = sorted(results, key=_rank_key)
    return [
        result.model_copy(update={"rank": rank}) for rank, result in enumerate(ordered, start=1)
    ]


def propose_threshold(labels: Sequence[bool], scores: Sequence[float]) -> ThresholdProposal:
    """Find the threshold that tells passes from fails best, and what to expect of it elsewhere.

    Candidates lie half-way between neighbouring scores. The best balanced accuracy wins; of equals
    the one with the widest gap around it, then the highest. That figure flatters, as the threshold
    was made for these items: beside it stands the one in which each item is judged by a threshold
    chosen without it.

    Args:
        labels: what is expected of each item; both kinds are among them.
        scores: their scores, in [0, 1].

    >>> propose_threshold([True, True, False, False], [0.9, 0.8, 0.4, 0.1]).threshold
    0.6
    """
    threshold = _best_threshold(labels, scores)
    in_sample = _balanced(labels, [score >= threshold for score in scores])
    predictions = []
    for left_out in range(len(scores)):
        rest = [k for k in range(len(scores)) if k != left_out]
        rest_labels = [labels[k] for k in rest]
        if len(set(rest_labels)) == 1:  # it was the only one of its kind
            break
        chosen = _best_threshold(rest_labels, [scores[k] for k in rest])
        predictions.append(scores[left_out] >= chosen)
    whole = len(predictions) == len(scores)
    return ThresholdProposal(
        threshold=threshold,
        balanced_accuracy=round_score(in_sample),
        left_out_balanced_accuracy=round_score(_balanced(labels, predictions)) if whole else None,
    )


def repeatability_of(
    scores: dict[str, list[float]], threshold: float, n_repeats: int
) -> Repeatability | None:
    """Say how far repeated answers agree; None where nothing was repeated."""
    if n_repeats == 1:
        return None
    return Repeatability(
        n_repeats=n_repeats,
        scores=scores,
        spread={name: round_score(max(row) - min(row)) for name, row in scores.items()},
        fleiss_kappa=fleiss_kappa(
            [[score >= threshold for score in row] for row in scores.values()]
        ),
        krippendorff_alpha=krippendorff_alpha(list(scores.values())),
    )


def _share(part: int, whole: int) -> float | None:
    return round_score(part / whole) if whole else None


def _interval(part: int, whole: int) -> tuple[float, float] | None:
    return wilson_interval(part, whole, _CONFIDENCE) if whole else None


def _ids(cases: Sequence[BenchmarkCase], *, expected: bool) -> list[str]:
    return [
        case.item_id
        for case in cases
        if case.expected_label is expected and case.predicted_label is not expected
    ]


def _rank_key(result: ConfigResult) -> tuple[object, ...]:
    metrics, config = result.metrics, result.config
    rates = (
        metrics.balanced_accuracy,
        metrics.accuracy,
        metrics.f1,
        metrics.precision,
        metrics.recall,
    )
    return (
        *(1.0 if rate is None else -rate for rate in rates),
        metrics.false_positives,
        metrics.false_negatives,
        config.success_threshold,
        config.model,
        config.rubric_name,
    )


def _best_threshold(labels: Sequence[bool], scores: Sequence[float]) -> float:
    truth, numbers = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    levels = np.unique(np.concatenate([numbers, [0.0, 1.0]]))
    # Half-way between two scores that differ in the last decimal, rounding may give either.
    between = np.array([round_score(middle) for middle in (levels[:-1] + levels[1:]) / 2])
    candidates = np.concatenate([between, levels])
    gaps = np.concatenate([np.diff(levels), np.zeros(len(levels))])
    passes, fails = np.sort(numbers[truth]), np.sort(numbers[~truth])
    recall = 1 - np.searchsorted(passes, candidates, side="left") / len(passes)
    specificity = np.searchsorted(fails, candidates, side="left") / len(fails)
    best = np.lexsort([candidates, gaps, np.round(recall + specificity, 12)])[-1]
    return float(candidates[best])


def _balanced(labels: Sequence[bool], predictions: Sequence[bool]) -> float:
    passes = [guess for label, guess in zip(labels, predictions, strict=True) if label]
    fails = [not guess for label, guess in zip(labels, predictions, strict=True) if not label]
    return math.fsum((sum(passes) / len(passes), sum(fails) / len(fails))) / 2
