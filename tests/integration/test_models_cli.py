"""`framejudge models` on the real weights: what is printed can be used as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("weights")


def models(*arguments, **environment):
    """Run `framejudge models` and return (status, stdout, stderr)."""
    import os

    done = subprocess.run(
        [sys.executable, "-m", "framejudge", "models", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    return done.returncode, done.stdout, done.stderr


def test_path_prints_a_folder_that_sentence_transformers_can_load():
    status, out, err = models("path")
    folder = Path(out.strip())
    assert (status, err) == (0, "")
    needed = [
        "1_Pooling/config.json",
        "config.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "vocab.txt",
    ]
    assert [name for name in needed if not (folder / name).is_file()] == []


def test_path_onnx_prints_a_file_that_onnxruntime_can_run():
    import onnxruntime

    status, out, _ = models("path", "--onnx")
    assert status == 0
    session = onnxruntime.InferenceSession(out.strip(), providers=["CPUExecutionProvider"])
    feeds = {"input_ids": np.array([[0, 2711, 2]]), "attention_mask": np.ones((1, 3), np.int64)}
    embedding = session.run(["sentence_embedding"], feeds)[0]
    assert embedding.shape == (1, 768)
    assert abs(np.linalg.norm(embedding) - 1) < 1e-5


def test_verify_hashes_every_file_and_prints_what_sha256sum_would():
    status, out, err = models("verify")
    assert status == 0
    lines = dict(reversed(line.split("  ", 1)) for line in out.splitlines())
    names = {Path(name).name for name in lines}
    assert {"model.safetensors", "tokenizer.json", "model.onnx", "model.onnx.data"} <= names
    [value] = [v for name, v in lines.items() if name.endswith("model.safetensors")]
    assert value == "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
    assert "source files as published, 3 exported ones as they were made" in err


def test_list_says_what_is_here_and_what_is_not(tmp_path):
    status, out, _ = models("list")
    assert status == 0
    assert out.startswith("all-mpnet-base-v2  e8c3b32e  Apache-2.0  ready in ")
    _, out, err = models("list", FRAMEJUDGE_CACHE_DIR=str(tmp_path), FRAMEJUDGE_MODEL_DIR="")
    assert "not fetched (about 404 MB)" in out
    assert str(tmp_path) in err


def test_fetch_and_export_have_nothing_to_do_the_second_time():
    status, out, _ = models("fetch")
    assert status == 0
    assert Path(out.strip(), "config.json").is_file()
    status, out, _ = models("export")
    assert status == 0
    assert out.strip().endswith("model.onnx")


@pytest.mark.parametrize("command", [["path"], ["path", "--onnx"], ["verify"], ["export"]])
def test_offline_and_empty_every_command_says_how_to_fetch(command, tmp_path):
    status, out, err = models(
        *command,
        FRAMEJUDGE_CACHE_DIR=str(tmp_path),
        FRAMEJUDGE_OFFLINE="1",
        FRAMEJUDGE_MODEL_DIR="",
    )
    assert (status, out) == (2, "")
    assert "framejudge models fetch all-mpnet-base-v2" in err
    assert "Traceback" not in err


def test_an_unknown_model_is_a_usage_error_that_lists_the_known():
    status, out, err = models("path", "no-such-model")
    assert (status, out) == (2, "")
    assert "known names are all-mpnet-base-v2" in err


def test_a_local_model_is_exported_and_found(make_model, tmp_path):
    folder = str(make_model("bert"))
    cache = {"FRAMEJUDGE_CACHE_DIR": str(tmp_path / "cache")}
    status, _, err = models("path", folder, "--onnx", **cache)
    assert status == 2
    assert "framejudge models export" in err
    status, out, _ = models("export", folder, "--output", str(tmp_path / "out"), **cache)
    assert (status, out.strip()) == (0, str(tmp_path / "out/model.onnx"))
    assert models("path", folder, **cache)[1].strip() == folder
    status, out, err = models("verify", folder, **cache)
    assert status == 0
    assert "as published" not in err
