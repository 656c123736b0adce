"""`run` and `loop`: from frames on disk, over a real server, to artifacts and an exit status."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge import frames
from framejudge.errors import (
    ConfigurationError,
    ImageError,
    IncompleteLoopError,
    JudgeAuthError,
    JudgeReplyError,
    JudgeTransportError,
)
from framejudge.frames.rollout import collect_frames
from rollout_files import command, make_rollout, make_rollouts, options, picture, scored

completion = judge_server.completion
pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Answers of one test are none of another's."""
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


# run


def test_run_writes_a_result_whose_hashes_can_be_recomputed(server, tmp_path):
    rollout = make_rollout(tmp_path / "in")
    result = fj.run(str(rollout), str(tmp_path / "out"), **options(server))
    assert (result.score, result.passed, result.status) == (0.9, True, "passed")
    written = json.loads((tmp_path / "out" / "vlm_eval.json").read_text())
    assert written == result.model_dump(mode="json")
    assert written["provider_call_made"] is True
    assert written["served_model_match_enforced"] is False
    request, provider = written["evidence"]["request"], written["evidence"]["provider"]
    text = json.dumps(
        request["request_manifest"], ensure_ascii=False, separators=(",", ":"), sort_keys=True
    )
    assert hashlib.sha256(text.encode()).hexdigest() == request["request_manifest_sha256"]
    raw = provider["raw_response"]
    assert hashlib.sha256(raw.encode()).hexdigest() == provider["raw_response_sha256"]
    assert provider["parser_version"] == "npa_vlm_eval_compatible_json_v2"
    assert request["request_manifest"]["sampling"]["selected_indices"] == [0, 1, 3, 4]
    secret = json.dumps(request["request_manifest"])
    assert str(tmp_path) not in secret
    assert "base64" not in secret


@pytest.mark.parametrize(
    ("score", "rounded", "passed"), [(0.79996, 0.8, True), (0.79994, 0.7999, False)]
)
def test_the_rounded_score_is_gated(server, tmp_path, score, rounded, passed):
    server.answer = lambda _n, _b: completion(scored(score) | {"success": False})
    result = fj.run(
        str(make_rollout(tmp_path / "in")), str(tmp_path / "out.json"), **options(server)
    )
    assert (result.score, result.passed) == (rounded, passed)
    assert result.provider_success is False
    assert result.provider_success_matches_score_gate is (not passed)
    assert (tmp_path / "out.json").is_file()


def test_a_rejected_answer_leaves_nothing(server, tmp_path):
    server.answer = lambda _n, _b: completion(finish="length")
    with pytest.raises(JudgeReplyError):
        fj.run(str(make_rollout(tmp_path / "in")), str(tmp_path / "out"), **options(server))
    assert not (tmp_path / "out").exists()


def test_neither_the_stub_nor_a_given_score_looks_like_evidence(tmp_path):
    rollout = str(tmp_path / "not-even-there")
    stub = fj.run(rollout, str(tmp_path / "a"), backend="stub", task="t")
    given = fj.run(rollout, str(tmp_path / "b"), score=0.91234, task="t")
    expected = int(hashlib.sha256(f"{rollout}|t|{stub.model}".encode()).hexdigest()[:8], 16)
    assert stub.score == round(expected / 0xFFFFFFFF, 4)
    assert given.score == 0.9123
    for result in (stub, given):
        assert result.evidence is None
        assert result.provider_call_made is False
        assert result.provider_success is None
        assert "No VLM call was made" in result.limitations[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"success_threshold": float("nan")}, "success_threshold must be from 0 to 1"),
        ({"max_frames": 0}, "max_frames must be a whole number from 1 on"),
        ({"frame_selection": "first"}, "one of final, keyframes, sequence"),
        ({"backend": "cloud"}, "one of self-hosted, api, stub, got 'cloud'"),
        ({"endpoint_url": "ftp://x"}, "http or https"),
        ({"rubric_path": "/nowhere/rubric.txt"}, "rubric_path: /nowhere/rubric.txt can't be read"),
        ({"score": 1.5}, "score must be from 0 to 1"),
        ({"task_from": "/nowhere/plan.json"}, "task_from: /nowhere/plan.json"),
        ({"max_frame": 3}, "no option 'max_frame'; accepted: task, backend, model"),
    ],
)
def test_what_can_not_work_is_said_before_anything_is_read(tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=message):
        fj.run(str(tmp_path / "missing"), str(tmp_path / "out"), **change)


