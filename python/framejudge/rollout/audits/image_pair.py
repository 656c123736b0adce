"""`compare-preference`: which of two images a judge prefers, asked blind and in both orders."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from framejudge._files import place
from framejudge._private_files import create_private
from framejudge.errors import ConfigurationError
from framejudge.judge import default_rubric
from framejudge.judge.audit_access import resolve_audit_judge
from framejudge.judge.backends import DEFAULT_API_KEY_ENV, resolve_model
from framejudge.judge.request import text_sha256
from framejudge.judge.transport import Answer, decoded
from framejudge.rollout.audits.call import (
    UNPARSED,
    AuditFailure,
    Exchange,
    audit_path,
    provider_evidence,
    read_answer,
    read_content,
    refuse_key,
    send_once,
)
from framejudge.rollout.audits.journal import Journal
from framejudge.rollout.audits.preference_request import (
    OrderRequest,
    make_orders,
    read_image,
    refuse_banned_words,
)
from framejudge.schemas import ProviderEvidence
from framejudge.schemas.limitations import limits
from framejudge.schemas.preference import (
    MappedPreference,
    PreferenceError,
    PreferenceOutcome,
    PreferenceReport,
    PreferenceStatus,
    PreferenceVerdict,
)
from framejudge.schemas.rollout import artifact_json, canonical_json, canonical_sha256

__all__ = [
    "DEFAULT_PREFERENCE_MODEL",
    "JOURNAL_FOLDER",
    "PREFERENCE_FILE",
    "PREFERENCE_PARSER",
    "compare_preference",
    "compare_preference_async",
    "parse_preference",
]

_LIMITATIONS = (
    "preference_is_no_measurement",
    "preference_order_and_chance_not_separated",
    "preference_one_judge",
    "preference_no_defence_against_in_image_instructions",
    "preference_blinding_covers_labels_only",
    "preference_inputs_not_shown_to_match",
)

PREFERENCE_FILE = "vlm_preference_comparison.json"
JOURNAL_FOLDER = ".vlm_preference_comparison"
PREFERENCE_PARSER = "npa_vlm_preference_hosted_json_v1"
DEFAULT_PREFERENCE_MODEL = "MiniMaxAI/MiniMax-M3"

_READY = "report-ready"
_CONSISTENT: dict[MappedPreference | None, PreferenceStatus] = {
    "tie": "consistent_tie",
    "baseline": "consistent_baseline_preference",
    "candidate": "consistent_candidate_preference",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """What was told, checked; no file was looked at but the rubric's."""

    baseline_path: str
    candidate_path: str
    output_path: str
    task: str
    model: str
    rubric: str
    endpoint_url: str
    api_key_env: str
    timeout_s: float


def compare_preference(
    baseline_path: str,
    candidate_path: str,
    output_path: str,
    *,
    task: str,
    model: str = DEFAULT_PREFERENCE_MODEL,
    endpoint_url: str = "",
    api_key_env: str = DEFAULT_API_KEY_ENV,
    rubric: str = "",
    rubric_path: str = "",
    timeout_s: float = 120.0,
) -> PreferenceReport:
    """Ask a hosted judge which of two images serves a task better, once in each order.

    The artifact, `vlm_preference_comparison.json`, is an audit's: private, never replaced, never a
    gate. A journal beside it holds each request before it is sent and each answer before it is
    read. Where a process died after both answers, the same call again writes the report and sends
    nothing; where it died before, the output can't be used again.

    Args:
        baseline_path: a picture, or a folder with exactly one.
        candidate_path: another one; the judge is not told which is which.
        output_path: a folder, or a path that ends in vlm_preference_comparison.json.
        task: what the images are to show, without the words "baseline" and "candidate".
        model: the judge.
        endpoint_url: a base URL; default: the hosted one.
        api_key_env: the environment variable that holds the key.
        rubric: how to weigh; default: the one for rollouts.
        rubric_path: a file with the rubric; it comes before `rubric`.
        timeout_s: of one request.

    Returns:
        What was written.

    Raises:
        ConfigurationError: an option that can't work, or an output that exists; nothing was sent.
            `AuditAccessError` for an address or a key that may not be used.
        DataError, ImageError: not exactly one image, or one that can't be read; nothing was sent.
    """
    return asyncio.run(
        compare_preference_async(
            baseline_path,
            candidate_path,
            output_path,
            task=task,
            model=model,
            endpoint_url=endpoint_url,
            api_key_env=api_key_env,
            rubric=rubric,
            rubric_path=rubric_path,
            timeout_s=timeout_s,
        )
    )


