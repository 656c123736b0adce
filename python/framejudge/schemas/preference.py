"""`vlm_preference_comparison.json`: one judge on two images in both orders, blind to their origin.

Also what the judge must answer, as a record and as the JSON Schema that the prompt shows.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from framejudge.schemas.judge_audit import AuditStage
from framejudge.schemas.rollout import FrameEvidence, ProviderEvidence, canonical_sha256
from framejudge.schemas.verdict import ExitCode

__all__ = [
    "PREFERENCE_REQUEST_SCHEMA",
    "PREFERENCE_SCHEMA",
    "VERDICT_JSON_SCHEMA",
    "CriticalDefects",
    "InputContract",
    "PreferenceError",
    "PreferenceOutcome",
    "PreferenceReport",
    "PreferenceRequestEvidence",
    "PreferenceRequestManifest",
    "PreferenceVerdict",
]

PREFERENCE_SCHEMA = "npa_vlm_preference_comparison_v1"
PREFERENCE_REQUEST_SCHEMA = "npa_vlm_preference_request_evidence_v1"

_SENTENCES = {
    "type": "array",
    "minItems": 1,
    "items": {"type": "string", "pattern": "\\S"},
}
# Written out, as the prompt's hash must not depend on pydantic's version.
VERDICT_JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": [
        "preference",
        "confidence",
        "observable_support",
        "critical_defects",
        "uncertainty",
    ],
    "properties": {
        "preference": {"enum": ["A", "B", "tie", "unresolved"]},
        "confidence": {"enum": ["high", "medium", "low"]},
        "observable_support": _SENTENCES,
        "critical_defects": {
            "type": "object",
            "additionalProperties": False,
            "required": ["A", "B"],
            "properties": {"A": _SENTENCES, "B": _SENTENCES},
        },
        "uncertainty": {"type": "string", "pattern": "\\S"},
    },
}

OrderId = Literal["baseline_as_A", "candidate_as_A"]
Arm = Literal["baseline", "candidate"]
MappedPreference = Literal["baseline", "candidate", "tie", "unresolved"]
PreferenceStatus = Literal[
    "judge_error",
    "unresolved",
    "low_confidence",
    "order_disagreement_or_nondeterminism",
    "consistent_tie",
    "consistent_baseline_preference",
    "consistent_candidate_preference",
]


def _nonblank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


Sentence = Annotated[str, AfterValidator(_nonblank)]
Sentences = Annotated[list[Sentence], Field(min_length=1)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CriticalDefects(_Strict):
    """What is seriously wrong with each image, or that nothing visible is."""

    A: Sentences
    B: Sentences


class PreferenceVerdict(_Strict):
    """What the judge answers; nothing is coerced and no key may be missing or added."""

    preference: Literal["A", "B", "tie", "unresolved"]
    confidence: Literal["high", "medium", "low"]
    observable_support: Sentences
    critical_defects: CriticalDefects
    uncertainty: Sentence


class InputContract(_Record):
    """How the images are related and called."""

    kind: Literal["independent-image-pair"] = "independent-image-pair"
    ordered_labels: tuple[Literal["A"], Literal["B"]] = ("A", "B")


class PreferenceRequestManifest(_Record):
    """The request without anything secret: no key, endpoint, path, prompt or pixels."""

    schema_version: str = PREFERENCE_REQUEST_SCHEMA
    endpoint_role: Literal["hosted-api"] = "hosted-api"
    requested_model: str
    generation_parameters: dict[str, Any]
    prompt_sha256: str
    rubric_sha256: str
    frames: list[FrameEvidence]
    """In the order in which they were shown, under their neutral labels."""
    input_contract: InputContract = InputContract()

    def sha256(self) -> str:
        """Return the SHA-256 of the manifest's canonical JSON."""
        return canonical_sha256(self.model_dump(mode="json"))


class PreferenceRequestEvidence(_Record):
    """What was asked in one order."""

    requested_at: str
    endpoint_role: Literal["hosted-api"]
    prompt_sha256: str
    rubric_sha256: str
    request_manifest_sha256: str
    request_manifest: PreferenceRequestManifest
    frames: list[FrameEvidence]


class PreferenceError(_Record):
    """Why there is no verdict in one order."""

    stage: AuditStage
    error_type: str
    message: str


class PreferenceOutcome(_Record):
    """One order: the request as it was sent, and what came of it."""

    order_id: OrderId
    A_arm: Arm
    B_arm: Arm
    transport_request_sha256: str
    """Of the very bytes that were sent."""
    transport_request: dict[str, Any]
    request: PreferenceRequestEvidence
    provider: ProviderEvidence | None
    verdict: PreferenceVerdict | None
    error: PreferenceError | None

    @property
    def mapped(self) -> MappedPreference | None:
        """The preference in terms of the arms; None without a verdict."""
        if self.verdict is None:
            return None
        arms: dict[str, Arm] = {"A": self.A_arm, "B": self.B_arm}
        preference = self.verdict.preference
        return preference if preference in ("tie", "unresolved") else arms[preference]


class PreferenceReport(_Record):
    """The whole artifact; private, as it holds the images and the judge's words."""

    schema_version: str = PREFERENCE_SCHEMA
    status: PreferenceStatus
    escalation_required: bool
    agreement_eligible: bool
    deployment_status: Literal["audit_only"] = "audit_only"
    operational_rate_estimated: Literal[False] = False
    baseline_path: str
    candidate_path: str
    output_path: str
    result_uri: str
    model: str
    task: str
    rubric: str
    normalized_baseline_sha256: str
    normalized_candidate_sha256: str
    unordered_pair_sha256: str
    """Of the two hashes as a sorted list, in canonical JSON."""
    requests_counterbalanced: Literal[True] = True
    first_order: PreferenceOutcome
    reversed_order: PreferenceOutcome
    mapped_preferences: list[MappedPreference | None]
    """One for each order; never averaged."""
    generated_at: str
    limitations: list[str]
    limitation_ids: list[str]
    """Of the sentences, in their order; additive."""

    def summary(self) -> dict[str, Any]:
        """Return what a console may show: no path, prompt, support, uncertainty, id or answer."""
        return {
            "schema_version": self.schema_version,
            "status": self.status,
            "escalation_required": self.escalation_required,
            "agreement_eligible": self.agreement_eligible,
            "deployment_status": self.deployment_status,
            "operational_rate_estimated": self.operational_rate_estimated,
            "requests_counterbalanced": self.requests_counterbalanced,
            "model": self.model,
            "mapped_preferences": self.mapped_preferences,
            "first_order": _order_summary(self.first_order),
            "reversed_order": _order_summary(self.reversed_order),
            "artifact_written": True,
        }

    def exit_code(self, *, exit_zero: bool = False) -> ExitCode:
        """Return the command's exit status: 3 where the judge erred, 1 where a human is needed.

        Args:
            exit_zero: 0 instead of 1.
        """
        if self.status == "judge_error":
            return ExitCode.INCOMPLETE
        needs_human = self.escalation_required and not exit_zero
        return ExitCode.GATE_FAILED if needs_human else ExitCode.PASS


def _order_summary(outcome: PreferenceOutcome) -> dict[str, Any]:
    verdict, error = outcome.verdict, outcome.error
    return {
        "order_id": outcome.order_id,
        "preference": outcome.mapped,
        "confidence": verdict.confidence if verdict else None,
        "error_stage": error.stage if error else None,
        "error_type": error.error_type if error else None,
    }
