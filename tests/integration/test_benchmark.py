"""`benchmark`: one call for each model, rubric and item; figures that follow from scores alone."""

from __future__ import annotations

import importlib
import json
import shutil

import numpy as np
import pytest
from starlette.responses import Response

import draw_datasets
import framejudge as fj
import judge_server
from framejudge.errors import ConfigurationError, DataError, JudgeReplyError
from framejudge.rollout.calibration.confusion import propose_threshold
from framejudge.rollout.calibration.dataset import load_dataset, packaged_dataset
from framejudge.rollout.calibration.sweep import read_report
from rollout_files import command, make_rollout

completion = judge_server.completion
pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")
AGENCY = {"frame_selection": "sequence", "max_frames": 6, "thresholds": [0.5], "backend": "stub"}


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))


def item(name, expected, **more):
    return {"id": name, "rollout": name, "expected_label": expected, "task": f"do {name}", **more}


def manifest(folder, entries, **more):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.json").write_text(json.dumps({"items": entries, **more}))
    return str(folder)


def dataset(folder, scores):
    """Rollouts that the server's judge will score as told: the score is in the task."""
    entries = []
    for number, (expected, score) in enumerate(scores):
        make_rollout(folder / f"r{number}", first=10 + 3 * number)
        entries.append(item(f"r{number}", expected, task=f"score {score}"))
    return manifest(folder, entries)


def by_task(_number, body):
    text = body["messages"][0]["content"][0]["text"]
    score = float(text.split("score ")[1].split()[0])
    verdict = {"success": score >= 0.5, "score": score, "rationale": "Frame 1 says so."}
    return completion(verdict, model=body["model"])


def options(server, **more):
    return {"endpoint_url": server.url, "models": ["judge"], **more}


def test_each_item_is_asked_once_for_a_model_and_a_rubric_whatever_the_thresholds(server, tmp_path):
    server.answer = by_task
    path = dataset(tmp_path / "set", [(True, 0.9), (True, 0.6), (False, 0.7), (False, 0.1)])
    report = fj.benchmark(
        path,
        str(tmp_path / "report.json"),
        **options(server, models=["a", "b"], rubrics=["default", "Be strict."], concurrency=3),
    )
    assert len(server.requests) == 2 * 2 * 4
    assert len(report.ranked_configs) == 2 * 2 * 3
    assert report.sweep.thresholds == [0.5, 0.8, 0.9]
    assert report.sweep.rubrics == ["default", "be-strict"]
    assert "one_call_per_item" in report.limitation_ids
    best = report.best_config
    assert (best.config.success_threshold, best.metrics.balanced_accuracy) == (0.5, 0.75)
    assert [case.item_id for case in best.results] == ["r0", "r1", "r2", "r3"]
    assert best.metrics.false_positive_item_ids == ["r2"]
    case = best.results[0]
    assert case.evidence.request.request_manifest.requested_model == best.config.model
    assert (case.score_source, case.frame_count, case.provider_success) == ("self-hosted", 4, True)
    assert json.loads((tmp_path / "report.json").read_text()) == report.model_dump(mode="json")
    again = fj.benchmark(path, str(tmp_path / "report.json"), **options(server, models=["a", "b"]))
    assert len(server.requests) == 16
    assert all(case.cache_hit for case in again.best_config.results)


def test_figures_are_those_of_the_formulas(server, tmp_path):
    server.answer = by_task
    scores = [(True, 0.9), (True, 0.79996), (True, 0.3), (False, 0.85), (False, 0.2)]
    report = fj.benchmark(
        dataset(tmp_path / "set", scores), str(tmp_path / "r.json"), **options(server)
    )
    found = next(c for c in report.ranked_configs if c.config.success_threshold == 0.8).metrics
    assert (found.true_positives, found.false_negatives) == (2, 1)
    assert (found.false_positives, found.true_negatives) == (1, 1)
    assert (found.precision, found.recall, found.f1) == (0.6667, 0.6667, 0.6667)
    assert (found.specificity, found.balanced_accuracy) == (0.5, 0.5834)
    assert (found.false_positive_rate, found.false_negative_rate) == (0.5, 0.3333)
    assert found.confusion_matrix.actual_negative.predicted_positive == 1
    assert found.intervals["recall"] == (0.2077, 0.9385)
    (judge,) = report.judges
    assert judge.roc_auc == pytest.approx(4 / 6, abs=1e-4)
    errors = [(score - label) ** 2 for label, score in scores]
    assert judge.brier_score == pytest.approx(sum(errors) / 5, abs=1e-4)
    none_passes = next(c for c in report.ranked_configs if c.config.success_threshold == 0.9)
    assert none_passes.metrics.precision == 1.0


