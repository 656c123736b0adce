"""One request to a judge: what goes over the wire, and what is kept of it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from framejudge.judge.backends import JudgeSettings
from framejudge.judge.prompt import PROMPT_VERSION, build_prompt
from framejudge.schemas import (
    FrameEvidence,
    RequestEvidence,
    RequestManifest,
    Sampling,
    SubmittedFrame,
)
from framejudge.schemas.rollout import FrameSelection

__all__ = ["JudgeRequest", "labelled_image", "sampling_of", "text_sha256"]


@dataclass(frozen=True, kw_only=True)
class JudgeRequest:
    """A task, a rubric and frames, for one judge."""

    settings: JudgeSettings
    task: str
    rubric: str
    frame_selection: FrameSelection
    max_frames: int
    frames: tuple[SubmittedFrame, ...]
    prompt_version: str = PROMPT_VERSION
    prompt_suffix: str = ""
    """What an audit adds; the promotion gate knows of none, and takes no such evidence."""

    @cached_property
    def prompt(self) -> str:
        """The text before the frames."""
        prompt = build_prompt(
            task=self.task,
            rubric=self.rubric,
            frame_selection=self.frame_selection,
            frame_count=len(self.frames),
            version=self.prompt_version,
        )
        return prompt + self.prompt_suffix

    @cached_property
    def manifest(self) -> RequestManifest:
        """What is kept: hashes and provenance, nothing secret."""
        frames = [frame.evidence for frame in self.frames]
        return RequestManifest(
            endpoint_role=self.settings.role,
            requested_model=self.settings.model,
            generation_parameters=dict(self.settings.profile.parameters),
            prompt_sha256=text_sha256(self.prompt),
            rubric_sha256=text_sha256(self.rubric),
            frames=frames,
            sampling=sampling_of(frames, strategy=self.frame_selection, max_frames=self.max_frames),
        )

    def evidence(self, requested_at: str) -> RequestEvidence:
        """Return what is kept of the request once it is sent.

        Args:
            requested_at: UTC, ISO 8601, just before the call.
        """
        return RequestEvidence(
            requested_at=requested_at,
            endpoint_role=self.manifest.endpoint_role,
            prompt_sha256=self.manifest.prompt_sha256,
            rubric_sha256=self.manifest.rubric_sha256,
            request_manifest_sha256=self.manifest.sha256(),
            request_manifest=self.manifest,
            frames=self.manifest.frames,
        )

    def body(self) -> dict[str, Any]:
        """Return the JSON to send: one user message, each image after its label."""
        content: list[dict[str, Any]] = [{"type": "text", "text": self.prompt}]
        for number, frame in enumerate(self.frames, start=1):
            content += labelled_image(f"Frame {number}", frame)
        return {
            "model": self.settings.model,
            **self.settings.profile.parameters,
            "messages": [{"role": "user", "content": content}],
        }


def labelled_image(label: str, frame: SubmittedFrame) -> list[dict[str, Any]]:
    """Return the two parts of a message that show an image: its label, then itself.

    Args:
        label: the text before it.
        frame: the image.
    """
    data = base64.b64encode(frame.data).decode("ascii")
    url = f"data:{frame.evidence.media_type};base64,{data}"
    return [
        {"type": "text", "text": label},
        {"type": "image_url", "image_url": {"url": url}},
    ]


def sampling_of(
    frames: Sequence[FrameEvidence], *, strategy: FrameSelection, max_frames: int
) -> Sampling:
    """Say which frames of the source these are, and whether that is known of each.

    Args:
        frames: the frames that are sent, in order.
        strategy: how they were chosen.
        max_frames: how many might have been.
    """
    kinds = {frame.source_kind for frame in frames}
    counts = {frame.source_count for frame in frames}
    kind = kinds.pop() if len(kinds) == 1 else None
    count = counts.pop() if len(counts) == 1 else None
    indices = [frame.source_index for frame in frames]
    stamps = [frame.source_timestamp_s for frame in frames]
    known = count is not None and all(i is not None and 0 <= i < count for i in indices)
    return Sampling(
        strategy=strategy,
        max_frames=max_frames,
        selected_count=len(frames),
        source_kind=kind,
        source_count=count,
        selected_indices=indices,
        selected_timestamps_s=stamps,
        coverage_complete=bool(frames) and kind is not None and known,
        timestamps_complete=(
            bool(frames) and all(stamp is not None for stamp in stamps) if kind == "video" else None
        ),
    )


def text_sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()
