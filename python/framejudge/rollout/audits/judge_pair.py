"""`compare-judges`: two hosted judges on the very same request, both outcomes kept, no mean."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from framejudge._files import place
from framejudge._private_files import create_private
from framejudge.errors import ConfigurationError, JudgeError, JudgeReplyError
from framejudge.judge import JudgeOutcome, JudgeRequest, JudgeSettings
from framejudge.judge.backends import RequestProfile, resolve_model
from framejudge.judge.parsing import Message, ParsedVerdict, parse_bare
from framejudge.rollout.audits.call import (
    AuditFailure,
    Exchange,
    audit_path,
    provider_evidence,
    read_answer,
    read_content,
    refuse_key,
    send_once,
)
from framejudge.rollout.evaluate import Evaluator
from framejudge.rollout.options import RolloutOptions
from framejudge.schemas import Evidence
from framejudge.schemas.judge_audit import (
    ComparedJudge,
    ComparisonStatus,
    JudgeCallError,
    JudgeComparison,
)
from framejudge.schemas.limitations import limits
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import artifact_json, canonical_json, canonical_sha256

__all__ = [
    "COMPARISON_FILE",
    "STRICT_SUFFIX",
    "JudgePair",
    "compare_judges",
    "compare_judges_async",
    "prepare_judges",
]

_LIMITATIONS = (
    "audit_agreement_qualifies_no_judge",
    "audit_disagreement_is_no_ambiguity",
    "audit_one_answer_per_judge",
    "audit_no_defence_against_in_image_instructions",
    "audit_no_proof_of_absent_defects",
    "audit_frames_are_a_sample",
    "audit_no_operational_rate",
)

COMPARISON_FILE = "vlm_judge_disagreement.json"

STRICT_SUFFIX = """

