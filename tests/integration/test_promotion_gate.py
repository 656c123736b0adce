"""The promotion gate and `verify`, on real results with one thing changed."""

from __future__ import annotations

import copy
import hashlib
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import framejudge as fj
import judge_server
from framejudge import frames
from framejudge.errors import ConfigurationError

completion = judge_server.completion

KEY = "sk-marker-8F2"


def make_rollout(folder):
    folder.mkdir(parents=True)
    for number in range(3):
        pixels = np.full((16, 16, 3), 20 * number, np.uint8)
        (folder / f"f{number}.png").write_bytes(frames.encode_png(pixels))
    return str(folder)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A result of each real backend, as the JSON that was written."""
    folder = tmp_path_factory.mktemp("results")
    found = {}
    patch = pytest.MonkeyPatch()
    patch.setenv("VLM_EVAL_API_KEY", KEY)
    patch.setenv("FRAMEJUDGE_CACHE_DIR", str(folder / "cache"))
    with judge_server.JudgeServer() as server:
        for backend in ("api", "self-hosted"):
            fj.run(
                make_rollout(folder / backend / "in"),
                str(folder / backend),
                backend=backend,
                endpoint_url=server.url,
                model="judge",
                task="place the cube",
            )
            found[backend] = json.loads((folder / backend / "vlm_eval.json").read_text())
    patch.undo()
    return found


def canonical(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def resealed(report):
    """Make the manifest's hash right again: a forger would."""
    request = report["evidence"]["request"]
    request["request_manifest_sha256"] = canonical(request["request_manifest"])
    return report


def decide(tmp_path, report, **options):
    path = tmp_path / "vlm_eval.json"
    path.write_text(report if isinstance(report, str) else json.dumps(report))
    return fj.promotion_gate(path, **options)


@pytest.mark.parametrize("backend", ["api", "self-hosted"])
def test_a_real_result_is_promoted_and_every_check_holds(results, tmp_path, backend):
    decision = decide(tmp_path, results[backend], decision_path=tmp_path / "decision.json")
    assert (decision.decision, decision.reason) == ("promote_checkpoint", None)
    assert (decision.score, decision.threshold) == (0.9, 0.5)
    content = (tmp_path / "vlm_eval.json").read_bytes()
    assert decision.report_sha256 == hashlib.sha256(content).hexdigest()
    written = json.loads((tmp_path / "decision.json").read_text())
    assert written["schema_version"] == "npa.sim2real.threshold_decision.v1"
    assert written == decision.model_dump(mode="json")
    (verified,) = fj.verify_evidence(tmp_path / "vlm_eval.json")
    assert verified.ok
    assert not any(verified.checks.values())


def changed(*path, to):
    def change(report):
        place = report
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = to
        return report

    return change


def swap_frames(report):
    request = report["evidence"]["request"]
    request["frames"].reverse()
    request["request_manifest"]["frames"] = request["frames"]
    return resealed(report)


def in_manifest(*path, to):
    change = changed("evidence", "request", "request_manifest", *path, to=to)
    return lambda report: resealed(change(report))


def new_raw(edit):
    """Change the response's text and make its hash right again."""

    def change(report):
        provider = report["evidence"]["provider"]
        provider["raw_response"] = edit(provider["raw_response"])
        text = provider["raw_response"].encode()
        provider["raw_response_sha256"] = hashlib.sha256(text).hexdigest()
        return report

    return change


def old_parser(report):
    provider = report["evidence"]["provider"]
    provider["parser_version"] = provider["parser_version"].replace("_v2", "_v1")
    return report


PROVIDER = ("evidence", "provider")


def without(*path):
    def change(report):
        place = report
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
        return report

    return change


def unlabelled(report):
    request = report["evidence"]["request"]
    del request["frames"][0]["label"]
    request["request_manifest"]["frames"] = request["frames"]
    return resealed(report)


def new_answer(**changes):
    """Change the response and what the provider's object says of it, consistently."""

    def change(report):
        provider = report["evidence"]["provider"]
        answer = json.loads(provider["raw_response"]) | changes
        provider["raw_response"] = json.dumps(answer)
        provider["raw_response_sha256"] = hashlib.sha256(json.dumps(answer).encode()).hexdigest()
        provider["usage"] = answer["usage"]
        return report

    return change


