"""Which artifact must say which of its limits, by id and in our own words."""

from __future__ import annotations

import json

import pytest

import framejudge as fj
import judge_server
from framejudge.schemas.limitations import LIMITATIONS
from rollout_files import make_rollout, make_rollouts, options

pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")

SINGLE = ["sampled_frames_only", "one_sample_no_proof"]
LOOP = ["mean_is_no_rate", "loop_sampled_frames", "scores_no_proof"]
SWEEP = ["caller_labels", "one_dataset", "one_call_per_item"]


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


def ids(file):
    """The ids that a written artifact carries; its sentences are those of the ids."""
    found = json.loads(file.read_text())
    assert found["limitations"] == [LIMITATIONS[name] for name in found["limitation_ids"]]
    assert found.get("independent_human_label_calibration_established", False) is False
    return found["limitation_ids"]


def test_a_result_says_whether_a_model_was_asked(server, tmp_path):
    rollout, out = str(make_rollout(tmp_path / "in")), tmp_path / "out"
    for name, given, more in (
        ("asked", options(server), []),
        ("stored", options(server), ["stored_answer"]),
        ("stub", {"backend": "stub", "task": "t"}, ["no_call_stub"]),
        ("given", {"score": 0.5, "task": "t"}, ["no_call_override"]),
    ):
        fj.run(rollout, str(out / name), **given)
        assert ids(out / name / "vlm_eval.json") == SINGLE + more


def test_a_loop_says_that_its_mean_is_no_rate(server, tmp_path):
    rollouts = str(make_rollouts(tmp_path / "in", 2))
    fj.loop(rollouts, str(tmp_path / "out"), **options(server))
    assert ids(tmp_path / "out" / "task_success_report.json") == LOOP
    fj.loop(rollouts, str(tmp_path / "stub"), backend="stub")
    assert ids(tmp_path / "stub" / "task_success_report.json") == [*LOOP, "no_calls_stub"]


def test_a_benchmark_says_what_its_figures_are_of(tmp_path):
    report = tmp_path / "report.json"
    fj.benchmark("sample", str(report), backend="stub")
    assert ids(report) == [*SWEEP, "some_fixture_scores"]
    fj.benchmark("sample", str(report), backend="stub", thresholds="auto", repeats=2)
    assert ids(report)[3:] == [
        "some_fixture_scores",
        "threshold_from_same_items",
        "repeats_first_counts",
    ]


def test_controls_say_that_they_estimate_nothing(server, tmp_path):
    fj.controls(str(make_rollout(tmp_path / "in", 9)), str(tmp_path / "out"), **options(server))
    assert ids(tmp_path / "out" / "vlm_controls.json") == [
        "controls_no_error_rate",
        "controls_need_a_reader",
    ]


AUDIT = {"api_key_env": "MY_KEY", "task": "place the cube"}


def test_audits_say_what_they_do_not_show(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-of-a-test")
    given = AUDIT | {"endpoint_url": server.url}
    rollout = str(make_rollout(tmp_path / "in"))
    out = tmp_path / "out"
    fj.compare_judges(rollout, str(out), primary_model="a", secondary_model="b", **given)
    found = ids(out / "vlm_judge_disagreement.json")
    assert len(found) == 7
    assert "audit_agreement_qualifies_no_judge" in found
    assert "audit_no_defence_against_in_image_instructions" in found
    pictures = [str(tmp_path / "in" / f"frame_{number}.png") for number in (0, 1)]
    fj.compare_preference(*pictures, str(out), model="a", **given)
    found = ids(out / "vlm_preference_comparison.json")
    assert len(found) == 6
    assert "preference_order_and_chance_not_separated" in found
    fj.review_visual(rollout, str(out), model="a", **given)
    found = ids(out / "vlm_visual_review.json")
    assert len(found) == 9
    assert {"review_references_unverified", "review_order_and_chance_not_separated"} <= set(found)


def test_a_sentence_stands_alone():
    for name, text in LIMITATIONS.items():
        assert name == name.lower()
        assert text == text.strip()
        assert text.endswith(".")
    assert len(set(LIMITATIONS.values())) == len(LIMITATIONS)