def test_a_hosted_judge_without_a_key_is_named_before_frames_are_read(tmp_path, monkeypatch):
    for name in ("VLM_EVAL_API_KEY", "NEBIUS_TOKEN_FACTORY_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match="needs a key: set VLM_EVAL_API_KEY"):
        fj.run(str(tmp_path / "missing"), str(tmp_path / "out"), backend="api")


def test_the_task_comes_from_the_rollouts_metadata_or_a_plan(server, tmp_path):
    rollout = make_rollout(tmp_path / "in")
    (rollout / "manifest.json").write_text('{"instruction": "stack the blocks"}')
    given = options(server) | {"task": "sim-to-real"}
    assert fj.run(str(rollout), str(tmp_path / "out"), **given).task == "stack the blocks"
    plan = tmp_path / "plan.json"
    plan.write_text(json.dumps({"analysis": "pick the cup\nthen pour"}))
    result = fj.run(str(rollout), str(tmp_path / "out"), task_from=str(plan), **options(server))
    assert "pick the cup then pour" in result.task
    plan.write_text(json.dumps({"analysis": "x" * 901}))
    with pytest.raises(ConfigurationError, match="901 characters, more than max_plan_chars=900"):
        fj.run(str(rollout), str(tmp_path / "out"), task_from=str(plan), **options(server))
    given = options(server, task_from=str(plan), max_plan_chars=901)
    assert fj.run(str(rollout), str(tmp_path / "out"), **given).task.endswith(901 * "x")


@pytest.mark.parametrize("judge_all", [fj.run, fj.loop])
def test_a_server_is_looked_at_before_any_frame_is_decoded(
    server, tmp_path, monkeypatch, judge_all
):
    make_rollout(tmp_path / "in").joinpath("frame_4.png").write_bytes(b"torn")
    monkeypatch.setenv("VLM_EVAL_API_KEY", "k")
    monkeypatch.setenv("FRAMEJUDGE_VLM_READY_TIMEOUT_S", "0.1")
    given = options(server, backend="api")
    paths = str(tmp_path / "in"), str(tmp_path / "out")
    server.models = ["other", "one-more"]
    with pytest.raises(ConfigurationError, match=r"model: 'judge' is none of .*: other, one-more"):
        judge_all(*paths, **given)
    server.models = Response("no", 401)
    with pytest.raises(JudgeAuthError, match="HTTP 401"):
        judge_all(*paths, **given)
    with pytest.raises(JudgeTransportError, match=r"127\.0\.0\.1:9/v1/models: no connection"):
        judge_all(*paths, **given | {"endpoint_url": "http://127.0.0.1:9", "timeout_s": 1})
    for models in (["judge"], None, Response("nothing of the kind"), Response("busy", 400)):
        server.models = models
        with pytest.raises((ImageError, IncompleteLoopError), match=r"frame_4\.png"):
            judge_all(*paths, **given)
    assert server.requests == []


def test_a_self_hosted_server_may_have_another_name_for_its_model(server, tmp_path, caplog):
    server.models = ["/models/judge.gguf"]
    assert fj.run(str(make_rollout(tmp_path / "in")), str(tmp_path / "out"), **options(server))
    assert "'judge' is none of the server's models: /models/judge.gguf" in caplog.text


# loop


def test_loop_judges_each_folder_and_writes_the_report_last(server, tmp_path):
    make_rollouts(tmp_path / "in", 12)
    (tmp_path / "in" / ".cache").mkdir()
    (tmp_path / "in" / "loose.png").write_bytes(picture(1))
    scores = iter([1.0, 0.7, 0.1, 0.6] * 3)
    server.answer = lambda _n, _b: completion(scored(next(scores)))
    report = fj.loop(
        str(tmp_path / "in"),
        str(tmp_path / "out"),
        concurrency=4,
        min_pass_rate=0.2,
        **options(server),
    )
    assert [row.rollout_id for row in report.rollouts] == [f"r{k}" for k in range(12)]
    assert report.mean_score == 0.6
    assert (report.n_scored, report.n_total, report.passed_rollouts) == (12, 12, 3)
    assert report.task_success is False
    assert report.success_rate == 0.25
    assert report.pass_rate_gate is True
    low, high = report.pass_rate_interval
    assert low < 0.25 < high
    assert report.usage["total_tokens"] == 12 * 120
    written = json.loads((tmp_path / "out" / "task_success_report.json").read_text())
    assert written == report.model_dump(mode="json")
    assert server.most_at_once <= 4
    for row in report.rollouts:
        assert Path(row.result_uri).is_file()
    with pytest.raises(ConfigurationError, match="exists; choose another output"):
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))


def test_an_output_that_can_not_be_written_is_said_before_any_call(server, tmp_path):
    rollout = make_rollout(tmp_path / "in" / "a")
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file is no folder that can be written to"):
        fj.run(str(rollout), str(tmp_path / "file" / "out"), **options(server))
    (tmp_path / "out.json").mkdir()
    with pytest.raises(ConfigurationError, match="is a folder; expected a file"):
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out.json"), **options(server), overwrite=True)
    assert server.requests == []


