"""What a pipeline is told: paths that exist, commands that run, schemas that hold."""

from __future__ import annotations

import json
import string
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

import framejudge as fj
import judge_server
from framejudge.report.json_schema import SCHEMAS, json_schema
from framejudge.rollout.workflows import TOOL_REFS
from rollout_files import check_artifacts, command, make_rollouts

pytestmark = pytest.mark.usefixtures("artifacts_fit_their_schemas")


def fields(argv):
    found = set()
    for part in argv:
        found |= {name for _, name, _, _ in string.Formatter().parse(part) if name}
    return found


def test_what_is_printed_exists(monkeypatch):
    monkeypatch.delenv("NPA_VLM_IMAGE", raising=False)
    found = json.loads(command("status", "--output", "json").stdout)
    assert found == fj.status().model_dump()
    for name, value in found.items():
        if name.endswith(("workflow", "dataset")):
            assert Path(value).is_file(), name
    assert fj.workflow().image == ""
    monkeypatch.setenv("NPA_VLM_IMAGE", "registry.example/vlm:1")
    assert fj.workflow().image == "registry.example/vlm:1"
    told = json.loads(command("workflow", "--image", "mine:2", "--output", "json").stdout)
    assert (told["image"], told["image_env"]) == ("mine:2", "NPA_VLM_IMAGE")
    listed = json.loads(command("list", "--output", "json").stdout)
    assert listed["supported_backends"] == ["self-hosted", "api", "stub"]
    assert [entry for entry in listed["backends"] if entry["default"]] == [
        {"name": "self-hosted", "real_backend": True, "default": True}
    ]
    assert listed == fj.list_backends().model_dump()


SPECS = [
    value
    for name, value in fj.workflow().model_dump().items()
    if name.endswith("workflow") or name == "workflow"
]


@pytest.mark.parametrize("spec", SPECS)
def test_a_packaged_spec_names_commands_and_inputs_that_there_are(spec):
    found = yaml.safe_load(Path(spec).read_text())
    assert found["name"] == Path(spec).stem
    for stage in found["stages"]:
        assert fields(TOOL_REFS[stage["toolRef"]]) <= set(found["inputs"])
        for output in stage["outputs"]:
            assert output["file"].endswith(".json")
            assert output["schema"].startswith("npa.workbench.vlm_eval.")


@pytest.mark.parametrize("spec", SPECS)
def test_a_packaged_spec_runs_on_the_stub(spec, tmp_path):
    found = yaml.safe_load(Path(spec).read_text())
    make_rollouts(tmp_path / "in", 2)
    (tmp_path / "scene_reasoning.json").write_text('{"analysis": "pick it up, put it down"}')
    given = {name: str(entry.get("default", "")) for name, entry in found["inputs"].items()}
    given |= {
        "rollouts_uri": str(tmp_path / "in"),
        "scores_uri": str(tmp_path / "out"),
        "report_uri": str(tmp_path / "out" / "vlm_eval_benchmark.json"),
        "plan_uri": f"{tmp_path}/",
        "vlm_backend": "stub",
    }
    for stage in found["stages"]:
        program, *arguments = (part.format(**given) for part in TOOL_REFS[stage["toolRef"]])
        assert program == "framejudge"
        done = subprocess.run(
            [sys.executable, "-m", "framejudge", *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert isinstance(json.loads(done.stdout), dict)
        for output in stage["outputs"]:
            assert (tmp_path / "out" / output["file"]).is_file()


def test_an_artifact_that_does_not_fit_is_found(tmp_path):
    make_rollouts(tmp_path / "in", 1)
    fj.run(str(tmp_path / "in" / "r0"), str(tmp_path / "out"), backend="stub", task="t")
    assert check_artifacts(tmp_path) == 1
    file = tmp_path / "out" / "vlm_eval.json"
    sound = file.read_text()
    file.write_text(sound.replace('"passed": ', '"passed": 1, "_": '))
    with pytest.raises(jsonschema.ValidationError):
        check_artifacts(tmp_path)
    file.write_text(sound)


def test_every_schema_is_one_and_is_printed():
    assert command("schema").stdout.split() == list(SCHEMAS)
    for name in SCHEMAS:
        schema = json_schema(name)
        jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(command("schema", "vlm_eval").stdout) == json_schema("vlm_eval")
    done = command("schema", "other")
    assert done.returncode == 2
    assert "schema must be one of vlm_eval, evidence" in done.stderr


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


PREFERENCE = {
    "preference": "tie",
    "confidence": "high",
    "observable_support": ["both are gray"],
    "critical_defects": {"A": ["none visible"], "B": ["none visible"]},
    "uncertainty": "none",
}


@pytest.mark.parametrize("name", TOOL_REFS)
def test_every_command_of_a_stage_runs_and_prints_json(server, tmp_path, monkeypatch, name):
    def answer(_number, body):
        pair = "IMAGE A" in json.dumps(body)
        return judge_server.completion(PREFERENCE if pair else None, model=body["model"])

    server.answer = answer
    make_rollouts(tmp_path / "in", 2)
    (tmp_path / "scene_reasoning.json").write_text('{"analysis": "pick it up, put it down"}')
    for variable in ("VLM_EVAL_API_KEY", "NEBIUS_TOKEN_FACTORY_KEY"):
        monkeypatch.setenv(variable, "sk-of-a-stage")
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "cache"))
    given = {
        "rollouts_uri": str(tmp_path / "in" / "r0"),
        "scores_uri": str(tmp_path / "out"),
        "report_uri": str(tmp_path / "out" / "report.json"),
        "plan_uri": f"{tmp_path}/",
        "dataset_uri": "sample",
        "vlm_backend": "api",
        "task": "place the cube",
        "frame_selection": "keyframes",
        "max_frames": "2",
        "success_threshold": "0.95",
        "thresholds": "0.5",
        "rubrics": "default",
        "models": "judge",
        "primary_model": "one",
        "secondary_model": "two",
        "model": "judge",
        "baseline_uri": str(tmp_path / "in" / "r0" / "frame_0.png"),
        "candidate_uri": str(tmp_path / "in" / "r1" / "frame_1.png"),
    }
    argv = [part.format(**given) for part in TOOL_REFS[name]]
    done = command(*argv[1:], "--endpoint-url", server.url)
    # The gate does not hold, and the runner reads that from the JSON.
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), dict)
    assert server.requests
