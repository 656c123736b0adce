"""One question to a judge VLM: request, transport, strict reading of the answer, evidence."""

from __future__ import annotations

from framejudge.judge.backends import JudgeSettings, resolve_judge
from framejudge.judge.client import JudgeClient, JudgeOutcome
from framejudge.judge.prompt import PROMPT_VERSION, build_prompt, default_rubric
from framejudge.judge.request import JudgeRequest

__all__ = [
    "PROMPT_VERSION",
    "JudgeClient",
    "JudgeOutcome",
    "JudgeRequest",
    "JudgeSettings",
    "build_prompt",
    "default_rubric",
    "resolve_judge",
]
