"""What bfloat16 and int8 do to the real model's cosines stays within what is documented."""

from __future__ import annotations

import csv
import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from framejudge import Encoder
from framejudge.encoder.ratings import RATINGS

MODELS = Path(__file__).parents[2] / "models"
EVERY = 12
"""Thins the STS benchmark to 115 pairs; benchmarks/encoder_accuracy.py takes all."""

pytestmark = [
    pytest.mark.usefixtures("weights"),
    pytest.mark.skipif(
        importlib.util.find_spec("openvino") is None, reason="the extra openvino is not installed"
    ),
]


def cosines(encoder, pairs):
    embeddings = encoder.encode([text for pair in pairs for text in pair]).astype(np.float64)
    return (embeddings[::2] * embeddings[1::2]).sum(axis=1)


@pytest.fixture(scope="module")
def pairs(test_data):
    with (test_data / "stsb-en-test.csv").open(encoding="utf-8", newline="") as stream:
        return [(row[0], row[1]) for row in csv.reader(stream)][::EVERY]


@pytest.fixture(scope="module")
def exact(pairs):
    return cosines(Encoder(cache=None), pairs)


@pytest.mark.parametrize("rating", [r for r in RATINGS if r.engine == "openvino"], ids=str)
def test_a_cosine_moves_by_no_more_than_is_documented(pairs, exact, rating):
    encoder = Encoder(cache=None, engine=rating.engine, precision=rating.precision)
    moved = np.abs(cosines(encoder, pairs) - exact)
    assert moved.max() <= rating.max_deviation
    assert np.quantile(moved, 0.99) <= 0.01  # the gate of benchmarks/encoder_accuracy.py
    assert encoder.info()["max_deviation"] == rating.max_deviation


@pytest.mark.parametrize("precision", ["bf16", "int8"])
def test_an_embedding_does_not_depend_on_its_batch(precision):
    texts = json.loads((MODELS / "reference_sentences.json").read_text(encoding="utf-8"))[::5]
    alone = Encoder(cache=None, precision=precision, max_batch=1).encode(texts)
    mixed = Encoder(cache=None, precision=precision, token_budget=4096).encode(texts)
    # On AVX-512 they are the same bits, see NOTE [whole vectors].
    np.testing.assert_allclose(mixed, alone, atol=1e-3)
