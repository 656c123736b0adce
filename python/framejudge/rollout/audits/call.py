"""One call of an audit: a request that is sent once, and its answer, kept whatever it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from framejudge._files import place
from framejudge._private_files import refuse_existing, refuse_links
from framejudge.errors import ConfigurationError, JudgeReplyError, JudgeTransportError
from framejudge.judge import JudgeSettings
from framejudge.judge.parsing import Message, read_message, strict_json, unkeepable
from framejudge.judge.request import text_sha256
from framejudge.judge.transport import Answer, Transport
from framejudge.rollout.options import RolloutOptions
from framejudge.schemas import ProviderEvidence
from framejudge.schemas.judge_audit import AUDIT_ERROR_TYPES, AuditStage

__all__ = [
    "UNPARSED",
    "AuditFailure",
    "Exchange",
    "audit_path",
    "provider_evidence",
    "read_answer",
    "read_content",
    "refuse_key",
    "send_once",
]

UNPARSED = "npa_vlm_eval_unparsed_v1"

_MESSAGE_CHARS = 1000
_ESCAPED = re.compile(r"\\u00([0-9a-fA-F]{2})")
_WITHHELD = "the response repeats the API key; it is not kept"


class AuditFailure(Exception):  # noqa: N818 - an outcome that is recorded, not an error
    """No verdict came of a call.

    Attributes:
        stage: where it ended.
        error_type: the stage's name for programs.
        message: at most 1000 characters.
    """

    def __init__(self, stage: AuditStage, message: str) -> None:
        """Say where and why."""
        super().__init__(message)
        self.stage = stage
        self.error_type = AUDIT_ERROR_TYPES[stage]
        self.message = message[:_MESSAGE_CHARS]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What was sent once, and what came back."""

    requested_at: str
    answer: Answer | None
    """None without a whole answer, or where it repeated the key."""
    problem: str | None
    """Why there is none."""
    is_withheld: bool = False


def audit_path(output_path: str, file_name: str) -> Path:
    """Return where an audit's artifact goes, after making sure that nothing is there yet.

    Args:
        output_path: a folder, or the artifact's own path.
        file_name: the artifact's one name.

    Raises:
        ConfigurationError: another name that ends in .json, something that exists, a link, or no
            right to write there.
    """
    if not output_path.strip():
        raise ConfigurationError("output_path must not be empty")
    path = place(output_path)
    if path.suffix == ".json" and path.name != file_name:
        raise ConfigurationError(
            f"output_path: a .json file must be called {file_name}, got {path.name!r}"
        )
    path = path if path.suffix == ".json" else path / file_name
    refuse_existing(path)
    refuse_links(path.parent)
    RolloutOptions.check_output(path)
    return path


def refuse_key(settings: JudgeSettings, **texts: str) -> None:
    """Refuse a text that holds the key, as it would be kept.

    Raises:
        ConfigurationError: by the text's name, without the text.
    """
    for name, text in texts.items():
        if settings.api_key and settings.api_key in text:
            raise ConfigurationError(f"{name} holds the API key, and would be kept")


async def send_once(settings: JudgeSettings, content: bytes) -> Exchange:
    """Send one request over a connection of its own, and never again.

    Args:
        settings: the judge.
        content: the request's JSON.
    """
    requested_at = datetime.now(UTC).isoformat()
    transport = Transport(
        settings.url,
        api_key=settings.api_key,
        timeout_s=settings.timeout_s,
        deadline_s=settings.timeout_s,
        max_attempts=1,
    )
    async with transport:
        try:
            answer = await transport.post_once(content)
        except JudgeTransportError as error:
            return Exchange(requested_at=requested_at, answer=None, problem=str(error))
    if _holds(answer.text, settings.api_key):
        return Exchange(requested_at=requested_at, answer=None, problem=_WITHHELD, is_withheld=True)
    return Exchange(requested_at=requested_at, answer=answer, problem=None)


def read_answer(exchange: Exchange, requested_model: str) -> Message:
    """Accept an answer up to its content, or say at which stage it failed.

    Args:
        exchange: the call.
        requested_model: the one that must have answered.

    Raises:
        AuditFailure: no answer, an error status, no JSON, or no completed message of the model.
    """
    answer = exchange.answer
    if answer is None:
        stage: AuditStage = "response_contract" if exchange.is_withheld else "transport"
        raise AuditFailure(stage, exchange.problem or "no answer")
    if not 200 <= answer.status_code < 300:  # noqa: PLR2004 - HTTP's
        raise AuditFailure("provider_http_status", f"HTTP {answer.status_code}: {answer.text}")
    try:
        found = strict_json(answer.text)
    except ValueError as error:
        raise AuditFailure("response_decode", f"the response is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise AuditFailure("response_decode", "the response is not a JSON object")
    if problem := unkeepable(found):
        raise AuditFailure("response_decode", f"the response {problem}")
    choices = found.get("choices")
    if isinstance(choices, list) and len(choices) > 1:
        raise AuditFailure(
            "response_contract", f"one choice was asked for, {len(choices)} were returned"
        )
    try:
        message = read_message(answer.text, backend="api", requested_model=requested_model)
    except JudgeReplyError as error:
        raise AuditFailure("response_contract", str(error)) from None
    return message


def read_content(content: str) -> Any:
    """Read a message's content, which must be bare JSON.

    Raises:
        AuditFailure: anything else, a Markdown fence among it.
    """
    try:
        found = strict_json(content)
    except ValueError as error:
        raise AuditFailure(
            "response_contract", f"the content is not bare JSON ({error}): {content[:200]!r}"
        ) from None
    if problem := unkeepable(found):
        raise AuditFailure("response_contract", f"the verdict {problem}")
    return found


def provider_evidence(
    exchange: Exchange, message: Message | None, parser_version: str = UNPARSED
) -> ProviderEvidence | None:
    """Return what is kept of an answer; of one that was not accepted, as far as it can be read.

    Args:
        exchange: the call.
        message: what was accepted; None for nothing.
        parser_version: who read the verdict.
    """
    answer = exchange.answer
    if answer is None:
        return None
    seen = _as_far_as_readable(answer.text) if message is None else message
    return ProviderEvidence(
        provider_request_id=seen.provider_request_id or answer.request_id,
        returned_model=seen.returned_model,
        finish_reason=seen.finish_reason or None,
        latency_s=answer.latency_s,
        status_code=answer.status_code,
        usage=seen.usage,
        raw_response=answer.text,
        raw_response_sha256=text_sha256(answer.text),
        parser_version=parser_version,
    )


def _as_far_as_readable(body: str) -> Message:
    try:
        found = strict_json(body)
    except ValueError:
        found = None
    if not isinstance(found, dict) or unkeepable(found):
        found = {}
    choices = found.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    finish = choice.get("finish_reason") if isinstance(choice, dict) else None
    usage, model, name = found.get("usage"), found.get("model"), found.get("id")
    return Message(
        content="",
        provider_request_id=name if isinstance(name, str) else None,
        returned_model=model if isinstance(model, str) else None,
        finish_reason=finish if isinstance(finish, str) else "",
        usage=usage if isinstance(usage, dict) else None,
    )


def _holds(text: str, key: str) -> bool:
    """Whether a response holds a key, also behind JSON's escapes at any depth."""
    if not key:
        return False
    plain = _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text).replace("\\", "")
    return key in text or key.replace("\\", "") in plain