def test_ranking_is_by_balanced_accuracy_and_never_by_saying_yes(server, tmp_path):
    server.answer = by_task
    scores = [(True, 0.7)] * 8 + [(False, 0.6), (False, 0.1)]
    report = fj.benchmark(
        dataset(tmp_path / "set", scores),
        str(tmp_path / "r.json"),
        **options(server, thresholds=[0.0, 0.65, 0.9]),
    )
    order = [
        (c.config.success_threshold, c.metrics.balanced_accuracy) for c in report.ranked_configs
    ]
    assert order == [(0.65, 1.0), (0.0, 0.5), (0.9, 0.5)]
    assert [c.rank for c in report.ranked_configs] == [1, 2, 3]
    assert report.comparison.only_first_correct == 2
    assert report.comparison.p_value == 0.5


def test_a_threshold_is_proposed_with_what_to_expect_of_it(server, tmp_path):
    server.answer = by_task
    scores = [(True, 0.9), (True, 0.8), (True, 0.75), (False, 0.3), (False, 0.1)]
    report = fj.benchmark(
        dataset(tmp_path / "set", scores),
        str(tmp_path / "r.json"),
        **options(server, thresholds="auto"),
    )
    proposal = report.judges[0].threshold_proposal
    assert proposal.threshold == 0.525
    assert (proposal.balanced_accuracy, proposal.left_out_balanced_accuracy) == (1.0, 1.0)
    assert report.best_config.config.success_threshold == 0.525
    assert report.sweep.thresholds == [0.525]
    assert "threshold_from_same_items" in report.limitation_ids


def test_a_threshold_made_for_noise_is_seen_to_be_worth_nothing():
    rng = np.random.default_rng(5)
    labels, scores = [k % 2 == 0 for k in range(60)], rng.random(60).round(4).tolist()
    found = propose_threshold(labels, scores)
    assert found.balanced_accuracy > 0.55
    assert found.left_out_balanced_accuracy < found.balanced_accuracy
    alone = propose_threshold([True, False, False], [0.9, 0.1, 0.2])
    assert alone.left_out_balanced_accuracy is None


def test_repeats_show_the_spread_and_the_first_counts(server, tmp_path):
    server.answer = lambda n, _b: completion(
        {"success": True, "score": 0.9 if n % 2 else 0.6, "rationale": "x"}
    )
    path = dataset(tmp_path / "set", [(True, 1), (False, 0)])
    report = fj.benchmark(
        path, str(tmp_path / "r.json"), **options(server, repeats=3, thresholds=[0.8])
    )
    assert len(server.requests) == 6
    found = report.best_config.repeatability
    assert found.scores == {"r0": [0.6, 0.9, 0.6], "r1": [0.9, 0.6, 0.9]}
    assert found.spread == {"r0": 0.3, "r1": 0.3}
    assert found.fleiss_kappa == pytest.approx(-1 / 3, abs=1e-4)
    assert [case.score for case in report.best_config.results] == [0.6, 0.9]
    assert "repeats_first_counts" in report.limitation_ids
    fj.benchmark(path, str(tmp_path / "r.json"), **options(server, repeats=4, thresholds=[0.8]))
    assert len(server.requests) == 8  # a fourth answer to each; three were stored


def test_a_case_without_a_verdict_ends_the_sweep_by_name(server, tmp_path):
    server.answer = lambda n, body: completion(finish="length") if n == 1 else by_task(n, body)
    path = dataset(tmp_path / "set", [(True, 0.9), (False, 0.1), (False, 0.2)])
    with pytest.raises(
        JudgeReplyError, match=r"item 'r1', model 'judge', rubric 'default': .*not complete"
    ):
        fj.benchmark(path, str(tmp_path / "r.json"), **options(server))
    assert len(server.requests) == 2
    assert not (tmp_path / "r.json").exists()


def test_fixture_scores_are_no_model_calls(server, tmp_path):
    make_rollout(tmp_path / "set" / "a")
    entries = [item("a", True), item("b", False, fixture_score=0.65)]
    path = manifest(tmp_path / "set", entries)
    report = fj.benchmark(
        path, str(tmp_path / "r.json"), **options(server, use_fixture_scores=True)
    )
    assert len(server.requests) == 1
    sources = {case.item_id: case.score_source for case in report.best_config.results}
    assert sources == {"a": "self-hosted", "b": "fixture"}
    recorded = report.best_config.results[1]
    assert (recorded.score, recorded.evidence, recorded.provider_success) == (0.65, None, None)
    assert "some_fixture_scores" in report.limitation_ids
    server.requests.clear()
    stub = fj.benchmark(path, str(tmp_path / "r.json"), backend="stub")
    assert {case.score_source for case in stub.best_config.results} == {"stub", "fixture"}
    assert {"some_fixture_scores", "some_stub_scores"} <= set(stub.limitation_ids)
    assert server.requests == []


