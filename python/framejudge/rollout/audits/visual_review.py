"""`review-visual`: what a model sees in a source, or in two of them, kept and never scored.

Two sources are shown in both orders under neutral names. Every request is sent once, its journal
entry before it, the exact bytes of its answer before they are read.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from framejudge._files import place
from framejudge._private_files import create_private, refuse_existing
from framejudge.errors import ConfigurationError, FramejudgeError, JudgeError, JudgeReplyError
from framejudge.frames.rollout import collect_frames
from framejudge.judge import JudgeSettings
from framejudge.judge.audit_access import resolve_audit_judge
from framejudge.judge.request import sampling_of
from framejudge.rollout.audits.call import (
    UNPARSED,
    AuditFailure,
    Exchange,
    audit_path,
    provider_evidence,
    read_answer,
    refuse_key,
    send_once,
)
from framejudge.rollout.audits.journal import Journal
from framejudge.rollout.audits.visual_prompt import content_of, default_visual_rubric
from framejudge.rollout.audits.visual_report import make_review
from framejudge.rollout.audits.visual_rules import (
    PARSER,
    parse_paired,
    parse_single,
    refuse_source_words,
)
from framejudge.rollout.audits.visual_side_files import read_references, read_view_map
from framejudge.rollout.options import RolloutOptions
from framejudge.schemas import SubmittedFrame
from framejudge.schemas.rollout import artifact_json, canonical_json
from framejudge.schemas.visual_review import (
    PairedReview,
    ReviewError,
    ReviewOutcome,
    SingleReview,
    SourceManifest,
    VisualReview,
)

__all__ = ["DEFAULT_MAX_IMAGES", "REVIEW_FILE", "Source", "review_visual", "review_visual_async"]

REVIEW_FILE = "vlm_visual_review.json"
JOURNAL_FOLDER = "vlm_visual_review.evidence"
DEFAULT_MAX_IMAGES = 10
_MOST_FRAMES = 9999
_ONLY = ("task", "endpoint_url", "api_key_env", "frame_selection", "max_frames", "max_side_px")
_OPTIONS = (*_ONLY, "rubric", "rubric_path", "timeout_s")

Role = Literal["current", "baseline"]
OrderId = Literal["single", "current_as_A", "baseline_as_A"]


@dataclass(frozen=True, slots=True)
class Source:
    """A source's frames, and which of them they are."""

    role: Role
    frames: tuple[SubmittedFrame, ...]
    manifest: SourceManifest


class _Order(NamedTuple):
    order_id: OrderId
    a: Source
    b: Source | None


def review_visual(
    input_path: str, output_path: str, *, model: str, task: str, **options: Any
) -> VisualReview:
    """Have a hosted model describe a source, or compare two, and keep everything.

    Args:
        input_path: the source.
        output_path: a folder, or a path ending in vlm_visual_review.json. Neither that file nor the
            journal beside it may exist.
        model: a hosted model.
        task: what to look at; neutral, it names no source.
        **options: baseline_path: a second source, shown beside the first in both orders.
            max_images: the most that one request may hold, as the provider has it. Default 10.
            objective_evidence_path: a JSON list of references, kept and neither sent nor verified.
            matched_view_map_path: a JSON object, likewise.
            and of `RolloutOptions`: endpoint_url, api_key_env, frame_selection, max_frames,
            max_side_px, rubric, rubric_path, timeout_s.

    Returns:
        The review; no score and no gate.

    Raises:
        ConfigurationError: an option that can't work, too many images, or something at the output.
        JudgeError: what was to be kept could not be; nothing more was sent.
    """
    return asyncio.run(
        review_visual_async(input_path, output_path, model=model, task=task, **options)
    )


async def review_visual_async(
    input_path: str,
    output_path: str,
    *,
    model: str,
    task: str,
    baseline_path: str = "",
    max_images: int = DEFAULT_MAX_IMAGES,
    objective_evidence_path: str = "",
    matched_view_map_path: str = "",
    **options: Any,
) -> VisualReview:
    """Do what `review_visual` does, in a running event loop."""
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ConfigurationError(f"no option {unknown[0]!r}; accepted: {', '.join(_OPTIONS)}")
    review = await asyncio.to_thread(
        _Review.of,
        RolloutOptions.of(
            input_path, output_path, options | {"backend": "api", "model": model, "task": task}
        ),
        baseline_path,
        max_images,
        objective_evidence_path,
        matched_view_map_path,
    )
    try:
        return await review.run()
    except (FramejudgeError, OSError) as error:
        raise JudgeError(
            "the review could not be kept and was not completed; nothing more was sent, and what "
            f"was begun is not repeated ({type(error).__name__})"
        ) from error


