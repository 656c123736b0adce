"""What the outcomes of a visual review add up to: a status, never a score."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from framejudge.schemas.limitations import limits
from framejudge.schemas.visual_review import (
    ArmReview,
    BaselineComparison,
    PairedReview,
    ReviewOutcome,
    SingleReview,
    VisualReview,
)

__all__ = ["make_review"]

_LIMITATIONS = (
    "review_is_for_a_reader",
    "review_holds_no_score",
    "review_frames_are_a_sample",
    "review_no_defence_against_in_image_instructions",
    "review_signatures_are_not_prose",
    "review_order_and_chance_not_separated",
    "review_impression_is_subjective",
    "review_usefulness_is_a_hypothesis",
    "review_references_unverified",
)

Parsed = Sequence[SingleReview | PairedReview | None]
Mapped = Literal["current", "baseline", "tie", "unresolved"]


def make_review(
    context: dict[str, Any], outcomes: list[ReviewOutcome], parsed: Parsed
) -> VisualReview:
    """Put outcomes together.

    Args:
        context: the fields that do not depend on them.
        outcomes: one for each request, in the order sent.
        parsed: what each says, None where it does not count.
    """
    status = _status(outcomes, parsed)
    arms = _arms(outcomes[0], parsed[0])
    return VisualReview(
        status=status,
        escalation_required=status != "completed",
        attempt_count=len(outcomes),
        current_review=arms["current"].stored() if "current" in arms else None,
        baseline_review=arms["baseline"].stored() if "baseline" in arms else None,
        baseline_comparison=_comparison(status, outcomes, parsed),
        outcomes=outcomes,
        generated_at=datetime.now(UTC).isoformat(),
        **context,
        **limits(*_LIMITATIONS),
    )


def _status(outcomes: Sequence[ReviewOutcome], parsed: Parsed) -> Any:
    whole = [one for one in parsed if one is not None]
    if len(whole) < len(parsed):
        return "judge_error"
    arms = [_arms(outcome, one) for outcome, one in zip(outcomes, whole, strict=True)]
    paired = [one for one in whole if isinstance(one, PairedReview)]
    unclear = any(
        arm.task_evidence.visible_status == "unclear" for each in arms for arm in each.values()
    )
    if unclear or any(one.comparison.preferred_set == "unresolved" for one in paired):
        return "unresolved"
    if any(one.comparison.confidence != "high" for one in paired):
        return "low_confidence"
    mapped = {_mapped(outcome, one) for outcome, one in zip(outcomes, paired, strict=False)}
    if len(mapped) > 1:
        return "order_disagreement_or_nondeterminism"
    signatures = {tuple(each[role].signature() for role in sorted(each)) for each in arms}
    return "completed" if len(signatures) == 1 else "dimension_disagreement"


def _arms(outcome: ReviewOutcome, one: SingleReview | PairedReview | None) -> dict[str, ArmReview]:
    if one is None:
        return {}
    if isinstance(one, SingleReview):
        return {outcome.A_arm: one.arm}
    return {outcome.A_arm: one.A, str(outcome.B_arm): one.B}


def _mapped(outcome: ReviewOutcome, one: PairedReview) -> str:
    """The preferred source, whichever letter it had."""
    names = {"A": outcome.A_arm, "B": str(outcome.B_arm)}
    return names.get(one.comparison.preferred_set, one.comparison.preferred_set)


def _comparison(
    status: str, outcomes: Sequence[ReviewOutcome], parsed: Parsed
) -> BaselineComparison:
    if outcomes[0].B_arm is None:
        return BaselineComparison(
            current_vs_baseline="not_provided", agreement_eligible=False, observations=[]
        )
    observations = [
        {"order_id": outcome.order_id, **observation.model_dump(mode="json")}
        for outcome, one in zip(outcomes, parsed, strict=True)
        if isinstance(one, PairedReview)
        for observation in one.comparison.observations
    ]
    mapped = {
        _mapped(outcome, one)
        for outcome, one in zip(outcomes, parsed, strict=True)
        if isinstance(one, PairedReview)
    }
    agreed = status in ("completed", "dimension_disagreement") and len(mapped) == 1
    said: dict[str, Any] = {
        "current": "materially_better",
        "baseline": "worse",
        "tie": "equivalent",
    }
    return BaselineComparison(
        current_vs_baseline=said[mapped.pop()] if agreed else "unresolved",
        agreement_eligible=status == "completed",
        observations=observations,
    )
