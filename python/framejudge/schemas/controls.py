"""What a judge made of a complete rollout and of rollouts that show less."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from framejudge.schemas.rollout import Backend, Evidence, FrameSelection
from framejudge.schemas.verdict import Verdict

__all__ = ["ControlKind", "ControlResult", "ControlsReport"]

ControlKind = Literal["complete", "shorter", "blank", "ambiguous", "unrelated"]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ControlResult(_Record):
    """One control."""

    kind: ControlKind
    input_path: str
    held: bool
    """The complete one passes; any other scores exactly 0.0, with success false."""
    score: float
    passed: bool
    """score >= success_threshold."""
    provider_success: bool
    rationale: str
    evidence: Evidence


class ControlsReport(_Record):
    """All controls, judged with the very same prompt."""

    schema_version: Literal["framejudge_controls_v1"] = "framejudge_controls_v1"
    held: bool
    """All controls did."""
    backend: Backend
    model: str
    task: str
    rubric: str
    success_threshold: float
    frame_selection: FrameSelection
    max_frames: int
    prompt_sha256: str
    input_path: str
    generated_at: str
    controls: list[ControlResult]
    limitations: list[str]
    limitation_ids: list[str]

    @property
    def verdict(self) -> Verdict:
        """Whether all controls held, as text and exit status say it."""
        n_held = sum(control.held for control in self.controls)
        return Verdict(
            metric="controls_held",
            score=n_held / len(self.controls),
            threshold=1.0,
            comparison=">=",
            passed=self.held,
            complete=True,
            gate_failed=not self.held,
            n_scored=len(self.controls),
            n_total=len(self.controls),
            reasons=[
                f"{control.kind}: scored {control.score:g}, success {control.provider_success}"
                for control in self.controls
                if not control.held
            ],
            evidence={"model": self.model, "prompt_sha256": self.prompt_sha256},
        )
