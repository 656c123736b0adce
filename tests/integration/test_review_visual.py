"""Visual reviews: strict answers, both orders, and a journal that is ahead of every step."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import stat
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge.errors import ConfigurationError, JudgeError, JudgeReplyError
from framejudge.rollout.audits.visual_rules import parse_paired, parse_single
from rollout_files import command, make_rollout

pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")
completion = judge_server.completion
KEY = "sk-never-to-be-seen"


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def key(monkeypatch, tmp_path):
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


def seen(text="a gripper above a cube", *frames):
    return {"text": text, "frame_ids": list(frames)}


def arm(letter="A", **change):
    first = f"{letter}0001"
    found = {
        "task_evidence": {
            "visible_status": "complete",
            "observations": [seen("the cube is on the mark", first)],
            "hidden_state_limits": ["what lies behind the cube"],
        },
        "artifact_fidelity": {"status": "no_visible_issue", "issues": [], "uncertainty": "blur"},
        "reviewability": {
            "status": "reviewable",
            "strengths": [seen("sharp", first)],
            "limitations": [],
        },
        "impressiveness": {
            "status": "moderate",
            "visible_basis": [seen("tidy", first)],
            "cosmetic_only": False,
        },
        "physical_ai_usefulness": {
            "status": "plausible",
            "visible_basis": [seen("clear edges", first)],
            "downstream_operation": "pose estimation",
            "required_properties": ["edges that stay in place"],
            "hypothesis": "the pose might be read from the edges",
            "measured_consumer_test_needed": "pose error against the simulator",
        },
    }
    for path, value in change.items():
        section, name = path.split("__")
        found[section][name] = value
    return found


def paired(preferred="tie", confidence="high", *, a=None, b=None):
    difference = {"tie": "equivalent", "unresolved": "unresolved"}
    return {
        "A": a or arm("A"),
        "B": b or arm("B"),
        "comparison": {
            "preferred_set": preferred,
            "visible_evidence_difference": difference.get(preferred, "materially_better"),
            "confidence": confidence,
            "observations": [{"text": "alike", "A_frame_ids": ["A0001"], "B_frame_ids": []}],
        },
    }


def answers(*contents):
    def answer(number, body):
        return completion(contents[number % len(contents)], model=body["model"])

    return answer


def options(server, **more):
    return {
        "model": "looker",
        "task": "Where is the cube at the end?",
        "endpoint_url": server.url,
        "api_key_env": "MY_KEY",
        "max_frames": 2,
        **more,
    }


def review(server, tmp_path, **more):
    make_rollout(tmp_path / "in")
    return fj.review_visual(str(tmp_path / "in"), str(tmp_path / "out"), **options(server, **more))


def with_other(tmp_path):
    return {"baseline_path": str(make_rollout(tmp_path / "other", first=13))}


JOURNAL = ["request", "transport-started", "response-bytes", "response", "outcome"]


def test_a_single_source_is_described_and_everything_is_kept(server, tmp_path):
    server.answer = answers({"arm": arm()})
    found = review(server, tmp_path)
    assert (found.status, found.escalation_required, found.attempt_count) == ("completed", False, 1)
    assert (
        found.current_review["physical_ai_usefulness"]["confirmation_status"] == "hypothesis_only"
    )
    assert found.baseline_comparison.current_vs_baseline == "not_provided"
    assert (found.normalized_task_completion_score, found.score_gate_affected) == (None, False)
    assert len(server.requests) == 1
    assert server.checks == 0
    content = server.requests[0]["messages"][0]["content"]
    assert [part.get("text") for part in content[1::2]] == ["A0001", "A0002"]
    out = tmp_path / "out"
    written = json.loads((out / "vlm_visual_review.json").read_text())
    assert written == found.model_dump(mode="json")
    assert len(written["limitations"]) == 9
    folder = out / "vlm_visual_review.evidence"
    names = {f"{name}-01.json" for name in JOURNAL} | {"reservation.json"}
    assert {path.name for path in folder.iterdir()} == names
    kept = json.loads((folder / "response-bytes-01.json").read_text())
    raw = base64.b64decode(kept["content_base64"])
    assert (hashlib.sha256(raw).hexdigest(), len(raw)) == (kept["sha256"], kept["size"])
    assert raw.decode() == found.outcomes[0].provider.raw_response
    assert json.loads((folder / "request-01.json").read_text())["body"] == server.requests[0]
    for path in [out / "vlm_visual_review.json", *folder.iterdir()]:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert KEY not in path.read_text()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_two_sources_are_shown_in_both_orders_under_neutral_names(server, tmp_path):
    server.answer = answers(paired("A"), paired("B"))
    found = review(server, tmp_path, **with_other(tmp_path))
    assert found.status == "completed"
    assert found.baseline_comparison.current_vs_baseline == "materially_better"
    assert found.baseline_comparison.agreement_eligible
    first, second = (body["messages"][0]["content"] for body in server.requests)
    assert first[0] == second[0]
    assert [part["text"] for part in first[1::2]] == ["A0001", "A0002", "B0001", "B0002"]
    pictures = [[part["image_url"]["url"] for part in parts[2::2]] for parts in (first, second)]
    assert pictures[0] == pictures[1][2:] + pictures[1][:2]
    told = json.dumps(server.requests).lower()
    assert "baseline" not in told
    assert "candidate" not in told
    assert [outcome.order_id for outcome in found.outcomes] == ["current_as_A", "baseline_as_A"]
    assert found.outcomes[1].A_arm == "baseline"
    roles = (found.current_manifest.source_role, found.baseline_manifest.source_role)
    assert roles == ("current", "baseline")
    assert found.current_manifest.selected_count == 2


ISSUE = {
    "category": "misalignment",
    "severity": "minor",
    "assertion": {"text": "the grip is off", "frame_ids": ["A0001"]},
}


@pytest.mark.parametrize(
    ("first", "second", "status", "compared"),
    [
        (paired("tie"), paired("tie"), "completed", "equivalent"),
        (paired("B"), paired("A"), "completed", "worse"),
        (paired("A"), paired("A"), "order_disagreement_or_nondeterminism", "unresolved"),
        (paired("tie", "medium"), paired("tie"), "low_confidence", "unresolved"),
        (paired("unresolved"), paired("tie"), "unresolved", "unresolved"),
        (
            paired("tie", a=arm("A", impressiveness__status="strong")),
            paired("tie"),
            "dimension_disagreement",
            "equivalent",
        ),
        (
            paired(
                "tie",
                a=arm(
                    "A",
                    artifact_fidelity__status="issues_visible",
                    artifact_fidelity__issues=[ISSUE],
                ),
            ),
            paired("tie"),
            "dimension_disagreement",
            "equivalent",
        ),
        (
            paired("tie", a=arm("A", task_evidence__visible_status="unclear")),
            paired("tie"),
            "unresolved",
            "unresolved",
        ),
        ("no JSON", paired("tie"), "judge_error", "unresolved"),
    ],
)
def test_a_status_follows_from_both_answers(server, tmp_path, first, second, status, compared):
    server.answer = answers(first, second)
    found = review(server, tmp_path, **with_other(tmp_path))
    assert found.status == status
    assert found.escalation_required is (status != "completed")
    assert found.baseline_comparison.current_vs_baseline == compared
    assert found.baseline_comparison.agreement_eligible is (status == "completed")
    assert len(server.requests) == 2


def changed(path, value):
    """A good answer with one thing in it changed; DROP leaves it out."""
    found = {"arm": arm()}
    spot = found
    *steps, last = path
    for step in steps:
        spot = spot[step]
    if value is DROP:
        del spot[last]
    else:
        spot[last] = value
    return found


DROP = object()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["arm", "impressiveness"], DROP, "impressiveness: Field required"),
        (["arm", "extra"], 1, "Extra inputs are not permitted"),
        (["extra"], 1, "Extra inputs are not permitted"),
        (["arm", "impressiveness", "cosmetic_only"], 0, "valid boolean"),
        (["arm", "impressiveness", "status"], "great", "impressiveness.status"),
        (["arm", "task_evidence", "observations"], [], "observations"),
        (["arm", "task_evidence", "hidden_state_limits"], [" "], "hidden_state_limits"),
        (["arm", "impressiveness", "visible_basis"], [seen("x", "A0003")], "were not sent"),
        (["arm", "impressiveness", "visible_basis"], [seen("x", "A0001", "A0001")], "twice"),
        (["arm", "impressiveness", "visible_basis"], [seen("x")], "frame_ids"),
        (["arm", "artifact_fidelity", "status"], "issues_visible", "goes with issues"),
        (["arm", "artifact_fidelity", "issues"], [ISSUE], "goes with issues"),
        (["arm", "reviewability", "strengths"], [], "reviewable needs a strength"),
        (["arm", "reviewability", "status"], "limited", "limited needs a limitation"),
        (["arm", "physical_ai_usefulness", "status"], "unsupported", "names no operation"),
        (["arm", "physical_ai_usefulness", "hypothesis"], None, "names operation"),
        (["arm", "artifact_fidelity", "uncertainty"], "the Baseline is better", "'Baseline'"),
        (
            ["arm", "physical_ai_usefulness", "hypothesis"],
            "its safety is thereby proven",
            "no frame can show",
        ),
        (["arm", "artifact_fidelity", "uncertainty"], "validated performance", "no frame can"),
    ],
)
def test_a_rule_that_does_not_hold_is_the_reason(path, value, message):
    with pytest.raises(JudgeReplyError, match=message):
        parse_single(json.dumps(changed(path, value)), ["A0001", "A0002"])


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["arm", "artifact_fidelity", "uncertainty"], "success was not measured here"),
        (["arm", "artifact_fidelity", "uncertainty"], "the concurrent motion of both arms"),
        (
            ["arm", "reviewability"],
            {
                "status": "unreviewable",
                "strengths": [],
                "limitations": [seen("black", "A0001")],
            },
        ),
    ],
)
def test_what_only_looks_like_a_breach_is_none(path, value):
    parse_single(json.dumps(changed(path, value)), ["A0001", "A0002"])


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        ({"preferred_set": "A"}, "does not go with equivalent"),
        ({"observations": []}, "observations"),
        (
            {"observations": [{"text": "x", "A_frame_ids": ["B0001"], "B_frame_ids": []}]},
            "were not sent",
        ),
        ({"observations": [{"text": "x", "A_frame_ids": [], "B_frame_ids": []}]}, "names no frame"),
    ],
)
def test_a_comparison_agrees_with_itself(comparison, message):
    found = paired("tie")
    found["comparison"] |= comparison
    with pytest.raises(JudgeReplyError, match=message):
        parse_paired(json.dumps(found), ["A0001"], ["B0001"])


def places(value, path=()):
    """The path of everything in it."""
    yield path
    if isinstance(value, dict):
        for name, child in value.items():
            yield from places(child, (*path, name))
    elif isinstance(value, list):
        for number, child in enumerate(value):
            yield from places(child, (*path, number))


GOOD = {"arm": arm()}
ANYTHING = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=5), st.just([]), st.just({})
)


@given(st.sampled_from([p for p in places(GOOD) if p]), ANYTHING)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
def test_nothing_but_the_documented_shape_is_accepted(path, value):
    found = copy.deepcopy(GOOD)
    spot = found
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = value
    try:
        accepted = parse_single(json.dumps(found), ["A0001", "A0002"])
    except JudgeReplyError:
        return
    assert accepted.model_dump(mode="json") == found


@pytest.mark.parametrize(
    "reply",
    [
        lambda _b: completion({"arm": arm()}, model="other"),
        lambda b: completion({"arm": arm()}, model=b["model"], finish="length"),
        lambda b: completion(f"```json\n{json.dumps({'arm': arm()})}\n```", model=b["model"]),
        lambda b: completion('{"arm": {}, "arm": {}}', model=b["model"]),
        lambda b: {
            **(good := completion({"arm": arm()}, model=b["model"])),
            "choices": good["choices"] * 2,
        },
        lambda _b: Response("overloaded", 503),
        lambda _b: Response("{"),
    ],
)
def test_an_answer_that_does_not_count_is_kept_and_not_asked_for_again(server, tmp_path, reply):
    server.answer = lambda _n, body: reply(body)
    found = review(server, tmp_path)
    assert (found.status, found.attempt_count) == ("judge_error", 1)
    assert found.outcomes[0].error.error_type.endswith("error")
    assert found.outcomes[0].review is None
    assert found.current_review is None
    assert len(server.requests) == 1


def test_too_many_images_are_refused_before_anything_is_sent(server, tmp_path):
    other = with_other(tmp_path)
    with pytest.raises(ConfigurationError, match="hold 10 images, more than max_images=9"):
        review(server, tmp_path, max_frames=5, max_images=9, **other)
    assert server.requests == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "Is the candidate better?"}, "task: must not contain 'candidate'"),
        ({"rubric": "Compare with the BASELINE"}, "rubric: must not contain 'BASELINE'"),
        ({"model": "current"}, "model: must not contain 'current'"),
        ({"task": " "}, "task must not be empty"),
        ({"max_frames": 10_000}, "max_frames must be at most 9999"),
        ({"api_key_env": "NOT_SET"}, "NOT_SET"),
        ({"success_threshold": 0.5}, "no option 'success_threshold'"),
    ],
)
def test_what_would_give_the_sources_away_or_can_not_work_is_refused(
    server, tmp_path, change, message
):
    with pytest.raises(ConfigurationError, match=message):
        review(server, tmp_path, **change)
    assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_side_files_are_kept_and_never_sent(server, tmp_path):
    server.answer = answers({"arm": arm()})
    (tmp_path / "refs.json").write_text('{"references": ["sim run 12", "height log"]}')
    (tmp_path / "map.json").write_text('{"A": "camera 1"}')
    sides = {
        "objective_evidence_path": str(tmp_path / "refs.json"),
        "matched_view_map_path": str(tmp_path / "map.json"),
    }
    found = review(server, tmp_path, **sides)
    assert found.objective_evidence_status == "references_provided_unverified"
    assert found.objective_evidence_references == ["sim run 12", "height log"]
    assert found.matched_view_map == {"A": "camera 1"}
    assert "height log" not in json.dumps(server.requests)
    for name, text in (
        ("refs.json", '["a", "a"]'),
        ("refs.json", '["https://me:pw@host/x"]'),
        ("map.json", '{"api_key": "x"}'),
        ("map.json", "[]"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigurationError, match=name.replace(".", r"\.")):
            fj.review_visual(str(tmp_path / "in"), str(tmp_path / "o"), **options(server), **sides)
        (tmp_path / "refs.json").write_text('["a"]')
    assert len(server.requests) == 1


DYING = """
import os, sys
import framejudge as fj
from framejudge.rollout.audits import journal, visual_review
left = int(sys.argv[1])
real = journal.create_private
def create(path, content):
    global left
    if left == 0:
        os._exit(9)
    real(path, content)
    left -= 1
