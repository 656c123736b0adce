"""Two judges, the very same request, once each; both outcomes are kept whatever they are."""

from __future__ import annotations

import asyncio
import json
import stat

import pytest
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge.errors import ConfigurationError, ImageError
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


def options(server, **more):
    return {
        "primary_model": "first",
        "secondary_model": "second",
        "endpoint_url": server.url,
        "api_key_env": "MY_KEY",
        "task": "place the cube",
        **more,
    }


def scores(**by_model):
    def answer(_number, body):
        score = by_model[body["model"]]
        verdict = {"success": True, "score": score, "rationale": "Frame 1: private words."}
        return completion(verdict, model=body["model"])

    return answer


def compare(server, tmp_path, **more):
    rollout = str(make_rollout(tmp_path / "in"))
    return fj.compare_judges(rollout, str(tmp_path / "out"), **options(server, **more))


@pytest.mark.parametrize(
    ("first", "second", "status", "passed", "escalates", "delta"),
    [
        (0.9, 0.8, "judges_agree_passed", True, False, -0.1),
        (0.2, 0.79994, "judges_agree_needs_iteration", False, False, 0.5999),
        (0.9, 0.1, "judge_disagreement", False, True, -0.8),
    ],
)
def test_verdicts_are_compared_and_never_averaged(
    server, tmp_path, first, second, status, passed, escalates, delta
):
    server.answer = scores(first=first, second=second)
    found = compare(server, tmp_path)
    assert (found.status, found.passed, found.escalation_required) == (status, passed, escalates)
    assert found.score_delta_secondary_minus_primary == delta
    assert len(server.requests) == 2
    assert server.checks == 0
    written = json.loads((tmp_path / "out" / "vlm_judge_disagreement.json").read_text())
    assert written == found.model_dump(mode="json")
    assert "mean" not in json.dumps(list(written))
    assert len(written["limitations"]) == 7


def test_the_requests_differ_by_the_model_alone(server, tmp_path):
    found = compare(server, tmp_path)
    first, second = server.requests
    assert (first.pop("model"), second.pop("model")) in {("first", "second"), ("second", "first")}
    assert first == second
    assert set(first) == {"temperature", "messages"}
    assert first["temperature"] == 0
    text = first["messages"][0]["content"][0]["text"]
    assert "no Markdown fence" in text
    evidence = [outcome.result.evidence.request for outcome in (found.primary, found.secondary)]
    assert evidence[0].prompt_sha256 == evidence[1].prompt_sha256
    assert evidence[0].frames == evidence[1].frames
    assert [f.sha256 for f in evidence[0].frames] == found.shared_frame_sha256
    assert found.primary.transport_request_sha256 != found.secondary.transport_request_sha256


def test_both_are_asked_at_once(server, tmp_path):
    async def slow(number, body):
        await asyncio.sleep(0.3)
        return judge_server.accepted(number, body)

    server.answer = slow
    compare(server, tmp_path)
    assert server.most_at_once == 2


@pytest.mark.parametrize(
    ("reply", "stage", "kind"),
    [
        (lambda: Response("overloaded", 503), "provider_http_status", "_status_error"),
        (lambda: Response("{not json"), "response_decode", "provider_response_decode_error"),
        (lambda: Response("[1]"), "response_decode", "provider_response_decode_error"),
        (lambda: completion(model="other"), "response_contract", "response_contract_error"),
        (lambda: completion(model=None), "response_contract", "response_contract_error"),
        (
            lambda: completion(model="second", finish="length"),
            "response_contract",
            "contract_error",
        ),
        (
            lambda: completion(
                '```json\n{"success":true,"score":1,"rationale":"x"}\n```', model="second"
            ),
            "response_contract",
            "response_contract_error",
        ),
        (
            lambda: completion({"success": True, "score": 1.5, "rationale": "x"}, model="second"),
            "response_contract",
            "response_contract_error",
        ),
    ],
)
def test_a_judge_that_fails_is_a_typed_error_beside_the_others_result(
    server, tmp_path, reply, stage, kind
):
    server.answer = lambda n, b: judge_server.accepted(n, b) if b["model"] == "first" else reply()
    found = compare(server, tmp_path)
    assert (found.status, found.passed, found.escalation_required) == ("judge_error", False, True)
    assert found.primary.result.score == 0.9
    error = found.secondary.error
    assert error.stage == stage
    assert error.error_type.endswith(kind)
    assert error.provider.parser_version == "npa_vlm_eval_unparsed_v1"
    assert error.provider.raw_response
    assert found.score_delta_secondary_minus_primary is None
    assert len(server.requests) == 2  # never again


