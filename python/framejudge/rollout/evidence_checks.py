"""What evidence must prove before a checkpoint is promoted: an ordered list of checks.

They work on the JSON as it was read: a boolean is no number here, and nothing is coerced. Hashes
show that a record agrees with itself; they don't show who wrote it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import ValidationError

from framejudge.errors import FramejudgeError, JudgeReplyError
from framejudge.judge.parsing import (
    ParsedVerdict,
    parse_hosted,
    parse_self_hosted,
    read_completion,
    strict_json,
)
from framejudge.judge.prompt import PROMPT_VERSION, build_prompt, default_rubric
from framejudge.judge.request import sampling_of, text_sha256
from framejudge.schemas import FrameEvidence
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import EVIDENCE_SCHEMA, canonical_sha256

__all__ = ["CHECKS", "first_problem", "problems"]

Record = dict[str, Any]
Problem = str | None

_V1 = "npa_vlm_eval_evidence_v1"
_HEX = re.compile(r"[0-9a-f]{64}")
_REQUEST_KEYS = (
    "requested_at",
    "endpoint_role",
    "prompt_sha256",
    "rubric_sha256",
    "request_manifest_sha256",
    "request_manifest",
    "frames",
)
_PROVIDER_KEYS = (
    "provider_request_id",
    "returned_model",
    "finish_reason",
    "latency_s",
    "status_code",
    "usage",
    "raw_response",
    "raw_response_sha256",
    "parser_version",
)
_ROLES = {"api": "hosted-api", "self-hosted": "self-hosted"}


def first_problem(report: Record) -> Problem:
    """Return the reason of the first check that fails, or None."""
    return next((problem for _, problem in problems(report) if problem), None)


def problems(report: Record) -> Iterator[tuple[str, Problem]]:
    """Yield each check's name with its reason, None where it holds.

    What a check stumbles over is what it was to check: it fails for its own reason.
    """
    for name, (check, reason) in CHECKS.items():
        try:
            yield name, check(report)
        except (LookupError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
            yield name, reason


def _schema(report: Record) -> Problem:
    evidence = report["evidence"]
    request, provider = evidence["request"], evidence["provider"]
    known = evidence["schema_version"] in (EVIDENCE_SCHEMA, _V1)
    whole = all(key in request for key in _REQUEST_KEYS) and set(provider) >= set(_PROVIDER_KEYS)
    return None if known and whole else "schema_invalid"


def _manifest_digest(report: Record) -> Problem:
    request = report["evidence"]["request"]
    return _digest(
        request["request_manifest_sha256"], canonical_sha256(request["request_manifest"])
    )


def _binding(report: Record) -> Problem:
    evidence = report["evidence"]
    request, manifest = evidence["request"], evidence["request"]["request_manifest"]
    same = (
        manifest["schema_version"] == evidence["schema_version"]
        and manifest["endpoint_role"] == request["endpoint_role"] == _ROLES[report["backend"]]
        and manifest["requested_model"] == report["model"]
        and _same(manifest["frames"], request["frames"])
        and manifest["prompt_sha256"] == request["prompt_sha256"]
        and manifest["rubric_sha256"] == request["rubric_sha256"]
    )
    return None if same else "request_binding_mismatch"


def _request(report: Record) -> Problem:
    request = report["evidence"]["request"]
    fine = (
        isinstance(request["requested_at"], str)
        and request["requested_at"]
        and isinstance(request["request_manifest"]["generation_parameters"], dict)
        and isinstance(report["model"], str)
        and report["model"]
    )
    return None if fine else "request_invalid"


def _frames(report: Record) -> Problem:
    frames, count = report["evidence"]["request"]["frames"], report["frame_count"]
    if not _whole(count) or count < 1 or not isinstance(frames, list) or len(frames) != count:
        return "frame_metadata_invalid"
    for frame in frames:
        fine = (
            isinstance(frame["label"], str)
            and frame["label"]
            and isinstance(frame["media_type"], str)
            and frame["media_type"].startswith("image/")
            and all(_whole(frame[k]) and frame[k] >= 1 for k in ("byte_count", "width", "height"))
            and isinstance(frame["sha256"], str)
            and _HEX.fullmatch(frame["sha256"])
        )
        if not fine:
            return "frame_metadata_invalid"
    return None


def _sampling(report: Record) -> Problem:
    evidence = report["evidence"]
    if evidence["schema_version"] == _V1:
        return None
    stored = evidence["request"]["request_manifest"].get("sampling")
    if not isinstance(stored, dict) or not _whole(stored.get("max_frames")):
        return "sampling_invalid"
    try:
        frames = [
            FrameEvidence.model_validate(frame, strict=True)
            for frame in evidence["request"]["frames"]
        ]
    except ValidationError:
        return "sampling_invalid"
    if any(f.source_timestamp_s is not None and f.source_kind != "video" for f in frames):
        return "sampling_invalid"
    expected = sampling_of(
        frames, strategy=report["frame_selection"], max_frames=stored["max_frames"]
    )
    return None if _same(stored, expected.model_dump(mode="json")) else "sampling_mismatch"


def _prompt(report: Record) -> Problem:
    evidence = report["evidence"]
    version = evidence.get("prompt_version") or PROMPT_VERSION
    rubric = report.get("rubric")
    try:
        if rubric is None and evidence["schema_version"] == _V1:
            rubric = default_rubric(version)
        if not isinstance(rubric, str):
            return "digest_mismatch"
        prompt = build_prompt(
            task=report["task"],
            rubric=rubric,
            frame_selection=report["frame_selection"],
            frame_count=report["frame_count"],
            version=version,
        )
    except FramejudgeError:  # another producer's prompt
        return "digest_mismatch"
    request = evidence["request"]
    return _digest(request["prompt_sha256"], text_sha256(prompt)) or _digest(
        request["rubric_sha256"], text_sha256(rubric)
    )


def _raw_response(report: Record) -> Problem:
    provider = report["evidence"]["provider"]
    raw = provider["raw_response"]
    if not isinstance(raw, str):
        return "provider_response_invalid"
    problem = _digest(provider["raw_response_sha256"], text_sha256(raw))
    if problem:
        return problem
    try:
        return None if isinstance(strict_json(raw), dict) else "provider_response_invalid"
    except ValueError:
        return "provider_response_invalid"


def _transport(report: Record) -> Problem:
    provider = report["evidence"]["provider"]
    status, latency = provider["status_code"], provider["latency_s"]
    if status is not None and not (_whole(status) and 200 <= status <= 299):  # noqa: PLR2004
        return "provider_transport_invalid"
    return None if _number(latency) and latency >= 0 else "provider_metadata_invalid"


def _completion(report: Record) -> Problem:
    choice = _choice(report)
    refusal, finish = choice["message"].get("refusal"), choice.get("finish_reason")
    if refusal is not None and not isinstance(refusal, str):
        return "provider_refusal_invalid"
    if refusal and refusal.strip():
        return "provider_completion_refused"
    if finish == "content_filter":
        return "provider_completion_filtered"
    return None if finish == "stop" else "provider_completion_incomplete"


def _verdict(report: Record) -> Problem:
    """Whatever the backend, a promotion needs the stricter framing."""
    return None if _parsed(report, parse_hosted) else "provider_verdict_invalid"


def _model(report: Record) -> Problem:
    returned = report["evidence"]["provider"]["returned_model"]
    same = report["backend"] != "api" or returned == report["model"]
    return None if same else "provider_model_mismatch"


def _answer(report: Record) -> Problem:
    """By the same rules as when it came in."""
    try:
        read_completion(
            report["evidence"]["provider"]["raw_response"],
            backend=report["backend"],
            requested_model=report["model"],
        )
    except JudgeReplyError:
        return "provider_response_invalid"
    return None


def _provider(report: Record) -> Problem:
    """The whole object, rebuilt from the raw response."""
    stored = report["evidence"]["provider"]
    answer = json.loads(stored["raw_response"])
    parsed = _parsed(report, _parser(report))
    request_id = answer.get("id")
    rebuilt = {
        # A request id may come from a header, which is kept here alone.
        "provider_request_id": stored["provider_request_id"] if request_id is None else request_id,
        "returned_model": answer.get("model"),
        "finish_reason": _choice(report).get("finish_reason"),
        "latency_s": stored["latency_s"],
        "status_code": stored["status_code"],
        "usage": answer.get("usage"),
        "raw_response": stored["raw_response"],
        "raw_response_sha256": text_sha256(stored["raw_response"]),
        "parser_version": parsed.parser_version if parsed else None,
    }
    kept = rebuilt["provider_request_id"]
    fine = kept is None or isinstance(kept, str)
    return None if fine and _same(stored, rebuilt) else "provider_metadata_mismatch"


def _result(report: Record) -> Problem:
    parsed = _parsed(report, _parser(report))
    score, threshold = report["score"], report["success_threshold"]
    numbers = all(_number(value) and 0 <= value <= 1 for value in (score, threshold))
    flags = ["passed"]
    flags += [
        key
        for key in (
            "provider_success",
            "provider_success_matches_score_gate",
            "served_model_match_enforced",
        )
        if key in report
    ]
    if not numbers or any(not isinstance(report[key], bool) for key in flags) or parsed is None:
        return "result_invalid"
    passed = score >= threshold
    expected = {
        "score": round_score(parsed.score),
        "passed": passed,
        "status": "passed" if passed else "needs_iteration",
        "served_model": report["evidence"]["provider"]["returned_model"],
        "rationale": parsed.rationale,
        "provider_success": parsed.success,
        "provider_success_matches_score_gate": parsed.success == passed,
        "served_model_match_enforced": report["backend"] == "api",
    }
    optional = {"provider_success", "provider_success_matches_score_gate"}
    optional.add("served_model_match_enforced")
    wrong = [
        key
        for key, value in expected.items()
        if not (key in optional and key not in report) and report[key] != value
    ]
    return "result_mismatch" if wrong else None


CHECKS: dict[str, tuple[Callable[[Record], Problem], str]] = {
    "evidence schema": (_schema, "schema_invalid"),
    "request manifest hash": (_manifest_digest, "digest_invalid"),
    "request binding": (_binding, "request_binding_mismatch"),
    "request": (_request, "request_invalid"),
    "frame metadata": (_frames, "frame_metadata_invalid"),
    "sampling": (_sampling, "sampling_invalid"),
    "prompt and rubric hash": (_prompt, "digest_mismatch"),
    "raw response hash": (_raw_response, "provider_response_invalid"),
    "transport": (_transport, "provider_transport_invalid"),
    "completion": (_completion, "provider_response_invalid"),
    "strict verdict": (_verdict, "provider_verdict_invalid"),
    "served model": (_model, "provider_model_mismatch"),
    "answer, read again": (_answer, "provider_response_invalid"),
    "provider metadata": (_provider, "provider_metadata_mismatch"),
    "result": (_result, "result_invalid"),
}
"""In the order in which they count; beside each, the reason where it can't even be made."""


def _digest(stored: Any, computed: str) -> Problem:
    if not isinstance(stored, str) or not _HEX.fullmatch(stored):
        return "digest_invalid"
    return None if stored == computed else "digest_mismatch"


def _same(a: Any, b: Any) -> bool:
    """Equal as JSON: true is not 1."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def _choice(report: Record) -> Record:
    choice: Record = json.loads(report["evidence"]["provider"]["raw_response"])["choices"][0]
    return choice


def _parser(report: Record) -> Callable[[str], ParsedVerdict]:
    return parse_hosted if report["backend"] == "api" else parse_self_hosted


def _parsed(report: Record, parse: Callable[[str], ParsedVerdict]) -> ParsedVerdict | None:
    content = _choice(report)["message"]["content"]
    try:
        return parse(content)
    except JudgeReplyError:
        return None