def test_an_output_inside_the_input_is_no_rollout(server, tmp_path):
    make_rollouts(tmp_path / "in", 2)
    for _ in range(2):
        out = str(tmp_path / "in" / "out")
        report = fj.loop(str(tmp_path / "in"), out, overwrite=True, **options(server))
        assert [row.rollout_id for row in report.rollouts] == ["r0", "r1"]


def test_a_rejected_verdict_stops_new_calls_and_keeps_what_was_scored(server, tmp_path):
    make_rollouts(tmp_path / "in", 10)
    server.answer = lambda n, _b: completion(finish="length" if n == 3 else "stop")
    with pytest.raises(IncompleteLoopError) as caught:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))
    assert caught.value.n_scored == 3
    assert list(caught.value.unscored) == [f"r{k}" for k in range(3, 10)]
    assert "finish_reason" in caught.value.unscored["r3"]
    assert "not started" in caught.value.unscored["r9"]
    assert len(server.requests) == 4
    assert not (tmp_path / "out" / "task_success_report.json").exists()
    assert len(list((tmp_path / "out" / "rollouts").iterdir())) == 3
    # The rest is made up for, and what is there is not asked for again.
    server.answer = judge_server.accepted
    report = fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), resume=True, **options(server))
    assert (report.n_scored, report.n_reused) == (10, 3)
    assert len(server.requests) == 4 + 7


def test_an_unreadable_rollout_stops_no_other(server, tmp_path):
    make_rollouts(tmp_path / "in", 4)
    (tmp_path / "in" / "r1" / "frame_4.png").write_bytes(b"torn")
    (tmp_path / "in" / "r2-empty").mkdir()
    given = options(server, concurrency=2)
    with pytest.raises(IncompleteLoopError) as caught:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **given)
    assert set(caught.value.unscored) == {"r1", "r2-empty"}
    assert "frame_4.png" in caught.value.unscored["r1"]
    report = fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), allow_unscored=True, **given)
    assert (report.status, report.n_scored, report.n_total) == ("incomplete", 3, 5)
    assert report.task_success is False
    assert report.mean_score == 0.9
    assert [entry["rollout_id"] for entry in report.unscored] == ["r1", "r2-empty"]


def test_an_edited_result_is_not_resumed(server, tmp_path):
    make_rollouts(tmp_path / "in", 2)
    server.answer = lambda _n, _b: completion(scored(0.1))
    given = options(server, cache=False)
    fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **given)
    artifact = tmp_path / "out" / "rollouts" / "r0" / "vlm_eval.json"
    artifact.write_text(artifact.read_text().replace('"score": 0.1', '"score": 1.0'))
    report = fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), resume=True, **given)
    assert (report.n_reused, report.mean_score) == (1, 0.1)


def test_a_rollout_that_breaks_everything_costs_no_other(server, tmp_path):
    make_rollouts(tmp_path / "in", 2)
    (tmp_path / "in" / "r2").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "in" / "r2") + b"/f\xff.png")).write_bytes(picture(1))
    with pytest.raises(IncompleteLoopError) as caught:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))
    assert list(caught.value.unscored) == ["r2"]
    assert caught.value.n_scored == 2


def test_a_server_that_fails_leaves_a_rollout_unscored_not_zero(server, tmp_path):
    make_rollouts(tmp_path / "in", 3)
    server.answer = lambda n, _b: Response("no", 400) if n == 1 else completion()
    with pytest.raises(IncompleteLoopError) as caught:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))
    assert caught.value.n_scored == 2


def test_thresholds_are_inclusive_and_a_resumed_result_is_gated_by_todays(server, tmp_path):
    make_rollouts(tmp_path / "in", 2)
    server.answer = lambda _n, _b: completion(scored(0.5))
    first = fj.loop(
        str(tmp_path / "in"), str(tmp_path / "out"), success_threshold=0.5, **options(server)
    )
    assert first.task_success
    again = fj.loop(
        str(tmp_path / "in"),
        str(tmp_path / "out"),
        success_threshold=0.6,
        resume=True,
        **options(server),
    )
    assert not again.task_success
    assert not any(row.success for row in again.rollouts)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("threshold", "score", "passes"), [(0, 0, True), (1, 0.99995, True), (1, 0.99994, False)]
)
def test_the_ends_of_the_scale_are_thresholds_too(server, tmp_path, threshold, score, passes):
    server.answer = lambda _n, _b: completion(scored(score))
    given = options(server, success_threshold=threshold)
    report = fj.loop(str(make_rollouts(tmp_path / "in", 2)), str(tmp_path / "out"), **given)
    assert report.task_success is passes
    assert [row.success for row in report.rollouts] == 2 * [passes]