async def compare_preference_async(
    baseline_path: str,
    candidate_path: str,
    output_path: str,
    *,
    task: str,
    model: str = DEFAULT_PREFERENCE_MODEL,
    endpoint_url: str = "",
    api_key_env: str = DEFAULT_API_KEY_ENV,
    rubric: str = "",
    rubric_path: str = "",
    timeout_s: float = 120.0,
) -> PreferenceReport:
    """Do what `compare_preference` does, in a running event loop."""
    options = _Options(
        baseline_path=str(baseline_path),
        candidate_path=str(candidate_path),
        output_path=str(output_path),
        task=task.strip(),
        model=resolve_model("api", model) if model.strip() else "",
        rubric=await asyncio.to_thread(_rubric, rubric, rubric_path),
        endpoint_url=endpoint_url,
        api_key_env=api_key_env,
        timeout_s=timeout_s,
    )
    _check(options)
    output = await asyncio.to_thread(audit_path, options.output_path, PREFERENCE_FILE)
    journal = Journal(output.parent / JOURNAL_FOLDER)
    if await asyncio.to_thread(lambda: journal.is_begun):
        return await asyncio.to_thread(_recover, options, output, journal)
    await asyncio.to_thread(_refuse_leftovers, output)
    orders = await asyncio.to_thread(_prepare, options)
    return await _ask_both(options, output, journal, orders)


def parse_preference(content: str) -> PreferenceVerdict:
    """Read a judge's preference: one bare JSON object with exactly the documented keys.

    Args:
        content: the message's text.

    Raises:
        AuditFailure: anything else, with what it was.

    >>> parse_preference(
    ...     '{"preference": "A", "confidence": "high", "observable_support": ["A is level"],'
    ...     ' "critical_defects": {"A": ["none visible"], "B": ["it leans"]},'
    ...     ' "uncertainty": "the back is hidden"}'
    ... ).preference
    'A'
    """
    found = read_content(content)
    try:
        return PreferenceVerdict.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the verdict"
        raise AuditFailure("response_contract", f"{where}: {first['msg']}") from None


def _rubric(rubric: str, rubric_path: str) -> str:
    if rubric_path:
        try:
            rubric = place(rubric_path).read_text(encoding="utf-8")
        except (OSError, UnicodeError) as error:
            raise ConfigurationError(f"rubric_path: {rubric_path} can't be read: {error}") from None
    return rubric.strip() or default_rubric()


def _check(options: _Options) -> None:
    for name in ("baseline_path", "candidate_path", "output_path", "task", "model", "api_key_env"):
        if not getattr(options, name).strip():
            raise ConfigurationError(f"{name} must not be empty")
    if not (options.timeout_s > 0 and math.isfinite(options.timeout_s)):
        raise ConfigurationError(f"timeout_s must be above 0, got {options.timeout_s}")
    refuse_banned_words(model=options.model, task=options.task, rubric=options.rubric)
    paths = [place(path) for path in (options.baseline_path, options.candidate_path)]
    resolved = [path.resolve() if isinstance(path, Path) else path for path in paths]
    if resolved[0] == resolved[1]:
        raise ConfigurationError(
            f"baseline_path and candidate_path must be two images, got {paths[0]} for both"
        )


def _refuse_leftovers(output: Path) -> None:
    """Refuse an output whose journal was taken away after its report was begun."""
    folder = output.parent
    if isinstance(folder, Path) and any(folder.glob(f".{output.name}.*.part")):
        raise ConfigurationError(
            f"{folder}: holds a part of an earlier report; choose another output_path"
        )


def _prepare(options: _Options) -> tuple[OrderRequest, OrderRequest]:
    settings = resolve_audit_judge(
        model=options.model,
        endpoint_url=options.endpoint_url,
        api_key_env=options.api_key_env,
        timeout_s=options.timeout_s,
    )
    refuse_key(settings, task=options.task, rubric=options.rubric)
    return make_orders(
        settings,
        task=options.task,
        rubric=options.rubric,
        baseline=read_image(options.baseline_path, "baseline_path"),
        candidate=read_image(options.candidate_path, "candidate_path"),
    )