journal.create_private = visual_review.create_private = create
fj.review_visual(sys.argv[2], sys.argv[3], model="looker", task="t", endpoint_url=sys.argv[4],
                 api_key_env="MY_KEY", max_frames=2, baseline_path=sys.argv[5])
"""


@pytest.mark.parametrize("steps", range(12))
def test_a_process_that_dies_at_any_step_is_never_replayed(server, tmp_path, steps):
    server.answer = answers(paired("tie"))
    make_rollout(tmp_path / "in")
    other = with_other(tmp_path)["baseline_path"]
    paths = [str(tmp_path / "in"), str(tmp_path / "out")]
    done = subprocess.run(
        [sys.executable, "-c", DYING, str(steps), *paths, server.url, other], check=False
    )
    assert done.returncode == 9
    sent = len(server.requests)
    # Reservation, then five entries for each order, then the report.
    assert sent == (0 if steps < 3 else 1 if steps < 8 else 2)
    folder = tmp_path / "out" / "vlm_visual_review.evidence"
    assert len(list(folder.glob("*.json"))) == min(steps, 11)
    assert not (tmp_path / "out" / "vlm_visual_review.json").exists()
    if steps > 0:
        with pytest.raises(ConfigurationError, match="exists"):
            fj.review_visual(*paths, **options(server))
        assert len(server.requests) == sent


def test_what_can_not_be_kept_ends_the_review_before_the_next_request(
    server, tmp_path, monkeypatch
):
    from framejudge.rollout.audits import journal

    real = journal.create_private

    def full(path, content):
        if path.name == "outcome-01.json":
            raise OSError(28, "No space left on device")
        real(path, content)

    monkeypatch.setattr(journal, "create_private", full)
    server.answer = answers(paired("tie"))
    with pytest.raises(JudgeError, match="could not be kept and was not completed") as caught:
        review(server, tmp_path, **with_other(tmp_path))
    assert str(tmp_path) not in str(caught.value)
    assert len(server.requests) == 1
    assert not (tmp_path / "out" / "vlm_visual_review.json").exists()


def test_a_journal_that_was_changed_meanwhile_gives_no_report(server, tmp_path):
    entry = tmp_path / "out" / "vlm_visual_review.evidence" / "reservation.json"

    def meddle(_number, body):
        entry.write_text("{}")
        return completion({"arm": arm()}, model=body["model"])

    server.answer = meddle
    with pytest.raises(JudgeError, match="was not completed"):
        review(server, tmp_path)
    assert not (tmp_path / "out" / "vlm_visual_review.json").exists()
    entry.unlink()


def test_the_command_shows_five_things_and_exits_by_the_status(server, tmp_path):
    make_rollout(tmp_path / "in")
    base = ["review-visual", "--input-path", str(tmp_path / "in"), "--model", "looker"]
    base += ["--task", "Where is it?", "--endpoint-url", server.url, "--api-key-env", "MY_KEY"]
    server.answer = answers({"arm": arm()})
    done = command(*base, "--output-path", str(tmp_path / "a"), "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "schema_version": "npa_vlm_visual_review_v1",
        "status": "completed",
        "escalation_required": False,
        "attempt_count": 1,
        "model": "looker",
    }
    assert command(*base, "--output-path", str(tmp_path / "a")).returncode == 2
    server.answer = answers({"arm": arm("A", task_evidence__visible_status="unclear")})
    assert command(*base, "--output-path", str(tmp_path / "b")).returncode == 1
    server.answer = answers("gibberish")
    assert command(*base, "--output-path", str(tmp_path / "c")).returncode == 3