@dataclass(slots=True)
class _Review:
    options: RolloutOptions
    settings: JudgeSettings
    rubric: str
    file: Path
    journal: Journal
    orders: list[_Order]
    references: list[str]
    view_map: dict[str, Any]
    baseline_path: str
    kept: dict[str, bytes] = field(default_factory=dict)
    """What the journal holds, to be compared once more before the report."""
    outcomes: list[ReviewOutcome] = field(default_factory=list)
    parsed: list[SingleReview | PairedReview | None] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        options: RolloutOptions,
        baseline_path: str,
        max_images: int,
        references_path: str,
        view_map_path: str,
    ) -> _Review:
        """Check everything, then read the frames."""
        settings = resolve_audit_judge(
            model=options.model,
            endpoint_url=options.endpoint_url,
            api_key_env=options.api_key_env,
            timeout_s=options.timeout_s,
        )
        rubric = options.rubric_text() if _has_rubric(options) else default_visual_rubric()
        for name, text in (("task", options.task), ("rubric", rubric), ("model", options.model)):
            if not text.strip():
                raise ConfigurationError(f"{name} must not be empty")
            refuse_source_words(name, text)
        if options.max_frames > _MOST_FRAMES:
            raise ConfigurationError(f"max_frames must be at most {_MOST_FRAMES}")
        refuse_key(settings, task=options.task, rubric=rubric)
        file = audit_path(options.output_path, REVIEW_FILE)
        journal = Journal(file.parent / JOURNAL_FOLDER)
        refuse_existing(journal.folder)
        references, view_map = read_references(references_path), read_view_map(view_map_path)
        current = _source("current", options.input_path, options)
        orders = [_Order("single", current, None)]
        if baseline_path:
            if place(baseline_path) == place(options.input_path):
                raise ConfigurationError("baseline_path: is the input itself")
            other = _source("baseline", baseline_path, options)
            orders = [
                _Order("current_as_A", current, other),
                _Order("baseline_as_A", other, current),
            ]
        count = sum(len(source.frames) for source in orders[0][1:] if source is not None)
        if count > max_images:
            raise ConfigurationError(
                f"a request would hold {count} images, more than max_images={max_images}; lower "
                "max_frames, or raise max_images to what the provider takes"
            )
        return cls(
            options, settings, rubric, file, journal, orders, references, view_map, baseline_path
        )

    async def run(self) -> VisualReview:
        """Send every order's request, one after the other, and write the report last."""
        bodies = [canonical_json(self._body(order)) for order in self.orders]
        await self._keep(
            "reservation",
            {
                "schema_version": "npa_vlm_visual_review_v1",
                "orders": [order.order_id for order in self.orders],
                "transport_request_sha256": [_sha256(body) for body in bodies],
                "report": self.file.name,
            },
        )
        for number, (order, body) in enumerate(zip(self.orders, bodies, strict=True), start=1):
            await self._ask(number, order, body)
        review = make_review(self.context(), self.outcomes, self.parsed)
        await asyncio.to_thread(self._publish, review)
        return review

    async def _ask(self, number: int, order: _Order, body: bytes) -> None:
        named = {"order_id": order.order_id, "transport_request_sha256": _sha256(body)}
        await self._keep(f"request-{number:02d}", named | {"body": json.loads(body)})
        await self._keep(f"transport-started-{number:02d}", named)
        came = await send_once(self.settings, body)
        if came.answer is not None:
            content = came.answer.content
            await self._keep(
                f"response-bytes-{number:02d}",
                {
                    "content_base64": base64.b64encode(content).decode("ascii"),
                    "sha256": _sha256(content),
                    "size": len(content),
                },
            )
        await self._keep(
            f"response-{number:02d}",
            named
            | {
                "requested_at": came.requested_at,
                "problem": came.problem,
                "status_code": came.answer.status_code if came.answer else None,
                "text": came.answer.text if came.answer else None,
            },
        )
        outcome, parsed = self._outcome(order, body, came)
        self.outcomes.append(outcome)
        self.parsed.append(parsed)
        await self._keep(f"outcome-{number:02d}", outcome.model_dump(mode="json"))

    async def _keep(self, name: str, entry: dict[str, Any]) -> None:
        await asyncio.to_thread(self.journal.write, name, entry)
        self.kept[name] = await asyncio.to_thread(self.journal.read, name)

    def _publish(self, review: VisualReview) -> None:
        """Write the report, once the journal still is what was written and says the same."""
        changed = [name for name, kept in self.kept.items() if self.journal.read(name) != kept]
        if changed:
            raise JudgeError(f"the journal was changed: {', '.join(changed)}")
        content = artifact_json(review).encode()
        again = make_review(self.context(), self.outcomes, self.parsed)
        if again.model_copy(update={"generated_at": review.generated_at}) != review:
            raise JudgeError("the report can't be made again from its outcomes")
        create_private(self.file, content)

    def _body(self, order: _Order) -> dict[str, Any]:
        return {
            "model": self.settings.model,
            **self.settings.profile.parameters,
            "messages": [
                {
                    "role": "user",
                    "content": content_of(
                        task=self.options.task.strip(),
                        rubric=self.rubric,
                        a=order.a.frames,
                        b=order.b.frames if order.b else None,
                    ),
                }
            ],
        }

    def _outcome(
        self, order: _Order, body: bytes, came: Exchange
    ) -> tuple[ReviewOutcome, SingleReview | PairedReview | None]:
        a_ids = _ids("A", order.a.frames)
        b_ids = _ids("B", order.b.frames) if order.b else {}
        message = parsed = error = None
        try:
            message = read_answer(came, self.settings.model)
            parsed = (
                parse_single(message.content, list(a_ids))
                if order.b is None
                else parse_paired(message.content, list(a_ids), list(b_ids))
            )
        except AuditFailure as failure:
            error = _error(failure)
        except JudgeReplyError as rejected:
            error = _error(AuditFailure("response_contract", str(rejected)))
        return (
            ReviewOutcome(
                order_id=order.order_id,
                A_arm=order.a.role,
                B_arm=order.b.role if order.b else None,
                transport_request_sha256=_sha256(body),
                requested_at=came.requested_at,
                frame_ids=a_ids | b_ids,
                provider=provider_evidence(came, message, PARSER if parsed else UNPARSED),
                review=parsed.model_dump(mode="json") if parsed else None,
                error=error,
            ),
            parsed,
        )

    def context(self) -> dict[str, Any]:
        """What the report says beside the outcomes."""
        sources = {source.role: source for source in self.orders[0][1:] if source is not None}
        baseline = sources.get("baseline")
        return {
            "model": self.settings.model,
            "task": self.options.task.strip(),
            "rubric": self.rubric,
            "input_path": self.options.input_path,
            "baseline_path": self.baseline_path or None,
            "output_path": self.options.output_path,
            "result_uri": str(self.file),
            "objective_evidence_status": (
                "references_provided_unverified" if self.references else "not_provided"
            ),
            "objective_evidence_references": self.references,
            "matched_view_status": "provided_unverified" if self.view_map else "not_provided",
            "matched_view_map": self.view_map,
            "current_manifest": sources["current"].manifest,
            "baseline_manifest": baseline.manifest if baseline else None,
        }


def _has_rubric(options: RolloutOptions) -> bool:
    return bool(options.rubric.strip() or options.rubric_path)


def _source(role: Role, path: str, options: RolloutOptions) -> Source:
    frames = collect_frames(
        path,
        frame_selection=options.frame_selection,
        max_frames=options.max_frames,
        max_side_px=options.max_side_px,
    ).frames
    facts = [frame.evidence for frame in frames]
    sampling = sampling_of(facts, strategy=options.frame_selection, max_frames=options.max_frames)
    manifest = SourceManifest(
        source_role=role,
        input_path=path,
        frame_selection=options.frame_selection,
        max_frames=options.max_frames,
        source_frame_labels=[frame.label for frame in facts],
        frames=facts,
        **sampling.model_dump(exclude={"strategy", "max_frames"}),
    )
    return Source(role, frames, manifest)


def _ids(prefix: str, frames: tuple[SubmittedFrame, ...]) -> dict[str, str]:
    return {
        f"{prefix}{number:04d}": frame.evidence.sha256
        for number, frame in enumerate(frames, start=1)
    }


def _error(failure: AuditFailure) -> ReviewError:
    return ReviewError(stage=failure.stage, error_type=failure.error_type, message=failure.message)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