async def _ask_both(
    options: _Options, output: Path, journal: Journal, orders: tuple[OrderRequest, OrderRequest]
) -> PreferenceReport:
    await asyncio.to_thread(journal.write, "state", _state(options, orders))
    outcomes = [await _ask(journal, order, number) for number, order in enumerate(orders, start=1)]
    report = _report(options, output, orders, outcomes)
    content = artifact_json(report).encode()
    await asyncio.to_thread(journal.write_bytes, _READY, content)
    await asyncio.to_thread(create_private, output, content)
    return report


def _state(options: _Options, orders: tuple[OrderRequest, OrderRequest]) -> dict[str, Any]:
    """What the journal is of, before anything is sent: hashes alone."""
    baseline, candidate = (image.evidence.sha256 for image in orders[0].images)
    return {
        "state": "transport_pending",
        "identity_sha256": _identity(options),
        "prompt_sha256": text_sha256(orders[0].prompt),
        "normalized_baseline_sha256": baseline,
        "normalized_candidate_sha256": candidate,
        "unordered_pair_sha256": canonical_sha256(sorted([baseline, candidate])),
        "transport_request_sha256": [_sha256(order.content) for order in orders],
        "created_at": datetime.now(UTC).isoformat(),
    }


def _identity(options: _Options) -> str:
    """What makes two calls the same one; where it is sent and how long it may take does not."""
    return canonical_sha256(
        {
            name: getattr(options, name)
            for name in (
                "baseline_path",
                "candidate_path",
                "output_path",
                "task",
                "model",
                "rubric",
            )
        }
    )


async def _ask(journal: Journal, order: OrderRequest, number: int) -> PreferenceOutcome:
    """Ask in one order: each step is in the journal before the next is taken."""
    named = {
        "order_id": order.order_id,
        "transport_request_sha256": _sha256(order.content),
    }
    request = named | {"transport_request": order.body}
    await asyncio.to_thread(journal.write, "request", request, number=number)
    boundary = named | {"transport_starts_after": datetime.now(UTC).isoformat()}
    await asyncio.to_thread(journal.write, "transport-boundary", boundary, number=number)
    exchange = await send_once(order.settings, order.content)
    response = named | _as_received(exchange)
    await asyncio.to_thread(journal.write, "response", response, number=number)
    return _outcome(order, exchange)


def _as_received(exchange: Exchange) -> dict[str, Any]:
    answer = exchange.answer
    if answer is None:
        return {
            "requested_at": exchange.requested_at,
            "problem": exchange.problem,
            "is_withheld": exchange.is_withheld,
            "body_base64": None,
        }
    return {
        "requested_at": exchange.requested_at,
        "problem": None,
        "is_withheld": False,
        "status_code": answer.status_code,
        "latency_s": answer.latency_s,
        "provider_request_id": answer.request_id,
        "body_base64": base64.b64encode(answer.content).decode("ascii"),
        "body_sha256": _sha256(answer.content),
        "body_bytes": len(answer.content),
    }


def _received(response: dict[str, Any]) -> Exchange:
    """What `_as_received` was made of."""
    answer = None
    if response["body_base64"] is not None:
        content = base64.b64decode(response["body_base64"], validate=True)
        answer = Answer(
            status_code=response["status_code"],
            text=decoded(content),
            content=content,
            request_id=response["provider_request_id"],
            latency_s=response["latency_s"],
            requested_at=response["requested_at"],
            attempts=(),
        )
    return Exchange(
        requested_at=response["requested_at"],
        answer=answer,
        problem=response["problem"],
        is_withheld=response["is_withheld"],
    )


_Read = tuple[ProviderEvidence | None, PreferenceVerdict | None, PreferenceError | None]


def _read(exchange: Exchange, model: str) -> _Read:
    message = verdict = error = None
    try:
        message = read_answer(exchange, model)
        verdict = parse_preference(message.content)
    except AuditFailure as failure:
        error = PreferenceError(
            stage=failure.stage, error_type=failure.error_type, message=failure.message
        )
    parser = UNPARSED if verdict is None else PREFERENCE_PARSER
    return provider_evidence(exchange, message, parser), verdict, error


def _outcome(order: OrderRequest, exchange: Exchange) -> PreferenceOutcome:
    provider, verdict, error = _read(exchange, order.settings.model)
    return PreferenceOutcome(
        order_id=order.order_id,
        A_arm=order.a_arm,
        B_arm=order.b_arm,
        transport_request_sha256=_sha256(order.content),
        transport_request=order.body,
        request=order.evidence(exchange.requested_at),
        provider=provider,
        verdict=verdict,
        error=error,
    )


