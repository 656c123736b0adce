"""What no artifact can show, as sentences under ids that do not change."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "JUDGE_COMPARISON_LIMITATIONS",
    "LIMITATIONS",
    "PREFERENCE_LIMITATIONS",
    "limitation_sentences",
]

LIMITATIONS: dict[str, str] = {
    # compare-judges
    "audit_agreement_qualifies_no_judge": (
        "That two judges agree qualifies neither of them; both may be wrong in the same way."
    ),
    "audit_disagreement_is_no_ambiguity": (
        "That two judges disagree does not make the scene ambiguous; one weak judge is enough."
    ),
    "audit_one_answer_per_judge": (
        "Each judge answered once; how much its answers vary was not measured."
    ),
    "audit_no_defence_against_in_image_instructions": (
        "Nothing here keeps a judge from following text that appears inside an image."
    ),
    "audit_no_proof_of_absent_defects": (
        "A visible critical defect that no judge named may be there all the same."
    ),
    "audit_frames_are_a_sample": (
        "The judges saw the listed frames, scaled down; what lies between them, and structures "
        "thinner than a pixel of theirs, were not seen."
    ),
    "audit_no_operational_rate": (
        "One comparison says nothing about how often judges err, agree or disagree in use."
    ),
    # compare-preference
    "preference_is_no_measurement": (
        "A preference between two images measures neither task success nor physical correctness "
        "nor safety."
    ),
    "preference_order_and_chance_not_separated": (
        "Each order was asked once, so that an effect of the order can't be told from answers "
        "that vary by chance."
    ),
    "preference_one_judge": (
        "One model under one rubric preferred; that it is consistent does not make it right."
    ),
    "preference_no_defence_against_in_image_instructions": (
        "The judge is told to take text inside an image as part of the scene; that is a request, "
        "not a defence against it."
    ),
    "preference_blinding_covers_labels_only": (
        "Labels and metadata hide which image is which; what can be seen in the images may not."
    ),
    "preference_inputs_not_shown_to_match": (
        "That both images show the same scene under the same conditions was not checked."
    ),
}

JUDGE_COMPARISON_LIMITATIONS = (
    "audit_agreement_qualifies_no_judge",
    "audit_disagreement_is_no_ambiguity",
    "audit_one_answer_per_judge",
    "audit_no_defence_against_in_image_instructions",
    "audit_no_proof_of_absent_defects",
    "audit_frames_are_a_sample",
    "audit_no_operational_rate",
)
PREFERENCE_LIMITATIONS = (
    "preference_is_no_measurement",
    "preference_order_and_chance_not_separated",
    "preference_one_judge",
    "preference_no_defence_against_in_image_instructions",
    "preference_blinding_covers_labels_only",
    "preference_inputs_not_shown_to_match",
)


def limitation_sentences(ids: Iterable[str]) -> list[str]:
    """Return the sentences of some ids, in their order.

    >>> limitation_sentences(["audit_one_answer_per_judge"])
    ['Each judge answered once; how much its answers vary was not measured.']
    """
    return [LIMITATIONS[name] for name in ids]
