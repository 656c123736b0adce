"""What counts as a judge's verdict: the completion around it, and the JSON inside.

Nothing is coerced, clamped or guessed; what is not exactly the documented shape is rejected with a
reason. NOTE [framing]: a hosted judge must answer with one JSON object and nothing else. A
self-hosted one may wrap it in prose, as adapters in use do: then what lies between the first `{`
and the last `}` counts. Either may put it into one Markdown fence, which the parser's name records.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from framejudge.errors import JudgeReplyError
from framejudge.schemas.text import is_unicode

__all__ = [
    "FENCE_SUFFIX",
    "HOSTED_PARSER",
    "SELF_HOSTED_PARSER",
    "Completion",
    "Message",
    "ParsedVerdict",
    "parse_bare",
    "parse_hosted",
    "parse_self_hosted",
    "read_completion",
    "read_message",
    "strict_json",
    "unkeepable",
]

HOSTED_PARSER = "npa_vlm_eval_hosted_json_v1"
SELF_HOSTED_PARSER = "npa_vlm_eval_compatible_json_v2"
FENCE_SUFFIX = "+markdown-fence-v1"

_FENCE = re.compile(r"```(?:json)?(.*)```", re.IGNORECASE | re.DOTALL)
_SHOWN = 200
_MAX_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedVerdict:
    """The three fields of a verdict, as the judge wrote them."""

    success: bool
    score: float
    """In [0, 1], not rounded."""
    rationale: str
    parser_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """What the provider says about the call."""

    provider_request_id: str | None
    returned_model: str | None
    finish_reason: str
    usage: dict[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message(_Answered):
    """A completed answer whose content is still unread."""

    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(_Answered):
    """An accepted answer: a verdict and what the provider says about the call."""

    verdict: ParsedVerdict


def parse_bare(content: str) -> ParsedVerdict:
    """Read a verdict that is one JSON object without anything around it, a fence included.

    Args:
        content: the message's text.

    Raises:
        JudgeReplyError: anything else, with what it was.

    >>> parse_bare('{"success": true, "score": 1, "rationale": "Frame 4 shows it"}').score
    1.0
    """
    try:
        found = strict_json(content)
    except ValueError as error:
        _reject("the verdict is not one bare JSON object", str(error), content)
    return _verdict(found, HOSTED_PARSER, content)


def parse_hosted(content: str) -> ParsedVerdict:
    """Read the verdict of a hosted judge: one JSON object, keys unique at every depth.

    Args:
        content: the message's text.

    Raises:
        JudgeReplyError: anything else, with what it was.

    >>> parse_hosted('{"success": true, "score": 0.9, "rationale": "Frame 4 shows it"}').score
    0.9
    """
    text, suffix = _without_fence(content)
    try:
        found = strict_json(text)
    except ValueError as error:
        _reject("the verdict is not one JSON object", str(error), content)
    return _verdict(found, HOSTED_PARSER + suffix, content)


def parse_self_hosted(content: str) -> ParsedVerdict:
    """Read the verdict of a self-hosted judge; see NOTE [framing]. The fields are as strict.

    Args:
        content: the message's text.

    Raises:
        JudgeReplyError: no JSON object in it, or a field that is not as documented.

    >>> parse_self_hosted('So: {"success": false, "score": 0, "rationale": "not placed"}').score
    0.0
    """
    text, suffix = _without_fence(content)
    begin, end = text.find("{"), text.rfind("}")
    for candidate in (text, text[begin : end + 1] if 0 <= begin < end else ""):
        try:
            found = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return _verdict(found, SELF_HOSTED_PARSER + suffix, content)
    return _reject("the verdict holds no JSON object", "", content)


def read_completion(
    body: str, *, backend: Literal["api", "self-hosted"], requested_model: str
) -> Completion:
    """Accept or reject a chat completion; its end is checked before its content is parsed.

    Args:
        body: the response as text.
        backend: "api" requires the requested model's own name, and the stricter parser.
        requested_model: the model asked for.

    Raises:
        JudgeReplyError: refused, cut off, filtered, from another model, or no verdict.
    """
    message = read_message(body, backend=backend, requested_model=requested_model)
    parse = parse_hosted if backend == "api" else parse_self_hosted
    return Completion(
        verdict=parse(message.content),
        provider_request_id=message.provider_request_id,
        returned_model=message.returned_model,
        finish_reason=message.finish_reason,
        usage=message.usage,
    )


def read_message(
    body: str, *, backend: Literal["api", "self-hosted"], requested_model: str
) -> Message:
    """Accept or reject a chat completion as `read_completion` does, without reading its content.

    Args:
        body: the response as text.
        backend: "api" requires the requested model's own name.
        requested_model: the model asked for.

    Raises:
        JudgeReplyError: refused, cut off, filtered, or from another model.
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        _reject("the response is not JSON", str(error), body)
    if not isinstance(answer, dict):
        _reject("the response is not a JSON object", "", body)
    if problem := unkeepable(answer):
        _reject(f"the response {problem}", "", "")
    choice = _first_choice(answer, body)
    message = choice["message"]
    refusal = message.get("refusal")
    if refusal is not None and (not isinstance(refusal, str) or refusal.strip()):
        _reject("the judge refused", "", repr(refusal))
    finish_reason = choice.get("finish_reason")
    if finish_reason != "stop":
        _reject(
            "the answer is not complete", f"finish_reason must be 'stop', got {finish_reason!r}", ""
        )
    model = _served_model(answer, backend, requested_model)
    for key, kind in (("usage", dict), ("id", str)):
        if answer.get(key) is not None and not isinstance(answer[key], kind):
            _reject(f"the response's {key} must be {kind.__name__} or null", "", repr(answer[key]))
    return Message(
        content=message["content"],
        provider_request_id=answer.get("id"),
        returned_model=model,
        finish_reason=finish_reason,
        usage=answer.get("usage"),
    )