CASES = {
    "a frame without a label": (unlabelled, "frame_metadata_invalid"),
    "an unknown selection": (changed("frame_selection", to="first"), "sampling_invalid"),
    "no task": (without("task"), "digest_mismatch"),
    "a version that is a list": (
        changed("evidence", "prompt_version", to=["x"]),
        "digest_mismatch",
    ),
    "no choices": (new_answer(choices=[]), "provider_response_invalid"),
    "content that is no text": (
        new_answer(choices=[{"message": {"content": None}, "finish_reason": "stop"}]),
        "provider_verdict_invalid",
    ),
    "usage that is no object": (new_answer(usage=[1]), "provider_response_invalid"),
    "no score": (without("score"), "result_invalid"),
    "a threshold below zero": (changed("success_threshold", to=-1), "result_invalid"),
    "a threshold beyond all numbers": (
        changed("success_threshold", to=10**400),
        "result_invalid",
    ),
    "a latency beyond all numbers": (
        changed(*PROVIDER, "latency_s", to=10**400),
        "provider_metadata_invalid",
    ),
    "a response nested for ever": (
        new_raw(lambda _text: '{"a":' * 5000 + "1" + "}" * 5000),
        "provider_response_invalid",
    ),
    "unknown schema": (changed("evidence", "schema_version", to="x"), "schema_invalid"),
    "a key is missing": (
        lambda r: r["evidence"]["request"].pop("requested_at") and r,
        "schema_invalid",
    ),
    "hash is no hash": (
        changed("evidence", "request", "request_manifest_sha256", to="abc"),
        "digest_invalid",
    ),
    "manifest was edited": (
        changed("evidence", "request", "request_manifest", "requested_model", to="x"),
        "digest_mismatch",
    ),
    "manifest of another model": (
        in_manifest("requested_model", to="x"),
        "request_binding_mismatch",
    ),
    "time of the request is none": (
        changed("evidence", "request", "requested_at", to=7),
        "request_invalid",
    ),
    "a count that is a boolean": (changed("frame_count", to=True), "frame_metadata_invalid"),
    "frames in another order": (swap_frames, "sampling_mismatch"),
    "sampling with a boolean": (in_manifest("sampling", "max_frames", to=True), "sampling_invalid"),
    "sampling of another strategy": (
        in_manifest("sampling", "strategy", to="final"),
        "sampling_mismatch",
    ),
    "an edited rubric": (changed("rubric", to="be kind"), "digest_mismatch"),
    "an edited task": (changed("task", to="do nothing"), "digest_mismatch"),
    "another producer's prompt": (changed("evidence", "prompt_version", to="x"), "digest_mismatch"),
    "an edited response": (changed(*PROVIDER, "raw_response", to="{}"), "digest_mismatch"),
    "a response with a key twice": (
        new_raw(lambda text: text.replace("{", '{"id":"r0",', 1)),
        "provider_response_invalid",
    ),
    "a status that is no success": (
        changed(*PROVIDER, "status_code", to=500),
        "provider_transport_invalid",
    ),
    "a latency below zero": (changed(*PROVIDER, "latency_s", to=-1), "provider_metadata_invalid"),
    "cut off": (
        new_raw(lambda text: text.replace('"stop"', '"length"')),
        "provider_completion_incomplete",
    ),
    "filtered": (
        new_raw(lambda text: text.replace('"stop"', '"content_filter"')),
        "provider_completion_filtered",
    ),
    "refused": (
        new_raw(lambda text: text.replace('"role":', '"refusal":"no","role":')),
        "provider_completion_refused",
    ),
    "a refusal of another type": (
        new_raw(lambda text: text.replace('"role":', '"refusal":{},"role":')),
        "provider_refusal_invalid",
    ),
    "prose around the verdict": (
        new_raw(lambda text: text.replace('"content":"{', '"content":"So: {')),
        "provider_verdict_invalid",
    ),
    "a key more in the provider": (
        changed(*PROVIDER, "extra", to=1),
        "provider_metadata_mismatch",
    ),
    "other usage": (changed(*PROVIDER, "usage", to=None), "provider_metadata_mismatch"),
    "a better score": (changed("score", to=1.0), "result_mismatch"),
    "a score that is a text": (changed("score", to="0.9"), "result_invalid"),
    "another rationale": (changed("rationale", to="fine"), "result_mismatch"),
}


