"""`run` and `loop`: from frames on disk, over a real server, to artifacts and an exit status."""

from __future__ import annotations

import asyncio
import hashlib
import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from starlette.responses import Response

import framejudge as fj
import judge_server
from framejudge import frames
from framejudge.errors import (
    ConfigurationError,
    DataError,
    ImageError,
    IncompleteLoopError,
    JudgeReplyError,
)
from framejudge.frames.rollout import collect_frames

completion = judge_server.completion


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


def picture(level, height=24, width=32):
    return frames.encode_png(np.full((height, width, 3), level, np.uint8))


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    """Answers of one test are none of another's."""
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


def make_rollout(folder, count=5, first=10):
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"frame_{number}.png").write_bytes(picture(10 * number + first))
    return folder


def make_rollouts(folder, count):
    for number in range(count):
        make_rollout(folder / f"r{number}", first=10 + number)
    return folder


def options(server, **more):
    return {"endpoint_url": server.url, "model": "judge", "task": "place the cube", **more}


def scored(score, **more):
    return {"success": score >= 0.8, "score": score, "rationale": f"scored {score}", **more}


# Frames


def test_pictures_come_in_natural_order_without_what_is_hidden(tmp_path):
    for name in ("frame_10.png", "frame_2.png", ".hidden.png", "wrist/frame_1.png", "ü/a\nb.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture(9))
    (tmp_path / ".thumbs").mkdir()
    (tmp_path / ".thumbs" / "x.png").write_bytes(picture(9))
    found = collect_frames(tmp_path, frame_selection="sequence", max_frames=9)
    labels = [frame.evidence.label for frame in found.frames]
    assert labels == ["frame_2.png", "frame_10.png", "wrist/frame_1.png", "ü/a\nb.png"]
    assert "loop" in " ".join(found.warnings)


def test_a_mixed_folder_names_what_it_leaves_out(tmp_path):
    make_rollout(tmp_path, 2)
    np.save(tmp_path / "episode.npy", np.zeros((3, 4, 4, 3), np.uint8))
    (tmp_path / "clip.mp4").write_bytes(b"")
    found = collect_frames(tmp_path)
    assert [frame.evidence.source_kind for frame in found.frames] == 2 * ["image-sequence"]
    told = " ".join(found.warnings)
    assert "episode.npy" in told
    assert "clip.mp4" in told


def saved(image, **more):
    buffer = io.BytesIO()
    image.save(buffer, more.pop("format", "PNG"), **more)
    return buffer.getvalue()


def exif(orientation):
    found = Image.Exif()
    found[0x112] = orientation
    return found


def one(tmp_path, content, **more):
    (tmp_path / "a.png").write_bytes(content)
    (frame,) = collect_frames(tmp_path, **more).frames
    return frame, np.asarray(Image.open(io.BytesIO(frame.data)))


def test_a_frame_is_upright_over_white_and_small_and_its_hashes_are_of_what_is_sent(tmp_path):
    turned = Image.fromarray(np.zeros((20, 30, 3), np.uint8))
    assert one(tmp_path, saved(turned, exif=exif(6)))[1].shape == (30, 20, 3)
    clear = Image.new("RGBA", (8, 8), (255, 0, 0, 0))
    assert (one(tmp_path, saved(clear))[1] == 255).all()
    deep = Image.fromarray(np.full((8, 8), 40_000, np.uint16))
    assert (one(tmp_path, saved(deep))[1] == 40_000 >> 8).all()
    large = Image.new("RGB", (2000, 1000), (1, 2, 3))
    frame, seen = one(tmp_path, saved(large))
    assert seen.shape == (384, 768, 3)
    assert (frame.evidence.width, frame.evidence.height) == (768, 384)
    assert frame.evidence.sha256 == hashlib.sha256(frame.data).hexdigest()
    assert frame.evidence.decoded_rgb_sha256 == hashlib.sha256(seen.tobytes()).hexdigest()
    assert frame.evidence.byte_count == len(frame.data)
    jpeg, _ = one(tmp_path, saved(large), frame_format="jpeg")
    assert jpeg.evidence.media_type == "image/jpeg"
    pixels = frames.decode(jpeg.data)
    assert jpeg.evidence.decoded_rgb_sha256 == hashlib.sha256(pixels.tobytes()).hexdigest()


def test_an_episode_is_scaled_as_a_whole(tmp_path):
    bright = np.zeros((3, 8, 8, 3), np.float32)
    bright[0], bright[2] = 200, 1
    np.save(tmp_path / "episode.npy", bright)
    found = collect_frames(tmp_path, frame_selection="sequence").frames
    levels = [np.asarray(Image.open(io.BytesIO(frame.data))).max() for frame in found]
    assert levels == [200, 0, 1]  # the dark frame stays dark
    assert [frame.evidence.label for frame in found] == [f"episode.npy:{k}" for k in range(3)]
    np.save(tmp_path / "episode.npy", bright / 200)
    found = collect_frames(tmp_path, frame_selection="sequence").frames
    levels = [np.asarray(Image.open(io.BytesIO(frame.data))).max() for frame in found]
    assert levels == [255, 0, 1]


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((0, 8, 8, 3), np.uint8), r"got \(0, 8, 8, 3\)"),
        (np.zeros((5, 3, 8, 8), np.uint8), r"\(N, H, W, 3\)"),
        (np.zeros((8, 8, 3), np.uint8), r"\(N, H, W, 3\)"),
        (np.full((2, 8, 8, 3), np.nan, np.float32), "NaN"),
        (np.full((2, 8, 8, 3), 300, np.int32), "levels from 300"),
        (np.array([{"a": 1}], dtype=object), "can't be read"),
    ],
)
def test_an_array_that_is_no_frames_is_named(tmp_path, array, message):
    np.save(tmp_path / "episode.npy", array, allow_pickle=True)
    with pytest.raises(DataError, match=message) as caught:
        collect_frames(tmp_path)
    assert "episode.npy" in str(caught.value)


