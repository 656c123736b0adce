"""A private qualitative record of what a model saw: five dimensions of one source, or of two.

It never touches a score or a gate. What a model may answer is `ArmReview` and `PairedReview`, whose
keys are exact; the rest is what the audit keeps around it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from framejudge.schemas.rollout import FrameEvidence, FrameSelection, ProviderEvidence, SourceKind

__all__ = [
    "ArmReview",
    "Assertion",
    "BaselineComparison",
    "PairedReview",
    "ReviewError",
    "ReviewOutcome",
    "SourceManifest",
    "VisualReview",
]

Prose = Annotated[str, StringConstraints(strip_whitespace=False, min_length=1, pattern=r"\S")]
SetName = Literal["A", "B", "tie", "unresolved"]


class _Answer(BaseModel):
    """Of the model: every key must be there, none may be added, no type is converted."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Assertion(_Answer):
    """What is seen, and in which frames."""

    text: Prose
    frame_ids: list[str] = Field(min_length=1)


class TaskEvidence(_Answer):
    """What the frames show of the task."""

    visible_status: Literal["complete", "partial", "failure", "unclear", "no_evidence"]
    observations: list[Assertion] = Field(min_length=1)
    hidden_state_limits: list[Prose] = Field(min_length=1)


class FidelityIssue(_Answer):
    """Something in the content that can't be right."""

    category: Literal[
        "unsupported_geometry",
        "misalignment",
        "hallucinated_detail",
        "label_inconsistency",
        "temporal_defect",
        "other",
    ]
    severity: Literal["critical", "major", "minor", "unclear"]
    assertion: Assertion


class ArtifactFidelity(_Answer):
    """Whether the content holds together."""

    status: Literal["no_visible_issue", "issues_visible", "unclear"]
    issues: list[FidelityIssue]
    uncertainty: Prose


class Reviewability(_Answer):
    """Whether the frames let anybody judge."""

    status: Literal["reviewable", "limited", "unreviewable"]
    strengths: list[Assertion]
    limitations: list[Assertion]


class Impressiveness(_Answer):
    """How it strikes the eye; no measure of anything else."""

    status: Literal["strong", "moderate", "limited", "none", "unresolved"]
    visible_basis: list[Assertion] = Field(min_length=1)
    cosmetic_only: bool


class Usefulness(_Answer):
    """What it might be good for: a hypothesis that a test would have to confirm."""

    status: Literal["plausible", "unsupported", "unresolved"]
    visible_basis: list[Assertion] = Field(min_length=1)
    downstream_operation: Prose | None
    required_properties: list[Prose]
    hypothesis: Prose | None
    measured_consumer_test_needed: Prose | None


class ArmReview(_Answer):
    """One source in five dimensions."""

    task_evidence: TaskEvidence
    artifact_fidelity: ArtifactFidelity
    reviewability: Reviewability
    impressiveness: Impressiveness
    physical_ai_usefulness: Usefulness

    def stored(self) -> dict[str, Any]:
        """Return the review as reports hold it."""
        found = self.model_dump(mode="json")
        found["physical_ai_usefulness"]["confirmation_status"] = "hypothesis_only"
        return found

    def signature(self) -> tuple[Any, ...]:
        """Return what two reviews of the same frames must have in common: no prose."""
        issues = sorted((one.category, one.severity) for one in self.artifact_fidelity.issues)
        return (
            self.task_evidence.visible_status,
            self.artifact_fidelity.status,
            tuple(issues),
            self.reviewability.status,
            self.impressiveness.status,
            self.impressiveness.cosmetic_only,
            self.physical_ai_usefulness.status,
        )


class PairedObservation(_Answer):
    """What tells the sets apart."""

    text: Prose
    A_frame_ids: list[str]
    B_frame_ids: list[str]


class PairedComparison(_Answer):
    """Which set shows more."""

    preferred_set: SetName
    visible_evidence_difference: Literal["materially_better", "equivalent", "unresolved"]
    confidence: Literal["high", "medium", "low"]
    observations: list[PairedObservation] = Field(min_length=1)


class SingleReview(_Answer):
    """The answer about one source."""

    arm: ArmReview


class PairedReview(_Answer):
    """The answer about two."""

    A: ArmReview
    B: ArmReview
    comparison: PairedComparison


class SourceManifest(_Record):
    """Which frames of a source were sent."""

    source_role: Literal["current", "baseline"]
    input_path: str
    frame_selection: FrameSelection
    max_frames: int
    selected_count: int
    source_kind: SourceKind | None
    source_count: int | None
    selected_indices: list[int | None]
    selected_timestamps_s: list[float | None]
    coverage_complete: bool
    timestamps_complete: bool | None
    source_frame_labels: list[str]
    frames: list[FrameEvidence]


class ReviewError(_Record):
    """Why an answer does not count."""

    stage: str
    error_type: str
    message: str


class ReviewOutcome(_Record):
    """One request and what came of it."""

    order_id: Literal["single", "current_as_A", "baseline_as_A"]
    A_arm: Literal["current", "baseline"]
    B_arm: Literal["current", "baseline"] | None
    transport_request_sha256: str
    requested_at: str
    frame_ids: dict[str, str]
    """The neutral id of each frame sent, and the SHA-256 of its bytes, in order."""
    provider: ProviderEvidence | None
    review: dict[str, Any] | None
    error: ReviewError | None


class BaselineComparison(_Record):
    """What both orders say of the two sources."""

    current_vs_baseline: Literal[
        "materially_better", "worse", "equivalent", "unresolved", "not_provided"
    ]
    agreement_eligible: bool
    observations: list[dict[str, Any]]


class VisualReview(_Record):
    """`vlm_visual_review.json`."""

    schema_version: Literal["npa_vlm_visual_review_v1"] = "npa_vlm_visual_review_v1"
    status: Literal[
        "judge_error",
        "unresolved",
        "low_confidence",
        "order_disagreement_or_nondeterminism",
        "dimension_disagreement",
        "completed",
    ]
    escalation_required: bool
    attempt_count: int
    deployment_status: Literal["audit_only"] = "audit_only"
    score_gate_affected: Literal[False] = False
    normalized_task_completion_score: None = None
    model: str
    task: str
    rubric: str
    input_path: str
    baseline_path: str | None
    output_path: str
    result_uri: str
    objective_evidence_status: Literal["references_provided_unverified", "not_provided"]
    objective_evidence_references: list[str]
    matched_view_status: Literal["provided_unverified", "not_provided"]
    matched_view_map: dict[str, Any]
    current_manifest: SourceManifest
    baseline_manifest: SourceManifest | None
    current_review: dict[str, Any] | None
    baseline_review: dict[str, Any] | None
    baseline_comparison: BaselineComparison
    outcomes: list[ReviewOutcome]
    generated_at: str
    limitations: list[str]
    limitation_ids: list[str]

    def summary(self) -> dict[str, Any]:
        """Return what may be shown on a console."""
        return {
            "schema_version": self.schema_version,
            "status": self.status,
            "escalation_required": self.escalation_required,
            "attempt_count": self.attempt_count,
            "model": self.model,
        }