def test_loop_works_inside_a_running_event_loop(server, tmp_path):
    make_rollouts(tmp_path / "in", 3)

    async def main():
        return await fj.loop_async(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))

    assert asyncio.run(main()).n_scored == 3


MEMORY = """
import resource, sys, framejudge as fj
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
given = dict(endpoint_url=sys.argv[3], model="judge", task="t", cache=False, concurrency=4)
fj.loop(sys.argv[1] + "/few", sys.argv[2] + "/few", **given)
before = peak()
fj.loop(sys.argv[1] + "/many", sys.argv[2] + "/many", **given)
print(peak() - before)
"""


def test_a_thousand_rollouts_take_no_more_memory_than_a_few(server, tmp_path):
    noise = np.random.default_rng(1).integers(0, 256, (256, 256, 3), np.uint8)
    (tmp_path / "rollout").mkdir()
    for number in range(4):
        (tmp_path / "rollout" / f"{number}.png").write_bytes(frames.encode_png(noise, level=1))
    for name, count in (("few", 30), ("many", 1000)):
        (tmp_path / "in" / name).mkdir(parents=True)
        for number in range(count):
            (tmp_path / "in" / name / f"r{number}").symlink_to(tmp_path / "rollout")
    server.keep_requests = False
    arguments = [str(tmp_path / "in"), str(tmp_path / "out"), server.url]
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, *arguments], capture_output=True, text=True, check=True
    )
    report = json.loads((tmp_path / "out" / "many" / "task_success_report.json").read_text())
    assert report["n_scored"] == 1000
    # The frames alone are 800 MB.
    assert int(done.stdout) < 80


# The command


def test_the_command_exits_by_the_gate(server, tmp_path):
    rollout = make_rollout(tmp_path / "in")
    base = ["run", "--input-path", str(rollout), "--output-path", str(tmp_path / "out")]
    base += ["--endpoint-url", server.url, "--model", "judge", "--task", "place the cube"]
    done = command(*base, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 0.9
    shown = command(*base, "--success-threshold", "0.95")
    assert shown.returncode == 1
    assert "FAIL  0.90 " in shown.stdout
    for told in ("place the cube", "judge (self-hosted), 4 frames", "Frame 1 shows it."):
        assert told in shown.stdout
    assert command(*base, "--success-threshold", "0.95", "--exit-zero").returncode == 0
    assert command(*base, "--success-threshold", "2").returncode == 2
    server.answer = lambda _n, _b: completion(finish="length")
    assert command(*base).returncode == 0  # an answer that is stored is not asked for again
    done = command(*base, "--no-cache")
    assert done.returncode == 3
    assert done.stderr.startswith("Error: the answer is not complete")


def test_the_command_names_every_rollout_without_a_score(server, tmp_path):
    make_rollouts(tmp_path / "in", 3)
    (tmp_path / "in" / "r1" / "frame_4.png").write_bytes(b"torn")
    done = command(
        "loop",
        "--input-path",
        str(tmp_path / "in"),
        "--output-path",
        str(tmp_path / "out"),
        "--endpoint-url",
        server.url,
        "--model",
        "judge",
        "-j",
        "2",
    )
    assert done.returncode == 3
    assert "r1: " in done.stderr
    assert "frame_4.png" in done.stderr
    assert "2 of 3 rollouts scored" in done.stderr


@pytest.mark.parametrize("name", ["run", "loop"])
def test_a_dry_run_shows_what_would_be_sent_and_does_nothing(server, tmp_path, name):
    make_rollouts(tmp_path / "in", 2)
    path = tmp_path / "in" / "r0" if name == "run" else tmp_path / "in"
    given = ["--input-path", str(path), "--output-path", str(tmp_path / "out"), "--output", "json"]
    done = command(name, *given, "--endpoint-url", server.url, "--task", "t", "--dry-run")
    assert done.returncode == 0, done.stderr
    plan = json.loads(done.stdout)
    assert plan["n_calls"] == (1 if name == "run" else 2)
    first = plan["rollouts"][0]
    assert (first["rollout_id"], first["task"]) == ("r0", "t")
    sent = collect_frames(tmp_path / "in" / "r0").frames
    assert [frame["sha256"] for frame in first["frames"]] == [f.evidence.sha256 for f in sent]
    assert server.requests == []
    assert not (tmp_path / "out").exists()
    fj.run(str(tmp_path / "in" / "r0"), str(tmp_path / "out"), **options(server, task="t"))
    assert int(server.headers[0]["content-length"]) <= first["request_bytes"]