Your whole answer must be that one JSON object, bare: no Markdown fence, no words before it and
none after it."""

_OPTIONS = (
    "task",
    "endpoint_url",
    "api_key_env",
    "frame_selection",
    "max_frames",
    "max_side_px",
    "frame_format",
    "rubric",
    "rubric_path",
    "success_threshold",
    "timeout_s",
)
# What both judges take alike; a model's own extras would make the requests differ.
_SHARED_PROFILE = RequestProfile({"temperature": 0})


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgePair:
    """Two requests that differ in nothing but the model; nothing is sent yet."""

    input_path: Path
    output: Path
    evaluators: tuple[Evaluator, Evaluator]
    requests: tuple[JudgeRequest, JudgeRequest]
    common_request_sha256: str

    @property
    def request_bytes(self) -> int:
        """How much both requests are together."""
        return sum(len(canonical_json(request.body())) for request in self.requests)


def compare_judges(
    input_path: str, output_path: str, *, primary_model: str, secondary_model: str, **options: Any
) -> JudgeComparison:
    """Ask two hosted judges the same about one rollout, and write both outcomes.

    The artifact, `vlm_judge_disagreement.json`, is an audit's: private, never replaced, never a
    gate. Each judge is sent one request, once; one that fails becomes an error in the artifact.

    Args:
        input_path: a folder of pictures, a .npy or .npz episode, or a video.
        output_path: a folder, or a path that ends in vlm_judge_disagreement.json.
        primary_model: one judge.
        secondary_model: another one.
        **options: task, endpoint_url, api_key_env, frame_selection, max_frames, max_side_px,
            frame_format, rubric, rubric_path, success_threshold, timeout_s; as `run` takes them.

    Returns:
        What was written.

    Raises:
        ConfigurationError: an option that can't work, or an output that exists; nothing was sent.
        DataError, ImageError, VideoError: frames that can't be read; nothing was sent.
    """
    return asyncio.run(
        compare_judges_async(
            input_path,
            output_path,
            primary_model=primary_model,
            secondary_model=secondary_model,
            **options,
        )
    )


async def compare_judges_async(
    input_path: str, output_path: str, *, primary_model: str, secondary_model: str, **options: Any
) -> JudgeComparison:
    """Do what `compare_judges` does, in a running event loop."""
    pair = await asyncio.to_thread(
        prepare_judges,
        input_path,
        output_path,
        primary_model=primary_model,
        secondary_model=secondary_model,
        **options,
    )
    primary, secondary = await asyncio.gather(*(_ask(pair, number) for number in (0, 1)))
    report = _report(pair, primary, secondary)
    await asyncio.to_thread(create_private, pair.output, artifact_json(report).encode())
    return report


def prepare_judges(
    input_path: str, output_path: str, *, primary_model: str, secondary_model: str, **options: Any
) -> JudgePair:
    """Settle everything, read the frames once and make both requests; nothing is sent.

    Args and errors are those of `compare_judges`.
    """
    unknown = sorted(set(options) - set(_OPTIONS))
    if unknown:
        raise ConfigurationError(f"no option {unknown[0]!r}; accepted: {', '.join(_OPTIONS)}")
    models = _distinct(primary_model, secondary_model)
    shared = {"backend": "api", "cache": False, **options}
    settled = [
        RolloutOptions.of(input_path, output_path, {**shared, "model": model}) for model in models
    ]
    output = audit_path(settled[0].output_path, COMPARISON_FILE)
    first, second = (_evaluator(each) for each in settled)
    root = place(settled[0].input_path)
    asked = replace(first.request(root, settled[0].task), prompt_suffix=STRICT_SUFFIX)
    refuse_key(first.settings, task=asked.task, rubric=asked.rubric)
    requests = (asked, replace(asked, settings=second.settings))
    common = {canonical_sha256(_without_model(request)) for request in requests}
    if len(common) != 1:
        raise JudgeError("the two requests differ in more than the model; none was sent")
    return JudgePair(
        input_path=root,
        output=output,
        evaluators=(first, second),
        requests=requests,
        common_request_sha256=common.pop(),
    )


def _distinct(primary_model: str, secondary_model: str) -> tuple[str, str]:
    """The models that are meant, if they are two."""
    given = {"primary_model": primary_model, "secondary_model": secondary_model}
    for name, model in given.items():
        if not isinstance(model, str) or not model.strip():
            raise ConfigurationError(f"{name} must name a model, got {model!r}")
    primary, secondary = (resolve_model("api", model) for model in given.values())
    if primary == secondary:
        raise ConfigurationError(
            f"primary_model and secondary_model must be two models, got {primary!r} for both"
        )
    return primary, secondary


def _evaluator(options: RolloutOptions) -> Evaluator:
    evaluator = Evaluator.of(options)
    settings = evaluator.settings
    if not settings.profile.shares_temperature:
        raise ConfigurationError(
            f"model {settings.model!r} takes no temperature, so that it can't be sent the same "
            "request as another; choose a model that takes one"
        )
    evaluator.settings = replace(settings, profile=_SHARED_PROFILE)
    return evaluator


def _without_model(request: JudgeRequest) -> dict[str, Any]:
    return {key: value for key, value in request.body().items() if key != "model"}


async def _ask(pair: JudgePair, number: int) -> ComparedJudge:
    request = pair.requests[number]
    settings: JudgeSettings = request.settings
    body = await asyncio.to_thread(request.body)
    exchange = await send_once(settings, canonical_json(body))
    message = result = error = None
    try:
        message = read_answer(exchange, settings.model)
        outcome = _outcome(request, exchange, message, _verdict(message))
        result = pair.evaluators[number].judged(
            request, pair.input_path, pair.output, outcome, is_stored=False
        )
    except AuditFailure as failure:
        error = JudgeCallError(
            model=settings.model,
            stage=failure.stage,
            error_type=failure.error_type,
            message=failure.message,
            request=request.evidence(exchange.requested_at),
            provider=provider_evidence(exchange, message),
        )
    return ComparedJudge(
        model=settings.model,
        transport_request_sha256=canonical_sha256(body),
        result=result,
        error=error,
    )


def _verdict(message: Message) -> ParsedVerdict:
    read_content(message.content)
    try:
        return parse_bare(message.content)
    except JudgeReplyError as error:
        raise AuditFailure("response_contract", str(error)) from None


def _outcome(
    request: JudgeRequest, exchange: Exchange, message: Message, verdict: ParsedVerdict
) -> JudgeOutcome:
    provider = provider_evidence(exchange, message, verdict.parser_version)
    if provider is None or exchange.answer is None:
        raise JudgeError("a verdict without an answer")
    return JudgeOutcome(
        verdict=verdict,
        evidence=Evidence(
            request=request.evidence(exchange.requested_at),
            provider=provider,
            attempts=list(exchange.answer.attempts),
            prompt_version=request.prompt_version,
        ),
    )


def _report(pair: JudgePair, primary: ComparedJudge, secondary: ComparedJudge) -> JudgeComparison:
    _require_same(primary, secondary)
    request, options = pair.requests[0], pair.evaluators[0].options
    status = _status(primary, secondary)
    delta = None
    if primary.result is not None and secondary.result is not None:
        delta = round_score(secondary.result.score - primary.result.score) + 0.0
    return JudgeComparison(
        status=status,
        passed=status == "judges_agree_passed",
        escalation_required=not status.startswith("judges_agree"),
        input_path=options.input_path,
        output_path=options.output_path,
        result_uri=str(pair.output),
        task=request.task,
        rubric=request.rubric,
        success_threshold=options.success_threshold,
        frame_selection=request.frame_selection,
        frame_count=len(request.frames),
        shared_frame_sha256=[frame.evidence.sha256 for frame in request.frames],
        common_request_sha256=pair.common_request_sha256,
        primary=primary,
        secondary=secondary,
        score_delta_secondary_minus_primary=delta,
        generated_at=datetime.now(UTC).isoformat(),
        **limits(*_LIMITATIONS),
    )


def _status(primary: ComparedJudge, secondary: ComparedJudge) -> ComparisonStatus:
    if primary.result is None or secondary.result is None:
        return "judge_error"
    served = {(judge.served_model or "").casefold() for judge in (primary.result, secondary.result)}
    if len(served) == 1:  # names that differ in case alone are the same model's
        return "judge_identity_collision"
    if primary.result.passed != secondary.result.passed:
        return "judge_disagreement"
    return "judges_agree_passed" if primary.result.passed else "judges_agree_needs_iteration"


def _require_same(primary: ComparedJudge, secondary: ComparedJudge) -> None:
    """Look once more at what was kept: both judges must have been asked the same.

    Raises:
        JudgeError: they were not, which is a bug.
    """
    first, second = primary.asked, secondary.asked
    for name in ("frames", "prompt_sha256", "rubric_sha256"):
        if getattr(first, name) != getattr(second, name):
            raise JudgeError(f"the judges were not asked the same: {name} differs")
    if {first.endpoint_role, second.endpoint_role} != {"hosted-api"}:
        raise JudgeError("a judge that is compared must be a hosted one")