def strict_json(text: str) -> Any:
    """Read JSON in which keys are unique at every depth and numbers are numbers.

    Raises:
        ValueError: anything else, NaN and Infinity among it.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"key {next(k for k in keys if keys.count(k) > 1)!r} appears twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:_SHOWN]} is too large")
    return value


def _without_fence(content: str) -> tuple[str, str]:
    text = content.strip()
    fenced = _FENCE.fullmatch(text)
    return (fenced.group(1).strip(), FENCE_SUFFIX) if fenced else (text, "")


def _verdict(found: Any, parser_version: str, content: str) -> ParsedVerdict:
    if not isinstance(found, dict):
        _reject("the verdict is not a JSON object", "", content)
    success, rationale = found.get("success"), found.get("rationale")
    score: Any = found.get("score")
    if not isinstance(success, bool):
        _reject("success must be a boolean", f"got {success!r}"[:_SHOWN], "")
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    if not is_number or not 0 <= score <= 1 or not math.isfinite(score):
        _reject("score must be a finite number in [0, 1]", f"got {score!r}"[:_SHOWN], "")
    if not isinstance(rationale, str) or not rationale.strip():
        _reject("rationale must be a nonempty string", f"got {rationale!r}"[:_SHOWN], "")
    # A negative zero is a zero.
    return ParsedVerdict(
        success=success,
        score=float(score) + 0.0,
        rationale=rationale,
        parser_version=parser_version,
    )


def _first_choice(answer: dict[str, Any], body: str) -> dict[str, Any]:
    choices = answer.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        _reject("the response has no choices[0].message", "", body)
    if not isinstance(message.get("content"), str):
        # A refusal comes without content, and is the better reason.
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal.strip():
            _reject("the judge refused", "", refusal)
        _reject("choices[0].message.content must be a string", "", repr(message.get("content")))
    return choice


def _served_model(answer: dict[str, Any], backend: str, requested: str) -> str | None:
    model = answer.get("model")
    if backend == "api":
        if model != requested or not isinstance(model, str):
            _reject("another model answered", f"asked for {requested!r}, got {model!r}", "")
        return model
    if model is not None and (not isinstance(model, str) or not model):
        _reject("the response's model must be a nonempty string or null", "", repr(model))
    served: str | None = model
    return served


def _reject(what: str, why: str, shown: str) -> NoReturn:
    excerpt = f": {shown[:_SHOWN]!r}" if shown else ""
    raise JudgeReplyError(f"{what}{f' ({why})' if why else ''}{excerpt}")


def unkeepable(value: Any) -> str | None:
    """Return what keeps a JSON value from being written as JSON again; None for nothing."""
    level, depth = [value], 0
    while level:
        if depth > _MAX_DEPTH:
            return f"nests deeper than {_MAX_DEPTH}"
        below: list[Any] = []
        for item in level:
            if isinstance(item, str) and not is_unicode(item):
                return "holds a lone surrogate"
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list):
                below += item
        level, depth = below, depth + 1
    return None
