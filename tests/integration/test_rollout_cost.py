"""Answers that are stored, what answers cost, and places behind URLs."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest

import framejudge as fj
import judge_server
from framejudge.errors import (
    ConfigurationError,
    DataError,
    IncompleteLoopError,
    JudgeReplyError,
)
from rollout_files import command, make_rollout, make_rollouts, options

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


def test_the_same_request_is_paid_for_once_and_says_so(server, tmp_path):
    for name in ("a", "b", "c"):
        make_rollout(tmp_path / "in" / name)
    given = options(server, concurrency=3)
    report = fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **given)
    assert len(server.requests) == 1
    assert report.n_cache_hits == 2
    assert report.usage["total_tokens"] == 120
    first = json.loads((tmp_path / "out" / "rollouts" / "a" / "vlm_eval.json").read_text())
    again = fj.run(str(tmp_path / "in" / "a"), str(tmp_path / "other"), **options(server))
    assert len(server.requests) == 1
    assert again.cache_hit
    assert again.evidence.model_dump(mode="json") == first["evidence"]
    assert "stored answer" in again.limitations[-1]
    assert fj.verify_evidence(tmp_path / "other" / "vlm_eval.json")[0].ok
    fj.run(str(tmp_path / "in" / "a"), str(tmp_path / "other"), cache=False, **options(server))
    assert len(server.requests) == 2
    fj.run(str(tmp_path / "in" / "a"), str(tmp_path / "other"), **options(server, task="another"))
    assert len(server.requests) == 3


def test_an_answer_that_was_rejected_is_not_kept(server, tmp_path):
    rollout = str(make_rollout(tmp_path / "in"))
    server.answer = lambda n, _b: completion(finish="length" if n == 0 else "stop")
    with pytest.raises(JudgeReplyError):
        fj.run(rollout, str(tmp_path / "out"), **options(server))
    assert not fj.run(rollout, str(tmp_path / "out"), **options(server)).cache_hit


def test_a_stored_answer_that_was_tampered_with_is_asked_for_again(server, tmp_path):
    rollout = str(make_rollout(tmp_path / "in"))
    fj.run(rollout, str(tmp_path / "out"), **options(server))
    with sqlite3.connect(tmp_path / "cache" / "judge" / "answers.sqlite") as db:
        (value,) = db.execute("SELECT value FROM entries").fetchone()
        db.execute("UPDATE entries SET value = ?", (value.replace(b"0.9", b"1.0"),))
    result = fj.run(rollout, str(tmp_path / "out"), **options(server))
    assert (result.cache_hit, result.score) == (False, 0.9)


def test_cost_is_counted_by_the_users_prices_and_limited(server, tmp_path):
    make_rollouts(tmp_path / "in", 6)
    prices = tmp_path / "prices.toml"
    prices.write_text("[judge]\ninput_per_million = 10.0\noutput_per_million = 50\n")
    given = options(server, prices=str(prices))
    one = fj.run(str(tmp_path / "in" / "r0"), str(tmp_path / "one"), **given)
    assert one.cost_usd == pytest.approx((100 * 10 + 20 * 50) / 1e6)
    with pytest.raises(IncompleteLoopError) as caught:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), max_cost=0.005, **given)
    # r0 is stored, r1 to r3 cost 0.006.
    assert caught.value.n_scored == 4
    assert caught.value.unscored["r4"] == "not started: max_cost is reached"
    report = fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), **given)
    assert report.cost_usd == pytest.approx(2 * 0.002)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "max_cost: 'judge' has no price; priced: none"),
        ("[other]\ninput_per_million = 1\noutput_per_million = 1", "priced: other"),
        ('[judge]\ninput_per_million = "x"\noutput_per_million = 1', "wrong: input_per_million"),
        ("[judge", "can't be read"),
    ],
)
def test_a_limit_that_could_never_trip_is_refused_at_the_start(server, tmp_path, text, message):
    given = options(server, max_cost=1.0)
    if text is not None:
        (tmp_path / "prices.toml").write_text(text)
        given["prices"] = str(tmp_path / "prices.toml")
    with pytest.raises(ConfigurationError, match=message):
        fj.loop(str(make_rollout(tmp_path / "in")), str(tmp_path / "out"), **given)
    assert server.requests == []


def test_the_cache_command_counts_and_drops(server, tmp_path):
    fj.run(str(make_rollout(tmp_path / "in")), str(tmp_path / "out"), **options(server))
    assert "1 answers" in command("cache", "stats").stdout
    assert command("cache", "prune", "--unused-days", "0").stdout == "1 answers dropped\n"
    assert "0 answers" in command("cache", "stats").stdout


# Places behind URLs


@pytest.fixture
def memory():
    from fsspec.implementations.memory import MemoryFileSystem

    yield MemoryFileSystem()
    MemoryFileSystem.store.clear()


def test_rollouts_are_read_from_and_written_to_a_store(server, tmp_path, memory):
    make_rollouts(tmp_path / "in", 3)
    np.save(tmp_path / "in" / "r3.npy", np.full((3, 8, 8, 3), 9, np.uint8))
    (tmp_path / "in" / "r3").mkdir()
    (tmp_path / "in" / "r3.npy").rename(tmp_path / "in" / "r3" / "episode.npy")
    (tmp_path / "in" / "r0" / ".hidden.png").write_bytes(b"no picture")
    memory.put(str(tmp_path / "in"), "/in", recursive=True)
    memory.pipe("/rubric.txt", b"be strict")
    given = options(server, rubric_path="memory://rubric.txt")
    report = fj.loop("memory://in", "memory://out", **given)
    assert [row.rollout_id for row in report.rollouts] == ["r0", "r1", "r2", "r3"]
    written = json.loads(memory.cat("/out/task_success_report.json"))
    assert written["n_scored"] == 4
    remote = json.loads(memory.cat("/out/rollouts/r1/vlm_eval.json"))
    local = fj.run(str(tmp_path / "in" / "r1"), str(tmp_path / "out"), **given)
    assert remote["rubric"] == "be strict"
    # The very same frames: where they lie is no part of the request.
    assert local.cache_hit
    assert remote["evidence"] == local.evidence.model_dump(mode="json")
    with pytest.raises(ConfigurationError, match="exists; choose another output"):
        fj.loop("memory://in", "memory://out", **given)
    assert fj.loop("memory://in", "memory://out", resume=True, **given).n_reused == 4
    assert all(found.ok for found in fj.verify_evidence("memory://out/task_success_report.json"))
    assert fj.promotion_gate("memory://out/rollouts/r2").decision == "promote_checkpoint"


def test_s3_is_a_place_too(server, tmp_path, monkeypatch):
    moto = pytest.importorskip("moto.server")
    pytest.importorskip("s3fs")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    running = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        host, port = running.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        import s3fs

        s3fs.S3FileSystem.clear_instance_cache()
        store = s3fs.S3FileSystem()
        store.mkdir("runs")
        make_rollouts(tmp_path / "in", 2)
        store.put(str(tmp_path / "in"), "runs/in", recursive=True)
        report = fj.loop("s3://runs/in", "s3://runs/out", **options(server, concurrency=2))
        assert [row.rollout_id for row in report.rollouts] == ["r0", "r1"]
        assert store.exists("runs/out/rollouts/r0/vlm_eval.json")
        assert json.loads(store.cat("runs/out/task_success_report.json"))["n_scored"] == 2
        result = fj.run("s3://runs/in/r1", "s3://runs/one.json", **options(server))
        assert result.cache_hit
        with pytest.raises(DataError, match="s3://runs/nowhere"):
            fj.run("s3://runs/nowhere", "s3://runs/one.json", **options(server))
    finally:
        running.stop()


def test_a_protocol_that_there_is_not_is_said(tmp_path):
    with pytest.raises(ConfigurationError, match="nope://in"):
        fj.run("nope://in", str(tmp_path / "out"), task="t", model="m")