GOOD = [item("a", "PASS"), item("b", "negative")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"items": [item("a", 1), item("b", True)]}, "needs an item that is expected to pass and"),
        ({"items": [item("a", 1), item("a", 0)]}, "more than once: a"),
        ({"items": [item("a", "yes"), item("b", 0)]}, "item 'a': expected_label must be .*'yes'"),
        ({"items": [item("a", 1, fixture_score=float("nan")), item("b", 0)]}, "fixture_score"),
        ({"items": [item("a", 1, fixture_score=True), item("b", 0)]}, "fixture_score"),
        ({"items": [{"id": "a", "label": 1}, item("b", 0)]}, "item 'a': rollout must be a path"),
        ({"items": [{"rollout": "a", "label": 1}, item("item-001", 0)]}, "once: item-001"),
        ({"items": []}, "nonempty list"),
        ({"evidence_scope": "Illustrative_only"}, "evidence_scope must be unspecified or"),
        ({"limitations": ["fine", "not fine "]}, "got 'not fine '"),
        ({"limitations": ["\u0085"]}, "limitations must be nonempty"),
        ({"limitations": "one"}, "limitations must be a list"),
        ({"rubrics": ["x"]}, "rubrics must map names to texts"),
    ],
)
def test_a_manifest_is_refused_before_any_frame_or_call(server, tmp_path, change, message):
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"items": GOOD} | change))
    with pytest.raises(DataError, match=message):
        fj.benchmark(str(folder), str(tmp_path / "r.json"), **options(server))
    assert (server.requests, server.checks) == ([], 0)


def test_labels_ids_and_places_are_read_as_documented(tmp_path):
    entries = [
        {"rollout_path": "x", "label": 1.0},
        {"input_path": "/abs/y", "expected_label": "FAILED", "name": "second"},
        {"rollout": "memory://z", "label": False, "instruction": "look"},
    ]
    folder = tmp_path / "set"
    (folder / "sub").mkdir(parents=True)
    (folder / "manifest.json").write_text(
        json.dumps({"rollouts": entries, "base_path": "sub", "limitations": ["b", "a", "b"]})
    )
    found = load_dataset(str(folder))
    assert [one.item_id for one in found.items] == ["item-001", "second", "item-003"]
    assert [one.expected for one in found.items] == [True, False, False]
    assert [str(one.path) for one in found.items] == [
        str(folder / "sub" / "x"),
        "/abs/y",
        "memory://z",
    ]
    assert (found.items[2].task, found.evidence_scope) == ("look", "unspecified")
    assert found.limitations == ("b", "a", "b")
    listed = folder / "list.json"
    listed.write_text(json.dumps(entries))
    assert len(load_dataset(str(listed)).items) == 3


def test_rubrics_are_found_by_name_in_files_or_are_texts(server, tmp_path):
    folder = tmp_path / "set"
    path = manifest(folder, GOOD, rubrics={"strict": " be strict "})
    (folder / "mild.txt").write_text("be mild")
    long = "Score with care, " * 30
    given = ["strict", "default", "mild.txt", f"@{folder / 'mild.txt'}", "Be kind, be fair.", long]
    report = fj.benchmark(path, str(tmp_path / "r.json"), backend="stub", rubrics=given)
    assert report.sweep.rubrics == [
        "strict",
        "default",
        "mild",
        "be-kind-be-fair",
        "score-with-care-score-with-care-score-wi",
    ]
    texts = {c.config.rubric_name: c.config.rubric for c in report.ranked_configs}
    assert (texts["strict"], texts["mild"]) == ("be strict", "be mild")
    with pytest.raises(ConfigurationError, match="the rubric file nowhere does not exist"):
        fj.benchmark(path, str(tmp_path / "r.json"), backend="stub", rubrics=["@nowhere"])
    (folder / "other").mkdir()
    (folder / "other" / "mild.txt").write_text("not so mild")
    with pytest.raises(ConfigurationError, match="two different ones are called 'mild'"):
        fj.benchmark(
            path, str(tmp_path / "r.json"), backend="stub", rubrics=["mild.txt", "other/mild.txt"]
        )


def agency(folder, change):
    """A copy of the packaged set, with one item's check changed."""
    shutil.copytree(packaged_dataset("isaac-agency"), folder)
    file = folder / "benchmark.json"
    found = json.loads(file.read_text())
    change(found["items"])
    file.write_text(json.dumps(found))
    return str(folder)


