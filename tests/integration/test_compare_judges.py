"""`compare-judges`: the same request to two judges over a real server, each sent exactly once."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import stat
import subprocess
import sys

import pytest
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge.errors import ConfigurationError, DataError, ImageError
from framejudge.judge import build_prompt
from framejudge.rollout.audits.judge_pair import STRICT_SUFFIX
from framejudge.schemas.limitations import LIMITATIONS
from rollout_files import command, make_rollout, scored

completion = judge_server.completion
pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")
KEY = "sk-audit-0123456789/abcdef"
FILE = "vlm_judge_disagreement.json"


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def environment(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "NEBIUS_TOKEN_FACTORY_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("VLM_EVAL_API_KEY", KEY)


def compare(server, tmp_path, **more):
    rollout = tmp_path / "in"
    if not rollout.exists():
        make_rollout(rollout)
    given = {
        "primary_model": "judge-a",
        "secondary_model": "judge-b",
        "endpoint_url": server.url,
        "task": "place the cube",
        **more,
    }
    return fj.compare_judges(str(rollout), str(tmp_path / "out"), **given)


def by_model(**answers):
    """Answers for judge-a and judge-b; others are content with everything."""

    def answer(_number, body):
        found = answers.get(body["model"].replace("-", "_").lower())
        found = found(body) if callable(found) else found
        return completion(model=body["model"]) if found is None else found

    return answer


def says(score, **more):
    return lambda body: completion(scored(score, **more), model=body["model"])


def artifact(tmp_path):
    return json.loads((tmp_path / "out" / FILE).read_text())


def words(text):
    return set(text.split())


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


# What is sent


def test_both_judges_are_sent_the_same_once_and_nothing_else(server, tmp_path):
    report = compare(server, tmp_path)
    first, second = sorted(server.requests, key=lambda body: body["model"])
    assert [first.pop("model"), second.pop("model")] == ["judge-a", "judge-b"]
    assert first == second
    assert set(first) == {"temperature", "messages"}
    assert first["temperature"] == 0
    assert server.checks == 0
    (message,) = first["messages"]
    assert message["role"] == "user"
    labels = [part["text"] for part in message["content"] if part["type"] == "text"]
    assert labels[1:] == ["Frame 1", "Frame 2", "Frame 3", "Frame 4"]
    assert labels[0] == STRICT_SUFFIX.join(
        [
            build_prompt(
                task="place the cube",
                rubric=report.rubric,
                frame_selection="keyframes",
                frame_count=4,
            ),
            "",
        ]
    )
    text = json.dumps(first, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    assert report.common_request_sha256 == hashlib.sha256(text.encode()).hexdigest()
    for judge in (report.primary, report.secondary):
        whole = {"model": judge.model, **first}
        sent = json.dumps(whole, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        assert judge.transport_request_sha256 == hashlib.sha256(sent.encode()).hexdigest()
    assert {int(headers["content-length"]) for headers in server.headers} == {
        len(sent.encode())  # both names are of one length
    }
    assert {headers["authorization"] for headers in server.headers} == {f"Bearer {KEY}"}


def test_both_judges_are_asked_at_once(server, tmp_path):
    both = asyncio.Event()

    async def wait_for_the_other(body):
        if len(server.requests) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 10)
        return completion(model=body["model"])

    server.answer = lambda _n, body: wait_for_the_other(body)
    assert compare(server, tmp_path).status == "judges_agree_passed"
    assert server.most_at_once == 2


def test_it_works_inside_a_running_event_loop(server, tmp_path):
    rollout = make_rollout(tmp_path / "in")

    async def main():
        return await fj.compare_judges_async(
            str(rollout),
            str(tmp_path / "out" / FILE),
            primary_model="judge-a",
            secondary_model="judge-b",
            endpoint_url=server.url,
            frame_selection="final",
        )

    assert asyncio.run(main()).frame_count == 1
    assert artifact(tmp_path)["frame_selection"] == "final"


# How it ends


@pytest.mark.parametrize(
    ("first", "second", "status", "passed", "escalates", "delta"),
    [
        (0.9, 0.8, "judges_agree_passed", True, False, -0.1),
        (0.2, 0.7999, "judges_agree_needs_iteration", False, False, 0.5999),
        (0.9, 0.1, "judge_disagreement", False, True, -0.8),
        (0.1, 0.9, "judge_disagreement", False, True, 0.8),
        (0.79996, 0.8, "judges_agree_passed", True, False, 0.0),
    ],
)
def test_the_scores_decide_and_no_mean_is_made(
    server, tmp_path, first, second, status, passed, escalates, delta
):
    # What the judges think of success is kept, and decides nothing.
    server.answer = by_model(judge_a=says(first, success=False), judge_b=says(second))
    report = compare(server, tmp_path)
    assert (report.status, report.passed) == (status, passed)
    assert report.escalation_required is escalates
    assert report.score_delta_secondary_minus_primary == delta
    assert report.primary.result.provider_success is False
    assert len(server.requests) == 2
    written = artifact(tmp_path)
    assert written == report.model_dump(mode="json")
    assert not any("mean" in key for key in written)


def test_names_that_differ_in_case_alone_are_one_judge(server, tmp_path):
    report = compare(server, tmp_path, primary_model="Judge-A", secondary_model="judge-a")
    assert report.status == "judge_identity_collision"
    assert (report.passed, report.escalation_required) == (False, True)


async def _late():
    await asyncio.sleep(3)
    return Response("too late")


FENCED = "```json\n" + json.dumps(judge_server.GOOD) + "\n```"
DEEP = '{"usage":' + '{"a":' * 300 + "1" + "}" * 301
CONTRACT = "response_contract"
FAILURES = {
    "too late": (lambda _b: _late(), "transport", "no answer within"),
    "cut off": (
        lambda _b: Response("{}", headers={"content-length": "999"}),
        "transport",
        "RemoteProtocolError",
    ),
    "no gzip": (
        lambda _b: Response("junk", headers={"content-encoding": "gzip"}),
        "transport",
        "DecodingError",
    ),
    "too long": (lambda _b: Response(b" " * (9 << 20)), "transport", "a response of over"),
    "429": (lambda _b: Response("slow down", 429), "provider_http_status", "HTTP 429: slow down"),
    "401": (lambda _b: Response("no", 401), "provider_http_status", "HTTP 401"),
    "500": (lambda _b: Response("x" * 5000, 500), "provider_http_status", "HTTP 500: xxx"),
    "302": (
        lambda _b: Response("", 302, {"location": "http://127.0.0.1:9/"}),
        "provider_http_status",
        "HTTP 302",
    ),
    "not JSON": (lambda _b: Response("<html>"), "response_decode", "is not JSON"),
    "empty": (lambda _b: Response("", 204), "response_decode", "is not JSON"),
    "another charset": (
        lambda _b: Response(b"\xff", headers={"content-type": "text/html; charset=bogus"}),
        "response_decode",
        "is not JSON",
    ),
    "a list": (lambda _b: Response("[]"), "response_decode", "not a JSON object"),
    "a key twice": (
        lambda _b: Response('{"model": "x", "model": "judge-a"}'),
        "response_decode",
        "appears twice",
    ),
    "a surrogate": (lambda _b: Response('{"id": "\\ud800"}'), "response_decode", "surrogate"),
    "infinite": (lambda _b: Response('{"usage": {"a": 1e999}}'), "response_decode", "too large"),
    "too deep": (lambda _b: Response(DEEP), "response_decode", "nests deeper"),
    "no choice": (lambda b: {"model": b["model"], "choices": []}, CONTRACT, "no choices[0]"),
    "two choices": (
        lambda b: completion(model=b["model"]) | {"choices": [{}, {}]},
        CONTRACT,
        "one choice was asked for, 2",
    ),
    "cut short": (lambda b: completion(model=b["model"], finish="length"), CONTRACT, "complete"),
    "no end": (lambda b: completion(model=b["model"], finish=None), CONTRACT, "complete"),
    "another model": (lambda _b: completion(model="other"), CONTRACT, "another model answered"),
    "no model": (lambda _b: completion(model=None), CONTRACT, "another model answered"),
    "a fence": (lambda b: completion(FENCED, model=b["model"]), CONTRACT, "not bare JSON"),
    "prose": (
        lambda b: completion("So: " + json.dumps(judge_server.GOOD), model=b["model"]),
        CONTRACT,
        "not bare JSON",
    ),
    "no score": (
        lambda b: completion({"success": True, "rationale": "r"}, model=b["model"]),
        CONTRACT,
        "score must be",
    ),
    "score too high": (says(1.5), CONTRACT, "score must be"),
    "verdict with a surrogate": (
        lambda b: completion(scored(0.9, rationale="\ud800"), model=b["model"]),
        CONTRACT,
        "surrogate",
    ),
    "usage is text": (lambda b: completion(model=b["model"]) | {"usage": "x"}, CONTRACT, "usage"),
}
TYPES = {
    "transport": "transport_error",
    "provider_http_status": "provider_http_status_error",
    "response_decode": "provider_response_decode_error",
    "response_contract": "response_contract_error",
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("failing", ["judge-a", "judge-b"])
def test_a_judge_that_fails_is_an_outcome_and_is_not_asked_again(server, tmp_path, name, failing):
    answer, stage, told = FAILURES[name]
    server.answer = by_model(**{failing.replace("-", "_"): answer})
    report = compare(server, tmp_path, timeout_s=1)
    assert (report.status, report.passed, report.escalation_required) == (
        "judge_error",
        False,
        True,
    )
    assert report.score_delta_secondary_minus_primary is None
    assert sorted(body["model"] for body in server.requests) == ["judge-a", "judge-b"]
    judges = {judge.model: judge for judge in (report.primary, report.secondary)}
    failed = judges.pop(failing)
    (other,) = judges.values()
    assert other.result.score == 0.9
    assert other.error is None
    assert failed.result is None
    error = failed.error
    assert (error.model, error.stage, error.error_type) == (failing, stage, TYPES[stage])
    assert told in error.message
    assert len(error.message) <= 1000
    assert error.request.request_manifest.requested_model == failing
    assert (error.provider is None) == (stage == "transport")
    if error.provider is not None:
        assert error.provider.parser_version == "npa_vlm_eval_unparsed_v1"
        raw = error.provider.raw_response
        assert hashlib.sha256(raw.encode()).hexdigest() == error.provider.raw_response_sha256
    written = (tmp_path / "out" / FILE).read_text()
    assert server.url.removesuffix("/v1") not in written
    assert json.loads(written, parse_constant=pytest.fail) == report.model_dump(mode="json")


def test_no_server_makes_two_errors(tmp_path, server):
    report = compare(server, tmp_path, endpoint_url="http://127.0.0.1:9")
    assert report.status == "judge_error"
    for judge in (report.primary, report.secondary):
        assert judge.error.stage == "transport"
        assert "ConnectError" in judge.error.message


ESCAPED = "".join(f"\\u{ord(letter):04x}" for letter in KEY)


@pytest.mark.parametrize(
    "text",
    [KEY, ESCAPED, KEY.replace("/", "\\/"), ESCAPED.replace("\\", "\\\\\\")],
    ids=["plain", "escaped", "slash", "escaped twice"],
)
@pytest.mark.parametrize("status", [200, 500])
def test_an_answer_that_repeats_the_key_is_not_kept(server, tmp_path, text, status):
    body = json.dumps(completion(scored(0.9, rationale="KEY"), model="judge-a"))
    server.answer = by_model(judge_a=lambda _b: Response(body.replace("KEY", text), status))
    report = compare(server, tmp_path)
    assert report.primary.error.stage == "response_contract"
    assert "repeats the API key" in report.primary.error.message
    assert report.primary.error.provider is None
    written = (tmp_path / "out" / FILE).read_text()
    assert KEY not in written
    assert "u0073" not in written


# The artifact


def test_the_artifact_has_every_documented_key_and_no_secret(server, tmp_path):
    compare(server, tmp_path)
    text = (tmp_path / "out" / FILE).read_text()
    written = json.loads(text)
    assert set(written) == words(
        "schema_version status passed escalation_required deployment_status "
        "operational_rate_estimated input_path output_path result_uri task rubric "
        "success_threshold frame_selection frame_count shared_frame_sha256 common_request_sha256 "
        "requests_differ_only_by_model primary secondary score_delta_secondary_minus_primary "
        "generated_at limitations dry_run limitation_ids"
    )
    assert written["schema_version"] == "npa_vlm_judge_comparison_v1"
    assert written["deployment_status"] == "audit_only"
    assert written["operational_rate_estimated"] is False
    assert written["requests_differ_only_by_model"] is True
    assert len(written["limitations"]) == len(set(written["limitation_ids"])) == 7
    assert [LIMITATIONS[name] for name in written["limitation_ids"]] == written["limitations"]
    assert "audit_no_defence_against_in_image_instructions" in written["limitation_ids"]
    for name in ("primary", "secondary"):
        assert set(written[name]) == {"model", "transport_request_sha256", "result", "error"}
    frames = written["primary"]["result"]["evidence"]["request"]["frames"]
    assert written["shared_frame_sha256"] == [frame["sha256"] for frame in frames]
    assert KEY not in text
    assert "base64" not in text
    assert text == json.dumps(written, indent=2, sort_keys=True) + "\n"


def test_the_artifact_is_its_owners_alone_and_written_whole(server, tmp_path):
    old = os.umask(0)
    try:
        compare(server, tmp_path)
    finally:
        os.umask(old)
    assert mode(tmp_path / "out") == 0o700
    assert mode(tmp_path / "out" / FILE) == 0o600
    assert [path.name for path in (tmp_path / "out").iterdir()] == [FILE]


def test_a_judges_result_alone_can_not_promote(server, tmp_path):
    report = compare(server, tmp_path)
    child = tmp_path / "vlm_eval.json"
    child.write_text(report.primary.result.model_dump_json())
    decision = fj.promotion_gate(str(child))
    assert decision.decision == "loop_back"
    assert decision.evidence_reason == "digest_mismatch"


# What is refused before anything is sent


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"primary_model": " "}, "primary_model must name a model"),
        ({"secondary_model": ""}, "secondary_model must name a model"),
        ({"secondary_model": " judge-a "}, "must be two models, got 'judge-a' for both"),
        (
            # Both mean the hosted default.
            {
                "primary_model": "Qwen/Qwen2-VL-7B-Instruct",
                "secondary_model": "MiniMaxAI/MiniMax-M3",
            },
            "must be two models",
        ),
        ({"secondary_model": "moonshotai/Kimi-K3"}, "takes no temperature"),
        ({"primary_model": "moonshotai/Kimi-K3"}, "takes no temperature"),
        ({"backend": "stub"}, "no option 'backend'; accepted: task"),
        ({"cache": True}, "no option 'cache'"),
        ({"success_threshold": float("nan")}, "success_threshold must be from 0 to 1"),
        ({"max_frames": 0}, "max_frames must be a whole number"),
        ({"timeout_s": 0}, "timeout_s must be above 0"),
        ({"rubric_path": "/nowhere"}, "rubric_path: /nowhere can't be read"),
        ({"task": f"look for {KEY}"}, "task holds the API key"),
        ({"rubric": KEY}, "rubric holds the API key"),
    ],
)
def test_what_can_not_work_is_said_before_anything_is_sent(server, tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=re.escape(message)) as caught:
        compare(server, tmp_path, **change)
    assert KEY not in str(caught.value)
    assert server.requests == []
    assert not (tmp_path / "out").exists()


def test_a_missing_key_is_said_before_frames_are_read(server, tmp_path, monkeypatch):
    monkeypatch.delenv("VLM_EVAL_API_KEY")
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "in").mkdir()
    with pytest.raises(ConfigurationError, match="needs a key"):
        compare(server, tmp_path)


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_an_output_that_exists_is_refused_before_anything_is_read(server, tmp_path, kind):
    (tmp_path / "in").mkdir()  # without frames
    out = tmp_path / "out" / FILE
    out.parent.mkdir()
    if kind == "file":
        out.write_text("old")
    elif kind == "folder":
        out.mkdir()
    else:
        out.symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigurationError, match="exists; an audit never replaces"):
        compare(server, tmp_path)
    assert server.requests == []


def test_an_output_in_a_wrong_place_is_refused_before_anything_is_sent(server, tmp_path):
    rollout = str(make_rollout(tmp_path / "in"))
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "plain").write_text("")
    given = {"primary_model": "a", "secondary_model": "b", "endpoint_url": server.url}
    for out, message in (
        ("other.json", f"a .json file must be called {FILE}"),
        ("link", "link: is a link"),
        ("link/new", "link: is a link"),
        ("plain/x", "no folder that can be written to"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            fj.compare_judges(rollout, str(tmp_path / out), **given)
    assert server.requests == []
    assert list((tmp_path / "real").iterdir()) == []


def test_frames_that_can_not_be_read_are_named_and_nothing_is_sent(server, tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(DataError, match="holds no frames"):
        compare(server, tmp_path)
    (tmp_path / "in" / "a.png").write_bytes(b"torn")
    with pytest.raises(ImageError, match=r"a\.png"):
        compare(server, tmp_path)
    assert server.requests == []


def test_of_two_at_once_one_is_kept_and_the_other_says_so(server, tmp_path):
    make_rollout(tmp_path / "in")

    async def main():
        given = {"primary_model": "a", "secondary_model": "b", "endpoint_url": server.url}
        paths = str(tmp_path / "in"), str(tmp_path / "out")
        return await asyncio.gather(
            *(fj.compare_judges_async(*paths, **given) for _ in range(2)), return_exceptions=True
        )

    outcomes = asyncio.run(main())
    (refused,) = (each for each in outcomes if isinstance(each, Exception))
    (kept,) = (each for each in outcomes if not isinstance(each, Exception))
    assert isinstance(refused, (ConfigurationError, FileExistsError))
    assert artifact(tmp_path) == kept.model_dump(mode="json")


def test_a_store_behind_a_url_takes_the_artifact(server, tmp_path):
    from fsspec.implementations.memory import MemoryFileSystem

    rollout = str(make_rollout(tmp_path / "in"))
    given = {"primary_model": "a", "secondary_model": "b", "endpoint_url": server.url}
    try:
        report = fj.compare_judges(rollout, "memory://audit", **given)
        assert report.result_uri == f"memory://audit/{FILE}"
        with pytest.raises(ConfigurationError, match="exists"):
            fj.compare_judges(rollout, "memory://audit", **given)
    finally:
        MemoryFileSystem.store.clear()
    assert len(server.requests) == 2


# The command


def arguments(server, tmp_path, *more):
    return [
        "compare-judges",
        *("--input-path", str(tmp_path / "in"), "--output-path", str(tmp_path / "out")),
        *("--primary-model", "judge-a", "--secondary-model", "judge-b"),
        *("--endpoint-url", server.url, "--task", "place the cube", *more),
    ]


@pytest.mark.parametrize(
    ("first", "second", "code"), [(0.9, 0.9, 0), (0.9, 0.1, 1), (0.1, 0.1, 1), (0.9, None, 3)]
)
def test_the_command_says_how_it_ended_and_nothing_that_a_judge_wrote(
    server, tmp_path, first, second, code
):
    make_rollout(tmp_path / "in")
    refuse = Response("no", 500)
    server.answer = by_model(
        judge_a=says(first, rationale="SAID"),
        judge_b=refuse if second is None else says(second, rationale="SAID"),
    )
    done = command(*arguments(server, tmp_path, "--output", "json"))
    assert done.returncode == code, done.stderr
    shown = json.loads(done.stdout)
    assert set(shown) == words(
        "schema_version status passed escalation_required deployment_status "
        "operational_rate_estimated requests_differ_only_by_model frame_count primary secondary "
        "artifact_written dry_run"
    )
    assert shown["primary"] == {
        "model": "judge-a",
        "status": "passed" if first >= 0.8 else "needs_iteration",
        "score": first,
        "passed": first >= 0.8,
    }
    if second is None:
        assert shown["secondary"] == {
            "model": "judge-b",
            "status": "error",
            "error_stage": "provider_http_status",
            "error_type": "provider_http_status_error",
        }
    for secret in ("SAID", str(tmp_path), "place the cube", KEY):
        assert secret not in done.stdout
    assert (artifact(tmp_path)["status"], shown["artifact_written"]) == (shown["status"], True)
    again = command(*arguments(server, tmp_path))
    assert again.returncode == 2
    assert "exists" in again.stderr


def test_the_command_shows_a_table_to_people(server, tmp_path):
    make_rollout(tmp_path / "in")
    server.answer = by_model(judge_b=says(0.7996, rationale="SAID"))
    done = command(*arguments(server, tmp_path, "--exit-zero"))
    assert done.returncode == 0, done.stderr
    assert "judge_disagreement  the judges disagree; a person must look" in done.stdout
    assert re.search(r"primary +judge-a +0\.90 .* passed", done.stdout)
    assert re.search(r"secondary +judge-b +0\.7996 .* needs iteration", done.stdout)
    assert "secondary minus primary -0.1004" in done.stdout
    for secret in ("SAID", str(tmp_path), "place the cube"):
        assert secret not in done.stdout


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_dry_run_sends_and_writes_nothing(server, tmp_path, output):
    make_rollout(tmp_path / "in")
    done = command(*arguments(server, tmp_path, "--dry-run", "--output", output))
    assert done.returncode == 0, done.stderr
    assert server.requests == []
    assert not (tmp_path / "out").exists()
    report = compare(server, tmp_path)
    told = sum(int(headers["content-length"]) for headers in server.headers)
    if output == "text":
        assert f"1 call each to judge-a and judge-b, {told} bytes" in done.stdout
    else:
        plan = json.loads(done.stdout)
        assert (plan["n_calls"], plan["request_bytes"]) == (2, told)
        assert plan["common_request_sha256"] == report.common_request_sha256
        assert [frame["sha256"] for frame in plan["frames"]] == report.shared_frame_sha256


def test_importing_framejudge_loads_no_audit():
    code = "import framejudge, sys; print([m for m in sys.modules if 'rollout' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