def _report(
    options: _Options,
    output: Path,
    orders: tuple[OrderRequest, OrderRequest],
    outcomes: list[PreferenceOutcome],
) -> PreferenceReport:
    first, second = outcomes
    status = _status(first, second)
    is_consistent = status.startswith("consistent_")
    baseline, candidate = (image.evidence.sha256 for image in orders[0].images)
    return PreferenceReport(
        status=status,
        escalation_required=not is_consistent,
        agreement_eligible=is_consistent,
        baseline_path=options.baseline_path,
        candidate_path=options.candidate_path,
        output_path=options.output_path,
        result_uri=str(output),
        model=options.model,
        task=options.task,
        rubric=options.rubric,
        normalized_baseline_sha256=baseline,
        normalized_candidate_sha256=candidate,
        unordered_pair_sha256=canonical_sha256(sorted([baseline, candidate])),
        first_order=first,
        reversed_order=second,
        mapped_preferences=[first.mapped, second.mapped],
        generated_at=datetime.now(UTC).isoformat(),
        **limits(*_LIMITATIONS),
    )


def _status(first: PreferenceOutcome, second: PreferenceOutcome) -> PreferenceStatus:
    if first.verdict is None or second.verdict is None:
        return "judge_error"
    mapped = (first.mapped, second.mapped)
    if "unresolved" in mapped:
        return "unresolved"
    if {first.verdict.confidence, second.verdict.confidence} != {"high"}:
        return "low_confidence"
    if mapped[0] != mapped[1]:
        return "order_disagreement_or_nondeterminism"
    return _CONSISTENT[mapped[0]]


def _recover(options: _Options, output: Path, journal: Journal) -> PreferenceReport:
    """Write the report that a process made and could not write; nothing is sent.

    Raises:
        ConfigurationError: there is none, it is another call's, or it was changed.
    """
    if not journal.holds(_READY):
        raise ConfigurationError(
            f"{journal.folder}: an earlier call with this output stopped before its report was "
            "made; what was sent is never sent again, so choose another output_path"
        )
    content = journal.read(_READY)
    try:
        report = PreferenceReport.model_validate_json(content)
    except ValidationError:
        raise ConfigurationError(f"{journal.folder}: its report can't be read") from None
    state = journal.read_json("state")
    if not isinstance(state, dict) or state.get("identity_sha256") != _identity(options):
        raise ConfigurationError(
            f"{journal.folder}: is of a call with other paths, task, model or rubric; repeat that "
            "one, or choose another output_path"
        )
    is_whole = content == artifact_json(report).encode() and report.result_uri == str(output)
    if not is_whole or not _agrees(report, state) or not _is_answered(report, journal):
        raise ConfigurationError(f"{journal.folder}: its report was changed, and is not written")
    create_private(output, content)
    return report


def _is_answered(report: PreferenceReport, journal: Journal) -> bool:
    """Whether a report's outcomes are what the answers in the journal give once more."""
    try:
        return all(
            _read(_received(journal.read_json("response", number=number)), report.model)
            == (outcome.provider, outcome.verdict, outcome.error)
            for number, outcome in enumerate((report.first_order, report.reversed_order), start=1)
        )
    except (KeyError, TypeError, ValueError):  # of a file that is no such record
        return False


def _agrees(report: PreferenceReport, state: dict[str, Any]) -> bool:
    """Whether a report is of the requests that were to be sent, and concludes what it must."""
    outcomes = (report.first_order, report.reversed_order)
    sent = [_sha256(canonical_json(outcome.transport_request)) for outcome in outcomes]
    baseline, candidate = report.normalized_baseline_sha256, report.normalized_candidate_sha256
    return (
        sent == [outcome.transport_request_sha256 for outcome in outcomes]
        and sent == state.get("transport_request_sha256")
        and baseline == state.get("normalized_baseline_sha256")
        and candidate == state.get("normalized_candidate_sha256")
        and report.status == _status(*outcomes)
        and report.mapped_preferences == [outcome.mapped for outcome in outcomes]
        and report.escalation_required is not report.status.startswith("consistent_")
        and report.agreement_eligible is report.status.startswith("consistent_")
    )


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
