"""Whatever a judge writes, only the documented shape is ever accepted."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framejudge.errors import JudgeReplyError
from framejudge.judge.parsing import parse_hosted, parse_self_hosted

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([0, 1, 0.5, True, False, "true", "0.9", "seen"])
)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
KEYS = st.sampled_from(["success", "score", "rationale", "Success", "x"])


@st.composite
def replies(draw):
    """A verdict with some fields changed, as text with some characters changed."""
    found = {"success": True, "score": 0.5, "rationale": "seen"}
    found |= draw(st.dictionaries(KEYS, VALUES, max_size=3))
    for key in draw(st.sets(KEYS, max_size=1)):
        found.pop(key, None)
    text = json.dumps(found)
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        put = draw(st.sampled_from(["", '"', "{", "}", ",", "0", "```", " ", "e9"]))
        text = text[:at] + put + text[at + draw(st.integers(0, 1)) :]
    around = draw(st.sampled_from(["{}", "```json\n{}\n```", "so {} done", "{}{}"]))
    return around.replace("{}", text)


@pytest.mark.parametrize("parse", [parse_hosted, parse_self_hosted])
@settings(max_examples=400, deadline=None)
@given(text=replies())
def test_only_the_documented_shape_is_accepted(parse, text):
    try:
        found = parse(text)
    except JudgeReplyError:
        return
    assert isinstance(found.success, bool)
    assert isinstance(found.score, float)
    assert math.isfinite(found.score)
    assert 0 <= found.score <= 1
    assert found.rationale.strip()
    # What was accepted is in the text, literally.
    inner = text.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    loaded = json.loads(inner[inner.index("{") : inner.rindex("}") + 1])
    assert loaded["success"] is found.success
    assert type(loaded["score"]) in (int, float)
    assert loaded["score"] == found.score
    assert loaded["rationale"] == found.rationale