@pytest.mark.parametrize("backend", ["api", "self-hosted"])
@pytest.mark.parametrize("case", CASES)
def test_one_change_sends_it_back_for_its_own_reason(results, tmp_path, case, backend):
    change, reason = CASES[case]
    report = change(copy.deepcopy(results[backend]))
    decision = decide(tmp_path, report)
    assert decision.decision == "loop_back"
    assert decision.reason == "vlm_provider_evidence_invalid"
    assert decision.evidence_reason == reason
    (verified,) = fj.verify_evidence(tmp_path / "vlm_eval.json")
    assert reason in verified.checks.values()


def test_a_hosted_answer_of_another_model_is_not_promoted(results, tmp_path):
    report = changed(*PROVIDER, "returned_model", to="x")(copy.deepcopy(results["api"]))
    assert decide(tmp_path, report).evidence_reason == "provider_model_mismatch"


def test_a_result_of_the_superseded_parser_is_not_promoted(results, tmp_path):
    report = old_parser(copy.deepcopy(results["self-hosted"]))
    assert decide(tmp_path, report).evidence_reason == "provider_metadata_mismatch"


def test_enforcement_is_only_claimed_by_a_hosted_result(results, tmp_path):
    report = copy.deepcopy(results["self-hosted"]) | {"served_model_match_enforced": True}
    assert decide(tmp_path, report).evidence_reason == "result_mismatch"
    report.pop("served_model_match_enforced")
    assert decide(tmp_path, report).decision == "promote_checkpoint"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"backend": "stub"}, "vlm_non_inference_backend"),
        ({"dry_run": 0}, "vlm_non_inference_backend"),
        ({"dry_run": True}, "vlm_non_inference_backend"),
        ({"evidence": None}, "vlm_provider_evidence_missing"),
        ({"provider_call_made": None}, "vlm_non_inference_backend"),
        ({"provider_call_made": 1}, "vlm_non_inference_backend"),
    ],
)
def test_what_is_no_inference_is_not_promoted(results, tmp_path, changes, reason):
    assert decide(tmp_path, results["api"] | changes).reason == reason


def test_an_older_evidence_needs_no_sampling_and_no_rubric(results, tmp_path):
    report = copy.deepcopy(results["self-hosted"])
    evidence = report["evidence"]
    evidence["schema_version"] = "npa_vlm_eval_evidence_v1"
    manifest = evidence["request"]["request_manifest"]
    manifest["schema_version"] = evidence["schema_version"]
    manifest.pop("sampling")
    report.pop("rubric")
    assert decide(tmp_path, resealed(report)).decision == "promote_checkpoint"


def test_only_absence_leads_to_the_next_file(results, tmp_path):
    good = json.dumps(results["api"])
    (tmp_path / "vlm_eval_stub.json").write_text(good)
    assert fj.promotion_gate(tmp_path).decision == "promote_checkpoint"
    (tmp_path / "vlm_eval.json").write_text("{")
    decision = fj.promotion_gate(tmp_path)
    assert (decision.decision, decision.reason) == ("loop_back", "report_malformed")
    (tmp_path / "cosmos_evaluator.json").write_text('{"score": 0.7, "passed": true}')
    assert fj.promotion_gate(tmp_path).decision == "promote_checkpoint"
    (tmp_path / "cosmos_evaluator.json").write_text('{"score": 0.7, "passed": 1}')
    assert fj.promotion_gate(tmp_path).reason == "hard_checks_failed"


def test_no_report_is_a_reason_and_a_bad_threshold_an_error(tmp_path):
    assert fj.promotion_gate(tmp_path).reason == "report_missing"
    with pytest.raises(ConfigurationError, match="threshold must be from 0 to 1"):
        fj.promotion_gate(tmp_path, threshold=float("nan"))


def test_a_broken_link_is_present(results, tmp_path):
    (tmp_path / "vlm_eval_stub.json").write_text(json.dumps(results["api"]))
    (tmp_path / "vlm_eval.json").symlink_to(tmp_path / "gone")
    assert fj.promotion_gate(tmp_path).reason == "report_unreadable"


@pytest.mark.parametrize("model", [5, ""])
def test_a_self_hosted_model_that_has_no_name_is_not_promoted(results, tmp_path, model):
    report = new_answer(model=model)(copy.deepcopy(results["self-hosted"]))
    report["evidence"]["provider"]["returned_model"] = report["served_model"] = model
    assert decide(tmp_path, report).evidence_reason == "provider_response_invalid"