def test_an_archive_gives_its_workspace_view(tmp_path):
    views = {
        "wrist": np.full((2, 4, 4, 3), 1, np.uint8),
        "workspace_rgb": np.full((2, 4, 4, 3), 2, np.uint8),
        "actions": np.zeros((2, 7), np.float32),
    }
    np.savez(tmp_path / "episode.npz", **views)
    found = collect_frames(tmp_path).frames
    assert found[0].evidence.label == "episode.npz:workspace_rgb:0"


def test_a_video_gives_exact_frames_with_times(tmp_path):
    av = pytest.importorskip("av")
    with av.open(str(tmp_path / "clip.mp4"), "w") as output:
        stream = output.add_stream("libx264", rate=10)
        stream.width = stream.height = 64
        for number in range(20):
            shade = np.full((64, 64, 3), 10 * number, np.uint8)
            output.mux(stream.encode(av.VideoFrame.from_ndarray(shade, format="rgb24")))
        output.mux(stream.encode(None))
    found = collect_frames(tmp_path, frame_selection="keyframes", max_frames=4).frames
    evidence = [frame.evidence for frame in found]
    assert [one.source_index for one in evidence] == [0, 8, 18, 19]
    assert [one.source_timestamp_s for one in evidence] == pytest.approx([0, 0.8, 1.8, 1.9])
    assert {one.source_count for one in evidence} == {20}
    for frame in found:
        level = np.asarray(Image.open(io.BytesIO(frame.data))).mean()
        assert abs(level - 10 * frame.evidence.source_index) < 4


@pytest.mark.parametrize("content", [b"", b"not a picture", picture(5)[:-30]])
def test_a_picture_that_can_not_be_read_is_named(tmp_path, content):
    (tmp_path / "frame_0.png").write_bytes(content)
    with pytest.raises(ImageError, match=r"frame_0\.png"):
        collect_frames(tmp_path)


def test_an_empty_folder_says_what_is_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"holds no frames; expected pictures .*\.png"):
        collect_frames(tmp_path)


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


def test_a_pipe_is_no_picture_and_actions_are_no_frames(tmp_path):
    os.mkfifo(tmp_path / "p.png")
    np.save(tmp_path / "actions.npy", np.zeros((5, 7), np.float32))
    np.save(tmp_path / "observation.npy", np.zeros((5, 8, 8, 3), np.uint8))
    found = collect_frames(tmp_path, frame_selection="final").frames
    assert [frame.evidence.label for frame in found] == ["observation.npy:4"]


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


def test_loop_works_inside_a_running_event_loop(server, tmp_path):
    make_rollouts(tmp_path / "in", 3)

    async def main():
        return await fj.loop_async(str(tmp_path / "in"), str(tmp_path / "out"), **options(server))

    assert asyncio.run(main()).n_scored == 3


# Stored answers and cost


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


# The command


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "framejudge", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_exits_by_the_gate(server, tmp_path):
    rollout = make_rollout(tmp_path / "in")
    base = ["run", "--input-path", str(rollout), "--output-path", str(tmp_path / "out")]
    base += ["--endpoint-url", server.url, "--model", "judge", "--task", "place the cube"]
    done = command(*base, "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["score"] == 0.9
    assert command(*base, "--success-threshold", "0.95").returncode == 1
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
