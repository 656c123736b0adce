"""What a judged rollout leaves behind: frames, evidence, the result and the loop's report.

Keys and ids are those that readers of `vlm_eval.json` and `task_success_report.json` know; what
framejudge adds has a default, so that older artifacts load.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from framejudge.schemas.verdict import Verdict

__all__ = [
    "EVIDENCE_SCHEMA",
    "Attempt",
    "Evidence",
    "FrameEvidence",
    "LoopReport",
    "LoopRow",
    "ProviderEvidence",
    "RequestEvidence",
    "RequestManifest",
    "RolloutResult",
    "Sampling",
    "SubmittedFrame",
    "artifact_json",
    "canonical_json",
    "canonical_sha256",
]

EVIDENCE_SCHEMA = "npa_vlm_eval_evidence_v2"

SourceKind = Literal["image-sequence", "numpy-episode", "video"]
FrameSelection = Literal["final", "keyframes", "sequence"]
Backend = Literal["self-hosted", "api", "stub"]
EndpointRole = Literal["self-hosted", "hosted-api"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FrameEvidence(_Record):
    """One submitted frame without its bytes."""

    label: str
    """Path relative to the input (images), or `file[:key]:index` / `video:frame-NNN.png`."""
    media_type: str
    sha256: str
    """Of the bytes that were submitted."""
    byte_count: int
    width: int
    height: int
    source_kind: SourceKind | None
    source_index: int | None
    source_count: int | None
    source_timestamp_s: float | None
    decoded_rgb_sha256: str | None = None
    """Of the RGB pixels, row by row; additive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedFrame:
    """One frame as the judge gets it: encoded bytes and where they come from."""

    data: bytes
    evidence: FrameEvidence


class Sampling(_Record):
    """Which frames of the source were chosen, and whether that is known exactly."""

    strategy: FrameSelection
    max_frames: int
    selected_count: int
    source_kind: SourceKind | None
    source_count: int | None
    selected_indices: list[int | None]
    selected_timestamps_s: list[float | None]
    coverage_complete: bool
    """The provenance of the selected frames is complete; not that all frames were sent."""
    timestamps_complete: bool | None
    """None unless the source is a video."""


class RequestManifest(_Record):
    """The request without anything secret: no key, endpoint, path, prompt or pixels."""

    schema_version: str = EVIDENCE_SCHEMA
    endpoint_role: EndpointRole
    requested_model: str
    generation_parameters: dict[str, Any]
    prompt_sha256: str
    rubric_sha256: str
    frames: list[FrameEvidence]
    sampling: Sampling

    def sha256(self) -> str:
        """Return the SHA-256 of the manifest's canonical JSON."""
        return canonical_sha256(self.model_dump(mode="json"))


class RequestEvidence(_Record):
    """What was asked."""

    requested_at: str
    """UTC, ISO 8601, just before the call."""
    endpoint_role: EndpointRole
    prompt_sha256: str
    rubric_sha256: str
    request_manifest_sha256: str
    request_manifest: RequestManifest
    frames: list[FrameEvidence]


class ProviderEvidence(_Record):
    """What was answered; the promotion gate rebuilds this object and compares its keys exactly."""

    provider_request_id: str | None
    returned_model: str | None
    finish_reason: str | None
    latency_s: float
    status_code: int | None
    usage: dict[str, Any] | None
    raw_response: str
    raw_response_sha256: str
    parser_version: str


class Attempt(_Record):
    """One HTTP request of a call; additive."""

    number: int
    """From 1."""
    started_at: str
    latency_s: float
    status_code: int | None
    error: str | None
    """Why it gave no answer; None for the one that did."""
    waited_s: float = 0.0
    """Pause before this attempt."""


class Evidence(_Record):
    """One call to a judge, so that every hash in it can be recomputed."""

    schema_version: str = EVIDENCE_SCHEMA
    request: RequestEvidence
    provider: ProviderEvidence
    attempts: list[Attempt] = Field(default_factory=list)
    prompt_version: str | None = None
    """Which released prompt was used; additive."""


