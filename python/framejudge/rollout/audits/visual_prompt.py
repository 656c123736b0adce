"""What a visual review asks, and how frames are shown under neutral names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from framejudge.judge.request import labelled_image
from framejudge.schemas import SubmittedFrame

__all__ = ["content_of", "default_visual_rubric"]

_RUBRIC = """\
Describe what can be seen before you rate anything, and name the frames it can be seen in. What the
frames do not show stays open: say what that is. A pleasing picture is no evidence of anything."""

_ARM = """\
{
  "task_evidence": {
    "visible_status": "complete" | "partial" | "failure" | "unclear" | "no_evidence",
    "observations": [ASSERTION, ...], "hidden_state_limits": ["what can't be seen", ...]},
  "artifact_fidelity": {"status": "no_visible_issue" | "issues_visible" | "unclear",
    "issues": [{"category": "unsupported_geometry" | "misalignment" | "hallucinated_detail" |
      "label_inconsistency" | "temporal_defect" | "other",
      "severity": "critical" | "major" | "minor" | "unclear", "assertion": ASSERTION}, ...],
    "uncertainty": "..."},
  "reviewability": {"status": "reviewable" | "limited" | "unreviewable",
    "strengths": [ASSERTION, ...], "limitations": [ASSERTION, ...]},
  "impressiveness": {"status": "strong" | "moderate" | "limited" | "none" | "unresolved",
    "visible_basis": [ASSERTION, ...], "cosmetic_only": true | false},
  "physical_ai_usefulness": {"status": "plausible" | "unsupported" | "unresolved",
    "visible_basis": [ASSERTION, ...], "downstream_operation": "..." | null,
    "required_properties": ["...", ...], "hypothesis": "..." | null,
    "measured_consumer_test_needed": "..." | null}
}
ASSERTION is {"text": "...", "frame_ids": ["A0001", ...]}: one frame at least, none twice.
issues is empty unless the status is issues_visible, and never empty then. reviewable needs a
strength; limited and unreviewable need a limitation, and unreviewable has no strengths. Where the
usefulness is unsupported, the four fields after visible_basis are null or empty; else none is. It
is a hypothesis: a frame measures nothing and proves nothing, and no text may say so."""

_SINGLE = """\
You see frames of one set, each after its name, A0001 onwards.

Task: {task}

Rubric:
{rubric}

Answer with one bare JSON object, no fence and no word around it: {{"arm": ARM}}, where ARM is
{arm}"""

_PAIRED = """\
You see frames of two sets, each after its name: A0001 onwards of set A, then B0001 onwards of set
B. The letters say nothing about the sets.

Task: {task}

Rubric:
{rubric}

Answer with one bare JSON object, no fence and no word around it: {{"A": ARM, "B": ARM,
"comparison": COMPARISON}}. In the ARM of set B frame names begin with B. ARM is
{arm}
COMPARISON is {{"preferred_set": "A" | "B" | "tie" | "unresolved", "visible_evidence_difference":
"materially_better" | "equivalent" | "unresolved", "confidence": "high" | "medium" | "low",
"observations": [{{"text": "...", "A_frame_ids": [...], "B_frame_ids": [...]}}, ...]}}. A and B go
with materially_better, tie with equivalent, unresolved with unresolved. Refer to the sets as A and
B alone."""


def default_visual_rubric() -> str:
    """Return what is asked where no rubric is given."""
    return _RUBRIC


def content_of(
    *,
    task: str,
    rubric: str,
    a: Sequence[SubmittedFrame],
    b: Sequence[SubmittedFrame] | None,
) -> list[dict[str, Any]]:
    """Return a message's parts: the question, then each frame after its neutral name.

    Args:
        task: what to look at.
        rubric: how.
        a: frames of set A.
        b: of set B; None where there is one set.
    """
    ask = _SINGLE if b is None else _PAIRED
    text = ask.format(task=task, rubric=rubric, arm=_ARM)
    parts: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for prefix, frames in (("A", a), ("B", b or ())):
        for number, frame in enumerate(frames, start=1):
            parts += labelled_image(f"{prefix}{number:04d}", frame)
    return parts