def test_the_agency_control_tells_a_state_from_its_cause(tmp_path):
    report = fj.benchmark("isaac-agency", str(tmp_path / "r.json"), **AGENCY)
    checks = report.sweep.structural_checks
    elevated, lifted = checks["cube-elevated-positive"], checks["robot-grasp-lift-negative"]
    assert (elevated["verdict"], lifted["verdict"]) == ("pass", "fail")
    assert elevated["object_bottoms"] == [195, 195, 190, 175, 155, 135]
    assert lifted["horizontal_gaps"] == [50, 66, 82, 86, 90, 94]
    assert elevated["signed_first_to_last_vertical_rise_px"] == 60
    assert report.dataset_evidence_scope == "illustrative_only"
    with pytest.raises(DataError, match="needs --frame-selection sequence --max-frames 6"):
        fj.benchmark("isaac-agency", str(tmp_path / "r.json"), backend="stub")


def set_both(name, value):
    def change(items):
        for entry in items:
            entry["structural_check"][name] = value

    return change


def flip(items):
    items[0]["expected_label"], items[1]["expected_label"] = "fail", "fail"
    items.append({"id": "c", "rollout": "x", "expected_label": 1, "fixture_score": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip, "'cube-elevated-positive': is expected to fail, and .* says pass"),
        (set_both("movement_px_inclusive", 61), "is expected to pass, and .* says fail"),
        (set_both("contact_px_inclusive", 50), "'robot-grasp-lift-negative': .* inconclusive"),
        (set_both("object_r_min_inclusive", 255), "says inconclusive: the object is missing"),
        (set_both("required_labels", [f"{k}.png" for k in range(6)]), "expected the frames"),
        (set_both("required_decoded_rgb_sha256", ["0" * 64] * 6), "decoded_rgb_sha256 does not"),
        (set_both("kind", "other"), "kind must be one of"),
        (set_both("contact_px_inclusive", True), "contact_px_inclusive must be a whole number"),
        (set_both("extra", 1), r"unknown fields: \['extra'\]"),
        (lambda items: items[0]["structural_check"].pop("claim"), r"missing fields: \['claim'\]"),
        (lambda items: items[1].update(expected_label="pass"), "can only be refuted"),
    ],
)
def test_what_a_structural_check_refutes_or_does_not_know_ends_the_sweep(tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        fj.benchmark(agency(tmp_path / "set", change), str(tmp_path / "r.json"), **AGENCY)


def test_another_png_encoder_breaks_no_check_where_pixels_are_pinned(tmp_path):
    change = set_both("required_normalized_png_sha256", ["0" * 64] * 6)
    fj.benchmark(agency(tmp_path / "a", change), str(tmp_path / "r.json"), **AGENCY)

    def without_pixels(items):
        change(items)
        for entry in items:
            del entry["structural_check"]["required_decoded_rgb_sha256"]

    with pytest.raises(DataError, match="required_normalized_png_sha256 does not hold"):
        fj.benchmark(agency(tmp_path / "b", without_pixels), str(tmp_path / "r.json"), **AGENCY)


def test_frames_are_read_once_and_the_checked_ones_are_sent(server, tmp_path, monkeypatch):
    sweep = importlib.import_module("framejudge.rollout.calibration.sweep")
    read = []
    collect = sweep.collect_frames
    monkeypatch.setattr(sweep, "collect_frames", lambda *a, **k: read.append(a) or collect(*a, **k))
    report = fj.benchmark(
        "isaac-agency",
        str(tmp_path / "r.json"),
        **AGENCY | options(server, backend="self-hosted", models=["a", "b"]),
    )
    assert len(read) == 1
    assert len(server.requests) == 4
    pinned = report.sweep.structural_checks["cube-elevated-positive"]["normalized_png_sha256"]
    for case in report.best_config.results:
        assert [frame.sha256 for frame in case.evidence.request.frames] == pinned


def test_items_of_one_rollout_share_its_frames(server, tmp_path, monkeypatch):
    sweep = importlib.import_module("framejudge.rollout.calibration.sweep")
    read = []
    collect = sweep.collect_frames
    monkeypatch.setattr(sweep, "collect_frames", lambda *a, **k: read.append(a) or collect(*a, **k))
    make_rollout(tmp_path / "set" / "a")
    make_rollout(tmp_path / "set" / "b")
    entries = [
        item("true", 1, rollout="a"),
        item("false", 0, rollout="a"),
        item("other", 0, rollout="b"),
    ]
    path = manifest(tmp_path / "set", entries)
    fj.benchmark(
        path, str(tmp_path / "r.json"), **options(server, concurrency=3, models=["x", "y"])
    )
    assert len(read) == 2
    assert len(server.requests) == 6


def test_the_drawn_datasets_are_what_the_script_draws(tmp_path):
    draw_datasets.draw_sample(tmp_path / "sample")
    draw_datasets.draw_agency(tmp_path / "isaac-agency")
    for name in ("sample", "isaac-agency"):
        for file in (path for path in packaged_dataset(name).rglob("*") if path.is_file()):
            drawn = tmp_path / name / file.relative_to(packaged_dataset(name))
            if file.suffix == ".png":
                assert np.array_equal(
                    fj.frames.decode(file.read_bytes()), fj.frames.decode(drawn.read_bytes())
                )
            elif file.suffix == ".ppm":
                assert file.read_bytes() == drawn.read_bytes()


def test_an_older_report_is_read_without_invented_fields(tmp_path):
    core = {
        "total": 2,
        "correct": 2,
        "agreement": 1.0,
        "accuracy": 1.0,
        "precision": 1.0,
        "recall": 1.0,
        "f1": 1.0,
        "true_positives": 1,
        "true_negatives": 1,
        "false_positives": 0,
        "false_negatives": 0,
    }
    config = {
        "backend": "stub",
        "model": "m",
        "rubric_name": "default",
        "rubric": "r",
        "success_threshold": 0.5,
        "frame_selection": "keyframes",
        "max_frames": 4,
    }
    result = {"rank": 1, "config": config, "metrics": core, "results": []}
    old = {
        "status": "completed",
        "dataset_path": "d",
        "item_count": 2,
        "generated_at": "2026-01-01T00:00:00Z",
        "sweep": {
            "backend": "stub",
            "models": ["m"],
            "rubrics": ["default"],
            "thresholds": [0.5],
            "frame_selection": "keyframes",
            "max_frames": 4,
            "fixture_scores": False,
        },
        "best_config": result,
        "ranked_configs": [result],
        "theirs": {"kept": True},
    }
    file = tmp_path / "old.json"
    file.write_text(json.dumps(old))
    report = read_report(str(file))
    assert report.schema_version == "npa_vlm_eval_benchmark_report_v1"
    assert report.best_config.metrics.confusion_matrix is None
    assert report.model_dump(mode="json", exclude_unset=True) == old
    file.write_text("[]")
    with pytest.raises(DataError, match="is no benchmark report"):
        read_report(str(file))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": []}, "thresholds: give one at least"),
        ({"thresholds": [1.5]}, "thresholds must be from 0 to 1, got 1.5"),
        ({"thresholds": "best"}, "numbers or 'auto', got 'best'"),
        ({"models": []}, "models: give one at least"),
        ({"repeats": 0}, "repeats must be a whole number from 1 on"),
        ({"concurrency": True}, "concurrency must be a whole number"),
        ({"frame_selection": "first"}, "frame_selection must be one of"),
        ({"max_frame": 3}, "no option 'max_frame'"),
    ],
)
def test_options_are_checked_before_the_dataset_is_read(tmp_path, change, message):
    with pytest.raises(ConfigurationError, match=message):
        fj.benchmark(str(tmp_path / "nowhere"), str(tmp_path / "r.json"), **change)


def test_the_command_is_no_gate_and_shows_what_it_found(server, tmp_path):
    server.answer = by_task
    path = dataset(tmp_path / "set", [(True, 0.2), (False, 0.9)])
    base = ["benchmark", "--dataset", path, "-o", str(tmp_path / "r.json"), "--models", "a,b"]
    base += [
        "--endpoint-url",
        server.url,
        "--rubrics",
        "default,default",
        "--rubrics",
        "Be kind, ok?",
    ]
    done = command(*base, "--thresholds", "0.5", "--format", "json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["best_config"]["metrics"]["accuracy"] == 0.0
    assert report["sweep"]["rubrics"] == ["default", "be-kind-ok"]
    assert report["sweep"]["models"] == ["a", "b"]
    shown = command(*base, "--thresholds", "auto")
    assert shown.returncode == 0, shown.stderr
    for told in ("no threshold tells passes from fails", "AUC 0", "Best one, ", "McNemar"):
        assert told in shown.stdout
    assert command(*base, "--thresholds", "x").returncode == 2
    server.answer = lambda _n, _b: Response("no", 400)
    assert command(*base, "--no-cache").returncode == 3
    assert command("benchmark", "--dataset", str(tmp_path), "-o", "r.json").returncode == 2