def test_a_score_beyond_all_numbers_is_a_reason(results, tmp_path):
    decision = decide(tmp_path, results["api"] | {"score": 10**400})
    assert decision.evidence_reason == "result_invalid"


def test_a_moved_report_is_read_with_the_results_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))
    make_rollout(tmp_path / "in" / "a")
    with judge_server.JudgeServer() as server:
        fj.loop(str(tmp_path / "in"), str(tmp_path / "out"), endpoint_url=server.url, model="judge")
    report = tmp_path / "moved" / "task_success_report.json"
    shutil.copytree(tmp_path / "out", report.parent)
    assert all(found.ok for found in fj.verify_evidence(report))
    artifact = report.parent / "rollouts" / "a" / "vlm_eval.json"
    good = artifact.read_text()
    artifact.write_text(good.replace('"score": 0.9,', '"score": 1.0,'))
    whole, result = fj.verify_evidence(report)
    assert (whole.ok, result.ok) == (False, False)
    artifact.write_text("[]")
    assert not any(found.ok for found in fj.verify_evidence(report))
    artifact.write_text(good)
    text = report.read_text()
    for old, new in (('"score": 0.9', '"score": 1.0'), ('"mean_score": 0.9', '"mean_score": 1.0')):
        report.write_text(text.replace(old, new))
        assert [found.ok for found in fj.verify_evidence(report)] == [False, True]


def test_the_threshold_is_the_gates_own(results, tmp_path):
    assert decide(tmp_path, results["api"], threshold=0.9).decision == "promote_checkpoint"
    decision = decide(tmp_path, results["api"], threshold=0.91)
    assert (decision.decision, decision.reason) == ("loop_back", "score_below_threshold")


def test_the_commands_exit_by_what_they_found(results, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(results["api"]))
    bad.write_text(json.dumps(results["api"] | {"score": 1.0}))
    for command, file, status in (
        ("gate", good, 0),
        ("gate", bad, 1),
        ("verify", good, 0),
        ("verify", bad, 1),
        ("verify", tmp_path / "missing.json", 2),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "framejudge", command, str(file)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
    assert (
        "threshold: 0.5"
        in subprocess.run(
            [sys.executable, "-m", "framejudge", "gate", str(good)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )


KEPT_SECRET = """
import sys, framejudge as fj
path, out, url = sys.argv[1:]
fj.run(path, out, backend="api", model="judge", endpoint_url=url, cache=False)
"""


def test_the_key_is_in_no_artifact_no_output_and_no_traceback(tmp_path, monkeypatch):
    monkeypatch.setenv("VLM_EVAL_API_KEY", KEY)
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))
    make_rollout(tmp_path / "in" / "a")
    make_rollout(tmp_path / "in" / "b")
    told = []

    def judge(url):
        for name, path in (("loop", tmp_path / "in"), ("run", tmp_path / "in" / "a")):
            command = ["-m", "framejudge", name, "--input-path", str(path), "--output-path"]
            command += [str(tmp_path / name), "--backend", "api", "--model", "judge"]
            command += ["--endpoint-url", url, "--timeout-s", "1", "--no-cache"]
            command += ["--overwrite"] if name == "loop" else []
            show(command)
        show(["-c", KEPT_SECRET, str(tmp_path / "in" / "a"), str(tmp_path / "out"), url])

    def show(arguments):
        done = subprocess.run(
            [sys.executable, "-X", "dev", *arguments], capture_output=True, text=True, check=False
        )
        assert KEY not in done.stdout + done.stderr
        told.append(done.stderr)

    with judge_server.JudgeServer(alone=True) as server:
        for answer in (
            judge_server.accepted,
            lambda _n, _b: completion(finish="length"),
            lambda _n, _b: judge_server.JSONResponse({"error": KEY}, 401),
            lambda _n, _b: completion({"success": True, "score": 1, "rationale": KEY}),
        ):
            server.answer = answer
            judge(server.url)
    judge(server.url)  # nobody is there now
    assert "Traceback" in told[-1]
    assert "no connection" in told[-1]
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.name == "vlm_eval.json" for path in files)
    assert all(KEY.encode() not in path.read_bytes() for path in files)
