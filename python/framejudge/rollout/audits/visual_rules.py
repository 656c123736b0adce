"""What a model's visual review may say: exact keys, rules between fields, and words it may not use.

Nothing is repaired; the first rule that does not hold is the reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from framejudge.errors import ConfigurationError, JudgeReplyError
from framejudge.judge.parsing import strict_json
from framejudge.schemas.visual_review import (
    ArmReview,
    Assertion,
    PairedComparison,
    PairedReview,
    SingleReview,
    Usefulness,
)

__all__ = ["PARSER", "parse_paired", "parse_single", "refuse_source_words"]

PARSER = "npa_vlm_visual_review_hosted_json_v1"

# They would tell which source is which.
_SOURCE_WORDS = re.compile(r"\b(baseline|candidate|current)\b", re.IGNORECASE)
_VIRTUES = r"(?:benefits?|correctness|safety|performance|success)"
_PROOFS = r"(?:measured|prove[ns]|validated|certified|established)"
_CLAIMS = (
    re.compile(rf"\b{_VIRTUES}\b(?P<between>(?:\W+\w+){{0,4}}?)\W+{_PROOFS}\b", re.IGNORECASE),
    re.compile(rf"\b{_PROOFS}\b(?P<between>(?:\W+\w+){{0,3}}?)\W+{_VIRTUES}\b", re.IGNORECASE),
)
_NEGATION = re.compile(r"\b(?:not|no|never|cannot|without|un\w+|isn't|can't)\b", re.IGNORECASE)
_CORRESPONDING = {
    "A": "materially_better",
    "B": "materially_better",
    "tie": "equivalent",
    "unresolved": "unresolved",
}

Reviewed = TypeVar("Reviewed", bound=BaseModel)


def parse_single(content: str, frame_ids: Sequence[str]) -> SingleReview:
    """Read the review of one source.

    Args:
        content: the answer's text: one bare JSON object.
        frame_ids: of the frames that were sent.

    Raises:
        JudgeReplyError: the first rule that does not hold.
    """
    found = _model(SingleReview, content)
    _check_arm(found.arm, set(frame_ids), "arm")
    return found


def parse_paired(content: str, a_ids: Sequence[str], b_ids: Sequence[str]) -> PairedReview:
    """Read the review of two; see `parse_single`.

    Args:
        content: the answer's text.
        a_ids: of the frames of set A.
        b_ids: of set B.
    """
    found = _model(PairedReview, content)
    _check_arm(found.A, set(a_ids), "A")
    _check_arm(found.B, set(b_ids), "B")
    _check_comparison(found.comparison, set(a_ids), set(b_ids))
    return found


def refuse_source_words(name: str, text: str) -> None:
    """Refuse a text of the user's that would tell the model which source is which.

    Raises:
        ConfigurationError: the word.
    """
    found = _SOURCE_WORDS.search(text)
    if found:
        raise ConfigurationError(
            f"{name}: must not contain {found.group(0)!r}; to the model the sets are A and B"
        )


def _model(kind: type[Reviewed], content: str) -> Reviewed:
    try:
        found = strict_json(content)
    except ValueError as error:
        _reject(f"the review is not one bare JSON object: {error}")
    for text in _texts(found):
        word = _SOURCE_WORDS.search(text)
        if word:
            _reject(f"a text uses the word {word.group(0)!r}")
        _refuse_claims(text)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the review"
        _reject(f"{place}: {first['msg']}")


def _texts(found: Any) -> Iterator[str]:
    if isinstance(found, str):
        yield found
    elif isinstance(found, dict):
        for key, value in found.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(found, list):
        for value in found:
            yield from _texts(value)


def _refuse_claims(text: str) -> None:
    """A picture measures nothing: prose that says so is no observation."""
    for claim in _CLAIMS:
        found = claim.search(text)
        before = text[max(0, found.start() - 24) : found.start()] if found else ""
        if found and not _NEGATION.search(before) and not _NEGATION.search(found["between"]):
            _reject(f"a text claims what no frame can show: {found.group(0)!r}")


def _check_arm(arm: ArmReview, known: set[str], where: str) -> None:
    for assertion in _assertions(arm):
        _check_ids(assertion.frame_ids, known, where)
    fidelity = arm.artifact_fidelity
    if (fidelity.status == "issues_visible") != bool(fidelity.issues):
        _reject(f"{where}: issues_visible goes with issues, and only with them")
    view = arm.reviewability
    if view.status == "reviewable" and not view.strengths:
        _reject(f"{where}: reviewable needs a strength")
    if view.status != "reviewable" and not view.limitations:
        _reject(f"{where}: {view.status} needs a limitation")
    if view.status == "unreviewable" and view.strengths:
        _reject(f"{where}: unreviewable has no strengths")
    _check_usefulness(arm.physical_ai_usefulness, where)


def _check_usefulness(found: Usefulness, where: str) -> None:
    filled = (
        found.downstream_operation,
        found.required_properties,
        found.hypothesis,
        found.measured_consumer_test_needed,
    )
    if found.status == "unsupported" and any(filled):
        _reject(f"{where}: an unsupported usefulness names no operation, property or test")
    if found.status != "unsupported" and not all(filled):
        _reject(f"{where}: a {found.status} usefulness names operation, properties and test")


def _check_comparison(found: PairedComparison, a_ids: set[str], b_ids: set[str]) -> None:
    if _CORRESPONDING[found.preferred_set] != found.visible_evidence_difference:
        _reject(
            f"comparison: preferred_set {found.preferred_set} does not go with "
            f"{found.visible_evidence_difference}"
        )
    for one in found.observations:
        if not one.A_frame_ids and not one.B_frame_ids:
            _reject("comparison: an observation names no frame")
        _check_ids(one.A_frame_ids, a_ids, "comparison")
        _check_ids(one.B_frame_ids, b_ids, "comparison")


def _check_ids(found: list[str], known: set[str], where: str) -> None:
    if len(set(found)) != len(found):
        _reject(f"{where}: a frame is named twice: {found}")
    unknown = [name for name in found if name not in known]
    if unknown:
        _reject(f"{where}: names frames that were not sent: {unknown}")


def _assertions(arm: ArmReview) -> Iterator[Assertion]:
    yield from arm.task_evidence.observations
    yield from (issue.assertion for issue in arm.artifact_fidelity.issues)
    yield from arm.reviewability.strengths
    yield from arm.reviewability.limitations
    yield from arm.impressiveness.visible_basis
    yield from arm.physical_ai_usefulness.visible_basis


def _reject(why: str) -> NoReturn:
    raise JudgeReplyError(why)
