"""Controls: the same prompt for a complete rollout and for those that show less."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

import framejudge as fj
import judge_server
from framejudge import frames
from framejudge.errors import ConfigurationError, JudgeReplyError
from framejudge.report.controls import write_page
from rollout_files import command, make_rollout, options

completion = judge_server.completion
pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


def sent(body):
    return [
        base64.b64decode(part["image_url"]["url"].partition(",")[2])
        for part in body["messages"][0]["content"]
        if part["type"] == "image_url"
    ]


def honest(last):
    """A judge that passes only what ends with this picture."""

    def answer(_number, body):
        good = sent(body)[-1] == last
        return completion(
            {"success": good, "score": 0.9 if good else 0, "rationale": f"{good} <b>& so</b>"}
        )

    return answer


def test_an_honest_judge_passes_only_the_complete_one(server, tmp_path):
    rollout = make_rollout(tmp_path / "in", 12)
    server.answer = honest((rollout / "frame_11.png").read_bytes())
    other = make_rollout(tmp_path / "other", 6, first=130)
    report = fj.controls(
        str(rollout),
        str(tmp_path / "out"),
        unrelated_path=str(other),
        **options(server, max_frames=3),
    )
    assert report.held
    assert report.verdict.passed
    assert [control.kind for control in report.controls] == [
        "complete",
        "shorter",
        "blank",
        "unrelated",
    ]
    by_kind = {control.kind: control.evidence.request for control in report.controls}
    assert len(server.requests) == 4
    prompts = {body["messages"][0]["content"][0]["text"] for body in server.requests}
    assert len(prompts) == 1
    # The shorter one's frames are the source's, byte for byte, and its end is not among them.
    whole = fj.frames.rollout.collect_frames(rollout, frame_selection="sequence", max_frames=12)
    known = {frame.evidence.label: frame.evidence.sha256 for frame in whole.frames}
    for frame in by_kind["shorter"].frames:
        assert known[frame.label] == frame.sha256
        assert frame.source_index < 6
    assert by_kind["complete"].frames[-1].source_index == 11
    assert len({frame.sha256 for frame in by_kind["blank"].frames}) == 1
    assert {len(request.frames) for request in by_kind.values()} == {3}
    assert "controls_no_error_rate" in report.limitation_ids
    written = json.loads((tmp_path / "out" / "vlm_controls.json").read_text())
    assert written == report.model_dump(mode="json")
    page = write_page(report, tmp_path / "out").read_text()
    assert page.count("<img ") == 12
    assert "&lt;b&gt;&amp; so" in page
    assert "<b>" not in page


@pytest.mark.parametrize(
    ("answer", "fallen"),
    [
        ({"success": True, "score": 0.9}, ["shorter", "blank"]),
        ({"success": False, "score": 0.00001}, ["complete", "shorter", "blank"]),
        ({"success": True, "score": 0}, ["complete", "shorter", "blank"]),
        ({"success": False, "score": 0}, ["complete"]),
    ],
)
def test_a_judge_that_falls_for_one_is_named(server, tmp_path, answer, fallen):
    server.answer = lambda _n, _b: completion(answer | {"rationale": "x"})
    report = fj.controls(str(make_rollout(tmp_path / "in", 9)), **options(server))
    assert [control.kind for control in report.controls if not control.held] == fallen
    assert not report.held
    assert [reason.split(":")[0] for reason in report.verdict.reasons] == fallen
    assert not (tmp_path / "out").exists()


def test_answers_are_not_taken_from_earlier_runs(server, tmp_path):
    rollout = str(make_rollout(tmp_path / "in", 9))
    fj.controls(rollout, **options(server))
    fj.controls(rollout, **options(server))
    assert len(server.requests) == 6


def test_what_can_not_be_compared_is_refused(server, tmp_path):
    short = str(make_rollout(tmp_path / "short", 4))
    with pytest.raises(ConfigurationError, match="has 4 frames; controls need more than the 4"):
        fj.controls(short, **options(server))
    rollout = str(make_rollout(tmp_path / "in", 9))
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "a.png").write_bytes(frames.encode_png(np.zeros((8, 8, 3), np.uint8)))
    with pytest.raises(ConfigurationError, match="gives 1 frames, the complete rollout 4"):
        fj.controls(rollout, ambiguous_path=str(tmp_path / "one"), **options(server))
    with pytest.raises(ConfigurationError, match="backend must be api or self-hosted"):
        fj.controls(rollout, backend="stub")
    assert server.requests == []
    server.answer = lambda _n, _b: completion(finish="length")
    with pytest.raises(JudgeReplyError, match="control 'complete': the answer is not complete"):
        fj.controls(rollout, **options(server))


def test_the_command_shows_rationales_and_exits_by_what_held(server, tmp_path):
    rollout = make_rollout(tmp_path / "in", 9)
    base = ["controls", "--input-path", str(rollout), "--endpoint-url", server.url]
    base += ["--model", "judge", "--task", "place the cube"]
    server.answer = honest((rollout / "frame_8.png").read_bytes())
    done = command(*base, "--output-path", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    for told in ("PASS  3 of 3 controls held", "blank-001.png", "True <b>& so</b>", ".html"):
        assert told in done.stdout
    server.answer = judge_server.accepted
    assert command(*base).returncode == 1
    assert command(*base, "--exit-zero").returncode == 0
    assert command(*base, "--backend", "stub").returncode == 2