class RolloutResult(_Record):
    """`vlm_eval.json`: one rollout's score, what it was compared with, and the evidence."""

    status: Literal["passed", "needs_iteration"]
    backend: Backend
    input_path: str
    output_path: str
    result_uri: str
    task: str
    rubric: str
    model: str
    score: float
    """Rounded to four decimals."""
    success_threshold: float
    passed: bool
    """score >= success_threshold, nothing else."""
    generated_at: str
    frame_selection: FrameSelection
    frame_count: int
    rationale: str
    served_model: str | None
    served_model_match_enforced: bool
    provider_success: bool | None
    provider_success_matches_score_gate: bool | None
    provider_call_made: bool
    independent_human_label_calibration_established: Literal[False] = False
    limitations: list[str]
    limitation_ids: list[str] = Field(default_factory=list)
    """Of the same, in the same order; additive."""
    evidence: Evidence | None
    dry_run: bool = False
    cache_hit: bool = False
    """The stored evidence of an earlier identical call; additive."""
    cost_usd: float | None = None
    """None without a price table, 0 for a cache hit; additive."""

    @property
    def verdict(self) -> Verdict:
        """Whether it passed, as text and exit status say it."""
        asked = self.evidence.request if self.evidence else None
        return Verdict(
            metric="score",
            score=self.score,
            threshold=self.success_threshold,
            comparison=">=",
            passed=self.passed,
            complete=True,
            gate_failed=not self.passed,
            n_scored=1,
            n_total=1,
            reasons=[] if self.passed else [f"{self.score:g} is below {self.success_threshold:g}"],
            evidence={
                "model": self.model,
                "served_model": self.served_model,
                "provider_call_made": self.provider_call_made,
                "request_manifest_sha256": asked.request_manifest_sha256 if asked else None,
            },
        )


class LoopRow(_Record):
    """One rollout in the loop's report."""

    rollout_id: str
    success: bool
    score: float
    rationale: str
    status: Literal["passed", "needs_iteration"]
    frame_count: int
    result_uri: str
    requested_model: str
    served_model: str | None
    served_model_match_enforced: bool
    cache_hit: bool = False


class LoopReport(_Record):
    """`task_success_report.json`: all rollouts under a prefix, and the gate on their mean."""

    status: Literal["completed", "incomplete"]
    model: str
    frame_selection: FrameSelection
    success_threshold: float
    output_dir: str
    total_rollouts: int
    passed_rollouts: int
    success_rate: float | None
    mean_score: float | None
    """math.fsum over n_scored, rounded once to four decimals; None where nothing was scored."""
    task_success: bool
    """mean_score >= success_threshold, and complete."""
    independent_human_label_calibration_established: Literal[False] = False
    limitations: list[str]
    limitation_ids: list[str] = Field(default_factory=list)
    """Of the same, in the same order; additive."""
    rollouts: list[LoopRow]
    latency_s: float
    n_scored: int
    n_total: int
    n_reused: int = 0
    """Finished results of the very same request that were not asked for again."""
    unscored: list[dict[str, str]] = Field(default_factory=list)
    """rollout_id and reason of each that has no score."""
    min_pass_rate: float | None = None
    pass_rate_interval: tuple[float, float] | None = None
    """Wilson's, at 95 %."""
    pass_rate_gate: bool | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    """Tokens, summed over the calls that were made."""
    n_cache_hits: int = 0
    cost_usd: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether all gates hold, as text and exit status say it."""
        reasons = [f"{entry['rollout_id']}: {entry['reason']}" for entry in self.unscored]
        below = []
        if self.mean_score is not None and self.mean_score < self.success_threshold:
            below.append(f"the mean {self.mean_score:g} is below {self.success_threshold:g}")
        rate, least = self.success_rate, self.min_pass_rate
        if rate is not None and least is not None and rate < least:
            below.append(f"the share of rollouts that pass, {rate:g}, is below {least:g}")
        return Verdict(
            metric="mean_score",
            score=self.mean_score,
            threshold=self.success_threshold,
            comparison=">=",
            passed=self.task_success and self.pass_rate_gate is not False,
            complete=self.status == "completed",
            gate_failed=bool(below),
            n_scored=self.n_scored,
            n_total=self.n_total,
            reasons=[*below, *reasons],
            evidence={"model": self.model, "n_reused": self.n_reused, "usage": self.usage},
        )


def artifact_json(record: BaseModel) -> str:
    """Return a record as artifacts hold it: indented by two, keys sorted, a newline at the end."""
    return json.dumps(record.model_dump(mode="json"), indent=2, sort_keys=True) + "\n"


def canonical_json(value: Any) -> bytes:
    """Return a value's canonical JSON: keys sorted, no spaces, characters as they are, UTF-8.

    Raises:
        ValueError: NaN, an infinity or a lone surrogate in it.

    >>> canonical_json({"b": 1, "a": "x"})
    b'{"a":"x","b":1}'
    """
    text = json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, allow_nan=False
    )
    return text.encode()


def canonical_sha256(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON; see `canonical_json`.

    >>> canonical_sha256({"b": 1, "a": "ü"})[:12]
    '4e7ff4080b1a'
    """
    return hashlib.sha256(canonical_json(value)).hexdigest()
