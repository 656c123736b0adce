"""`vlm_judge_disagreement.json`: two judges on the very same request, both outcomes, no mean."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from framejudge.schemas.rollout import (
    FrameSelection,
    ProviderEvidence,
    RequestEvidence,
    RolloutResult,
)
from framejudge.schemas.verdict import ExitCode

__all__ = [
    "AUDIT_ERROR_TYPES",
    "JUDGE_COMPARISON_SCHEMA",
    "AuditStage",
    "ComparedJudge",
    "ComparisonStatus",
    "JudgeCallError",
    "JudgeComparison",
]

JUDGE_COMPARISON_SCHEMA = "npa_vlm_judge_comparison_v1"

AuditStage = Literal["transport", "provider_http_status", "response_decode", "response_contract"]
AUDIT_ERROR_TYPES: dict[AuditStage, str] = {
    "transport": "transport_error",
    "provider_http_status": "provider_http_status_error",
    "response_decode": "provider_response_decode_error",
    "response_contract": "response_contract_error",
}

ComparisonStatus = Literal[
    "judge_error",
    "judge_identity_collision",
    "judge_disagreement",
    "judges_agree_passed",
    "judges_agree_needs_iteration",
]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JudgeCallError(_Record):
    """Why a judge gave no verdict."""

    model: str
    stage: AuditStage
    error_type: str
    message: str
    """At most 1000 characters."""
    request: RequestEvidence
    provider: ProviderEvidence | None
    """What was answered, unparsed; None without an answer, or where it repeated the key."""


class ComparedJudge(_Record):
    """One judge's outcome: a result or an error, never both."""

    model: str
    transport_request_sha256: str
    """Of the very bytes that were sent."""
    result: RolloutResult | None
    error: JudgeCallError | None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.result is None) == (self.error is None):
            raise ValueError("exactly one of result and error must be there")
        return self

    @property
    def asked(self) -> RequestEvidence:
        """What is kept of the request."""
        if self.error is not None:
            return self.error.request
        if self.result is None or self.result.evidence is None:
            raise ValueError("a judge's result without evidence")
        return self.result.evidence.request

    def summary(self) -> dict[str, Any]:
        """Return what a console may show: no text of the judge's."""
        if self.result is None:
            error = self.error
            return {
                "model": self.model,
                "status": "error",
                "error_stage": error.stage if error else None,
                "error_type": error.error_type if error else None,
            }
        return {
            "model": self.model,
            "status": self.result.status,
            "score": self.result.score,
            "passed": self.result.passed,
        }


class JudgeComparison(_Record):
    """The whole artifact; private, as providers' answers can describe what is in the images."""

    schema_version: str = JUDGE_COMPARISON_SCHEMA
    status: ComparisonStatus
    passed: bool
    """Both judges' scores reach the threshold; still no promotion."""
    escalation_required: bool
    deployment_status: Literal["audit_only"] = "audit_only"
    operational_rate_estimated: Literal[False] = False
    input_path: str
    output_path: str
    result_uri: str
    task: str
    rubric: str
    success_threshold: float
    frame_selection: FrameSelection
    frame_count: int
    shared_frame_sha256: list[str]
    common_request_sha256: str
    """Of the request without its model."""
    requests_differ_only_by_model: Literal[True] = True
    primary: ComparedJudge
    secondary: ComparedJudge
    score_delta_secondary_minus_primary: float | None
    """Rounded to four decimals; None unless both judges scored."""
    generated_at: str
    limitations: list[str]
    limitation_ids: list[str]
    """Of the sentences, in their order; additive."""
    dry_run: Literal[False] = False

    def summary(self) -> dict[str, Any]:
        """Return what a console may show: no path, prompt, rationale, id or raw answer."""
        return {
            "schema_version": self.schema_version,
            "status": self.status,
            "passed": self.passed,
            "escalation_required": self.escalation_required,
            "deployment_status": self.deployment_status,
            "operational_rate_estimated": self.operational_rate_estimated,
            "requests_differ_only_by_model": self.requests_differ_only_by_model,
            "frame_count": self.frame_count,
            "primary": self.primary.summary(),
            "secondary": self.secondary.summary(),
            "artifact_written": True,
            "dry_run": self.dry_run,
        }

    def exit_code(self, *, exit_zero: bool = False) -> ExitCode:
        """Return the command's exit status: 3 where a judge erred, 1 unless both judges passed.

        Args:
            exit_zero: 0 instead of 1.
        """
        if self.status == "judge_error":
            return ExitCode.INCOMPLETE
        return ExitCode.PASS if self.passed or exit_zero else ExitCode.GATE_FAILED
