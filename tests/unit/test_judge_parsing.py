"""Which answers count as a verdict, and which are rejected with what reason."""

from __future__ import annotations

import json

import pytest

from framejudge.errors import JudgeReplyError
from framejudge.judge.parsing import parse_hosted, parse_self_hosted, read_completion

FIELDS = {"success": True, "score": 0.5, "rationale": "seen"}
GOOD = json.dumps(FIELDS)
HOSTED, SELF_HOSTED = "npa_vlm_eval_hosted_json_v1", "npa_vlm_eval_compatible_json_v2"


def verdict(**changes):
    return json.dumps(FIELDS | changes)


def body(content=GOOD, *, finish="stop", model="m", **changes):
    message = {"role": "assistant", "content": content, **changes.pop("message", {})}
    choice = {"message": message}
    if finish != "absent":
        choice["finish_reason"] = finish
    return json.dumps({"id": "x", "model": model, "choices": [choice], "usage": None} | changes)


@pytest.mark.parametrize("parse", [parse_hosted, parse_self_hosted])
@pytest.mark.parametrize(
    ("content", "suffix"),
    [
        (GOOD, ""),
        (f"  {GOOD}\n", ""),
        (f"```json\n{GOOD}\n```", "+markdown-fence-v1"),
        (f"```JSON\n{GOOD}\n```", "+markdown-fence-v1"),
        (f"```{GOOD}```", "+markdown-fence-v1"),
        (verdict(extra={"confidence": 1}), ""),
    ],
)
def test_one_object_bare_or_in_one_fence_is_a_verdict(parse, content, suffix):
    found = parse(content)
    assert (found.success, found.score, found.rationale) == (True, 0.5, "seen")
    name = HOSTED if parse is parse_hosted else SELF_HOSTED
    assert found.parser_version == name + suffix


@pytest.mark.parametrize(
    "content",
    [
        f"Here: {GOOD}",
        f"{GOOD} Done.",
        f"{GOOD}{GOOD}",
        f"```json\n{GOOD}",
        f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```",
        f"<think>so</think>{GOOD}",
        f"\ufeff{GOOD}",
        '{"success": true, "score": 0.5, "score": 0.9, "rationale": "seen"}',
        '{"success": true, "score": 0.5, "rationale": "seen", "x": {"a": 1, "a": 2}}',
        '{"success": true, "score": 0.5, "rationale": "seen", "x": NaN}',
        "[]",
        "",
        '{"a":' * 5000,
    ],
)
def test_a_hosted_judge_gets_no_other_framing_through(content):
    with pytest.raises(JudgeReplyError):
        parse_hosted(content)


@pytest.mark.parametrize(
    ("content", "score"),
    [
        (f"Here: {GOOD} Done.", 0.5),
        (f"<think>so</think>{GOOD}", 0.5),
        ('{"success": true, "score": 0.5, "score": 0.9, "rationale": "seen"}', 0.9),
    ],
)
def test_a_self_hosted_judge_may_talk_around_it(content, score):
    assert parse_self_hosted(content).score == score


@pytest.mark.parametrize("parse", [parse_hosted, parse_self_hosted])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"success": "true"}, "success must be a boolean"),
        ({"success": 1}, "success must be a boolean"),
        ({"success": None}, "success must be a boolean"),
        ({"score": True}, r"score must be a finite number in \[0, 1\]"),
        ({"score": "0.9"}, r"score must be a finite number in \[0, 1\]"),
        ({"score": 1.00004}, r"score must be a finite number in \[0, 1\]"),
        ({"score": -0.1}, r"score must be a finite number in \[0, 1\]"),
        ({"score": None}, r"score must be a finite number in \[0, 1\]"),
        ({"rationale": ""}, "rationale must be a nonempty string"),
        ({"rationale": " \n"}, "rationale must be a nonempty string"),
        ({"rationale": ["seen"]}, "rationale must be a nonempty string"),
    ],
)
def test_fields_are_literal(parse, changes, message):
    with pytest.raises(JudgeReplyError, match=message):
        parse(verdict(**changes))


@pytest.mark.parametrize("number", ["1e400", "Infinity", "NaN", "-1e400", "9" * 400])
@pytest.mark.parametrize("parse", [parse_hosted, parse_self_hosted])
def test_numbers_that_are_none_are_rejected(parse, number):
    with pytest.raises(JudgeReplyError):
        parse(f'{{"success": true, "score": {number}, "rationale": "seen"}}')


def test_a_negative_zero_is_zero():
    assert str(parse_hosted(verdict(score=-0.0)).score) == "0.0"


@pytest.mark.parametrize("backend", ["api", "self-hosted"])
@pytest.mark.parametrize(
    "finish", ["length", "content_filter", "tool_calls", "STOP", "", None, "absent"]
)
def test_only_stop_is_complete_and_it_is_checked_before_the_content(backend, finish):
    with pytest.raises(JudgeReplyError, match="finish_reason must be 'stop'"):
        read_completion(body("not even JSON", finish=finish), backend=backend, requested_model="m")


@pytest.mark.parametrize("backend", ["api", "self-hosted"])
@pytest.mark.parametrize("refusal", ["I can't help", {}, ["no"], 0])
def test_a_refusal_is_no_verdict(backend, refusal):
    text = body(message={"refusal": refusal})
    with pytest.raises(JudgeReplyError, match="refused"):
        read_completion(text, backend=backend, requested_model="m")


@pytest.mark.parametrize("refusal", [None, "", " "])
def test_an_empty_refusal_is_none(refusal):
    text = body(message={"refusal": refusal})
    assert read_completion(text, backend="api", requested_model="m").verdict.success


@pytest.mark.parametrize("model", ["other", "M", "", None, 7])
def test_a_hosted_judge_must_be_the_one_asked_for(model):
    with pytest.raises(JudgeReplyError, match="another model answered"):
        read_completion(body(model=model), backend="api", requested_model="m")


def test_a_self_hosted_judge_may_have_another_name_or_none():
    for model in ("other", None):
        found = read_completion(body(model=model), backend="self-hosted", requested_model="m")
        assert found.returned_model == model
    with pytest.raises(JudgeReplyError, match="nonempty string or null"):
        read_completion(body(model=""), backend="self-hosted", requested_model="m")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>", "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", r"no choices\[0\]\.message"),
        ('{"choices": []}', r"no choices\[0\]\.message"),
        ('{"choices": [{"message": {"content": null}, "finish_reason": "stop"}]}', "a string"),
        ('{"choices": [{"message": {"content": [{"type": "text"}]}}]}', "a string"),
        (body(usage=[1]), "usage must be dict or null"),
        (body(id=5), "id must be str or null"),
    ],
)
def test_a_response_that_is_no_completion_is_rejected(text, message):
    with pytest.raises(JudgeReplyError, match=message):
        read_completion(text, backend="api", requested_model="m")


def test_the_first_of_several_choices_counts():
    two = json.loads(body())
    two["choices"].append({"message": {"content": "no"}, "finish_reason": "length"})
    assert read_completion(json.dumps(two), backend="api", requested_model="m").verdict.score == 0.5
