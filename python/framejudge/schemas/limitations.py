"""What an artifact does not show: one sentence under a stable id, the same wherever it applies."""

from __future__ import annotations

from typing import TypedDict

__all__ = ["LIMITATIONS", "Limits", "limits"]

LIMITATIONS = {
    "sampled_frames_only": (
        "The judge saw the listed frames only; what happened between them was not observed."
    ),
    "one_sample_no_proof": (
        "One model, one rubric and one threshold gave this score; it is no proof of safety or "
        "physics."
    ),
    "mean_is_no_rate": (
        "The gate compares the mean score with the threshold; it is no rate of single rollouts."
    ),
    "loop_sampled_frames": (
        "The judge saw chosen frames of each rollout; what happened between them was not observed."
    ),
    "scores_no_proof": ("The scores do not show that the rollouts were physically right or safe."),
    "no_call_stub": (
        "No VLM call was made: the score comes from the stub and is for testing pipelines only."
    ),
    "no_call_override": (
        "No VLM call was made: the score comes from the option --score and is for testing "
        "pipelines only."
    ),
    "no_calls_stub": (
        "No VLM call was made: the scores are the stub's, for testing pipelines only."
    ),
    "stored_answer": (
        "No new call was made: this is the stored answer to an earlier identical request."
    ),
    "caller_labels": (
        "The expected labels are the caller's; nothing here shows that a person set them, or "
        "independently of the model."
    ),
    "one_dataset": (
        "Every rate describes these items alone; none is an error rate in operation, and none "
        "shows physical correctness or safety."
    ),
    "one_call_per_item": (
        "Each item was asked once for a model and a rubric, and that score was compared with every "
        "threshold: configurations that differ by the threshold alone are not independent."
    ),
    "some_fixture_scores": (
        "Some scores were recorded in the dataset (score_source fixture); no model was asked for "
        "them."
    ),
    "some_stub_scores": (
        "Some scores are the deterministic stub's (score_source stub); no model was asked for them."
    ),
    "threshold_from_same_items": (
        "The threshold was chosen on these very items; the estimate that leaves each one out is "
        "the one to expect elsewhere, and it is rough where items are few."
    ),
    "repeats_first_counts": (
        "The first answer to each item is the one that is scored; the others only show the spread."
    ),
    "controls_no_error_rate": (
        "A handful of controls shows whether the judge falls for them; it estimates no error rate "
        "and qualifies no model."
    ),
    "controls_need_a_reader": (
        "Whether a rationale is grounded in the frames is for a person to judge, who sees both."
    ),
    # review-visual
    "review_is_for_a_reader": (
        "This is a record for a person to read; it gates nothing and qualifies no deployment."
    ),
    "review_holds_no_score": (
        "It describes what can be seen; it holds no score and touches no gate."
    ),
    "review_frames_are_a_sample": (
        "The model saw the listed frames, scaled down; what lies between them was not seen."
    ),
    "review_no_defence_against_in_image_instructions": (
        "Nothing here keeps the model from following text that appears inside an image."
    ),
    "review_signatures_are_not_prose": (
        "Equal ratings do not mean that the texts agree: both answers are kept, read both."
    ),
    "review_order_and_chance_not_separated": (
        "One request in each order can't tell an effect of the order from chance."
    ),
    "review_impression_is_subjective": (
        "How impressive something looks is one model's impression and measures nothing."
    ),
    "review_usefulness_is_a_hypothesis": (
        "A use that is named is a hypothesis; only a measured test with its consumer confirms it."
    ),
    "review_references_unverified": (
        "References and matched views are kept as they were given; they were neither sent nor "
        "verified."
    ),
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


class Limits(TypedDict):
    """The two fields of an artifact; the ids are additive."""

    limitations: list[str]
    limitation_ids: list[str]


def limits(*ids: str) -> Limits:
    """Return sentences and ids, in the order given.

    >>> limits("no_calls_stub")["limitation_ids"]
    ['no_calls_stub']
    """
    return {"limitations": [LIMITATIONS[name] for name in ids], "limitation_ids": list(ids)}
