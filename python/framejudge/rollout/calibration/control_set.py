"""`controls`: does the judge fall for a rollout that shows less than it should?

From a complete rollout come a shorter one, whose frames are the same to the last byte, and a blank
one. All are judged with the very same prompt: the complete one may pass, the others must score 0.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from framejudge._core import encode_png
from framejudge._files import place, write_atomically
from framejudge.errors import ConfigurationError, FramejudgeError
from framejudge.frames.hash import sha256
from framejudge.frames.rollout import collect_frames
from framejudge.judge import JudgeClient, JudgeOutcome, JudgeRequest, JudgeSettings
from framejudge.rollout.options import RolloutOptions
from framejudge.rollout.task import rollout_task
from framejudge.schemas import FrameEvidence, SubmittedFrame
from framejudge.schemas.controls import ControlKind, ControlResult, ControlsReport
from framejudge.schemas.limitations import limits
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import artifact_json

__all__ = ["CONTROLS_FILE", "controls", "controls_async"]

CONTROLS_FILE = "vlm_controls.json"
_SHORTER_SHARE = 0.5
_BLANK_LEVEL = 255

Frames = tuple[SubmittedFrame, ...]


def controls(
    input_path: str,
    output_path: str = "",
    *,
    ambiguous_path: str = "",
    unrelated_path: str = "",
    **options: Any,
) -> ControlsReport:
    """Judge a complete rollout and controls derived from it.

    Args:
        input_path: the complete rollout; it has more frames than are sent.
        output_path: a folder for vlm_controls.json and the frames as they were sent; empty for
            none. `report.controls.write_page` makes a page of them.
        ambiguous_path: a rollout whose end can't be told.
        unrelated_path: one that has nothing to do with the task.
        **options: as `run` takes them; the backend is "api" or "self-hosted".

    Returns:
        The report; `held` where only the complete one passed and all others scored exactly 0.0 with
        success false. It estimates no error rate.

    Raises:
        ConfigurationError: an option that can't work, or a rollout too short for a shorter one.
        JudgeError: no verdict on a control, by name.
    """
    return asyncio.run(
        controls_async(
            input_path,
            output_path,
            ambiguous_path=ambiguous_path,
            unrelated_path=unrelated_path,
            **options,
        )
    )


async def controls_async(
    input_path: str,
    output_path: str = "",
    *,
    ambiguous_path: str = "",
    unrelated_path: str = "",
    **options: Any,
) -> ControlsReport:
    """Do what `controls` does, in a running event loop."""
    settled = RolloutOptions.of(input_path, output_path or ".", options)
    settings = settled.judge()
    if settings.backend == "stub":
        raise ConfigurationError("controls ask a judge: backend must be api or self-hosted")
    rubric = await asyncio.to_thread(settled.rubric_text)
    if output_path:
        settled.check_output(place(output_path) / CONTROLS_FILE)
    async with JudgeClient(settings, concurrency=5) as client:
        await client.check()
        found = _Controls(settled, settings, rubric)
        await asyncio.to_thread(found.collect, ambiguous_path, unrelated_path)
        outcomes = await asyncio.gather(
            *(found.ask(client, kind) for kind in found.frames), return_exceptions=True
        )
    report = found.report(outcomes)
    if output_path:
        await asyncio.to_thread(_write, report, found.frames, output_path)
    return report


@dataclass(slots=True)
class _Controls:
    options: RolloutOptions
    settings: JudgeSettings
    rubric: str
    task: str = ""
    frames: dict[ControlKind, Frames] = field(default_factory=dict)
    paths: dict[ControlKind, str] = field(default_factory=dict)

    def collect(self, ambiguous_path: str, unrelated_path: str) -> None:
        """Read the complete rollout, derive the others, and see that all are of one length."""
        path = self.options.input_path
        self.task = rollout_task(place(path), self.options.task)
        complete = self._read(path)
        count = complete[0].evidence.source_count
        if count is None or count <= self.options.max_frames:
            raise ConfigurationError(
                f"{path}: has {'an unknown number of' if count is None else count} frames; "
                f"controls need more than the {self.options.max_frames} of max_frames, so that a "
                "shorter one can be sent too"
            )
        self.frames = {
            "complete": complete,
            "shorter": self._read(path, share=_SHORTER_SHARE),
            "blank": _blank(complete),
        }
        self.paths = dict.fromkeys(self.frames, path)
        given: tuple[tuple[ControlKind, str], ...] = (
            ("ambiguous", ambiguous_path),
            ("unrelated", unrelated_path),
        )
        for kind, other in given:
            if other:
                self.frames[kind], self.paths[kind] = self._read(other), other
        for kind, frames in self.frames.items():
            if len(frames) != len(complete):
                raise ConfigurationError(
                    f"{self.paths[kind]}: gives {len(frames)} frames, the complete rollout "
                    f"{len(complete)}; the prompt would not be the same"
                )

    def _read(self, path: str, *, share: float = 1.0) -> Frames:
        return collect_frames(
            path,
            frame_selection=self.options.frame_selection,
            max_frames=self.options.max_frames,
            max_side_px=self.options.max_side_px,
            frame_format=self.options.frame_format,
            share=share,
        ).frames

    async def ask(self, client: JudgeClient, kind: ControlKind) -> JudgeOutcome:
        """Ask about one control; an answer of an earlier run is not used."""
        request = JudgeRequest(
            settings=self.settings,
            task=self.task,
            rubric=self.rubric,
            frame_selection=self.options.frame_selection,
            max_frames=self.options.max_frames,
            frames=self.frames[kind],
        )
        try:
            return await client.ask(request)
        except FramejudgeError as error:
            raise type(error)(f"control {kind!r}: {error}") from error

    def report(self, outcomes: list[JudgeOutcome | BaseException]) -> ControlsReport:
        """Say which controls held.

        Raises:
            JudgeError: the first control without a verdict.
        """
        results = []
        for kind, outcome in zip(self.frames, outcomes, strict=True):
            if isinstance(outcome, BaseException):
                raise outcome
            results.append(self._result(kind, outcome))
        (prompt,) = {result.evidence.request.prompt_sha256 for result in results}
        return ControlsReport(
            held=all(result.held for result in results),
            backend=self.settings.backend,
            model=self.settings.model,
            task=self.task,
            rubric=self.rubric,
            success_threshold=self.options.success_threshold,
            frame_selection=self.options.frame_selection,
            max_frames=self.options.max_frames,
            prompt_sha256=prompt,
            input_path=self.options.input_path,
            generated_at=datetime.now(UTC).isoformat(),
            controls=results,
            **limits("controls_no_error_rate", "controls_need_a_reader"),
        )

    def _result(self, kind: ControlKind, outcome: JudgeOutcome) -> ControlResult:
        score = round_score(outcome.verdict.score)
        passed = score >= self.options.success_threshold
        # Exactly: a score that only rounds to 0.0 is not 0.
        is_refused = outcome.verdict.score == 0 and not outcome.verdict.success
        return ControlResult(
            kind=kind,
            input_path=self.paths[kind],
            held=passed if kind == "complete" else is_refused,
            score=score,
            passed=passed,
            provider_success=outcome.verdict.success,
            rationale=outcome.verdict.rationale,
            evidence=outcome.evidence,
        )


def _blank(like: Frames) -> Frames:
    """As many frames as these, all of them the same white picture."""
    first = like[0].evidence
    pixels = np.full((first.height, first.width, 3), _BLANK_LEVEL, np.uint8)
    data = encode_png(pixels)
    return tuple(
        SubmittedFrame(
            data=data,
            evidence=FrameEvidence(
                label=f"blank-{number:03d}.png",
                media_type="image/png",
                sha256=sha256(data).hex(),
                byte_count=len(data),
                width=first.width,
                height=first.height,
                source_kind="image-sequence",
                source_index=number - 1,
                source_count=len(like),
                source_timestamp_s=None,
                decoded_rgb_sha256=sha256(pixels.tobytes()).hex(),
            ),
        )
        for number in range(1, len(like) + 1)
    )


def _write(report: ControlsReport, frames: dict[ControlKind, Frames], output_path: str) -> None:
    """The frames as they were sent, then the report."""
    folder = place(output_path)
    for kind, sent in frames.items():
        for number, frame in enumerate(sent, start=1):
            suffix = frame.evidence.media_type.partition("/")[2]
            write_atomically(folder / "frames" / kind / f"{number:03d}.{suffix}", frame.data)
    write_atomically(folder / CONTROLS_FILE, artifact_json(report).encode())