def test_no_connection_is_an_error_of_transport(server, tmp_path):
    found = compare(server, tmp_path, endpoint_url="http://127.0.0.1:9", timeout_s=1)
    for outcome in (found.primary, found.secondary):
        assert (outcome.error.stage, outcome.error.error_type) == ("transport", "transport_error")
        assert outcome.error.provider is None
    assert found.exit_code() == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"secondary_model": " first "}, "secondary_model"),
        ({"primary_model": ""}, "primary_model must name a model"),
        ({"secondary_model": "moonshotai/Kimi-K3"}, "takes no temperature"),
        ({"backend": "self-hosted"}, "no option 'backend'"),
        ({"max_frames": 0}, "max_frames must be"),
    ],
)
def test_what_can_not_be_compared_is_refused_before_anything_is_sent(
    server, tmp_path, change, message
):
    with pytest.raises(ConfigurationError, match=message):
        compare(server, tmp_path, **change)
    assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_what_was_kept_is_never_replaced(server, tmp_path):
    compare(server, tmp_path)
    before = (tmp_path / "out" / "vlm_judge_disagreement.json").read_bytes()
    with pytest.raises(ConfigurationError, match="exists"):
        compare(server, tmp_path)
    assert len(server.requests) == 2
    assert (tmp_path / "out" / "vlm_judge_disagreement.json").read_bytes() == before
    with pytest.raises(ConfigurationError, match=r"must be called vlm_judge_disagreement\.json"):
        fj.compare_judges("x", str(tmp_path / "mine.json"), **options(server))


def test_the_record_is_private_and_the_key_is_nowhere(server, tmp_path):
    server.answer = lambda _n, _b: Response(f"bad key {KEY}", 401)
    found = compare(server, tmp_path)
    assert found.primary.error.provider is None
    assert found.primary.error.message == "the response repeats the API key; it is not kept"
    file = tmp_path / "out" / "vlm_judge_disagreement.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert KEY not in file.read_text()
    assert list((tmp_path / "cache").glob("**/*")) == []


def test_an_answer_with_the_key_in_it_is_not_kept(server, tmp_path):
    verdict = {"success": True, "score": 1, "rationale": f"your key is {KEY}"}
    server.answer = lambda _n, body: completion(verdict, model=body["model"])
    found = compare(server, tmp_path)
    assert found.status == "judge_error"
    assert found.primary.error.message == "the response repeats the API key; it is not kept"
    assert KEY not in (tmp_path / "out" / "vlm_judge_disagreement.json").read_text()


def test_an_extracted_result_does_not_promote(server, tmp_path):
    found = compare(server, tmp_path)
    lone = tmp_path / "lone" / "vlm_eval.json"
    lone.parent.mkdir()
    lone.write_text(json.dumps(found.primary.result.model_dump(mode="json")))
    decision = fj.promotion_gate(lone)
    assert (decision.decision, decision.evidence_reason) == ("loop_back", "digest_mismatch")


def test_frames_that_can_not_be_read_are_an_error_before_any_request(server, tmp_path):
    make_rollout(tmp_path / "in").joinpath("frame_4.png").write_bytes(b"torn")
    with pytest.raises(ImageError, match=r"frame_4\.png"):
        fj.compare_judges(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))
    assert server.requests == []


def test_the_command_shows_a_bounded_summary_and_exits_by_it(server, tmp_path):
    rollout = str(make_rollout(tmp_path / "in"))
    base = ["compare-judges", "--input-path", rollout, "--primary-model", "first"]
    base += ["--secondary-model", "second", "--endpoint-url", server.url, "--api-key-env", "MY_KEY"]
    server.answer = scores(first=0.9, second=0.1)
    done = command(*base, "--output-path", str(tmp_path / "a"), "--output", "json")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "judge_disagreement"
    assert told["secondary"] == {
        "model": "second",
        "status": "needs_iteration",
        "score": 0.1,
        "passed": False,
    }
    assert (told["artifact_written"], told["dry_run"]) == (True, False)
    shown = command(*base, "--output-path", str(tmp_path / "b"), "--exit-zero")
    assert shown.returncode == 0
    assert "the judges disagree; a person must look" in shown.stdout
    for text in (done.stdout, shown.stdout):
        assert "private words" not in text
        assert str(tmp_path) not in text
    server.requests.clear()
    plan = command(*base, "--output-path", str(tmp_path / "c"), "--dry-run", "--output", "json")
    assert json.loads(plan.stdout)["n_calls"] == 2
    assert server.requests == []
    assert not (tmp_path / "c").exists()
    server.answer = scores(first=0.9, second=0.9)
    assert command(*base, "--output-path", str(tmp_path / "d")).returncode == 0
    server.answer = lambda _n, _b: Response("no", 500)
    assert command(*base, "--output-path", str(tmp_path / "e")).returncode == 3
    assert command(*base, "--output-path", str(tmp_path / "d")).returncode == 2
