"""Embeddings made once by sentence-transformers (models/make_reference.py) are met."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from framejudge import Encoder

pytestmark = pytest.mark.usefixtures("weights")

MODELS = Path(__file__).parents[2] / "models"

# The bound. float32 sums of 768 terms in another order move a cosine by about 1e-7 at most.
COSINE_TOLERANCE = 2e-6


def deviation(a, b):
    """Return 1 - cosine of each pair of rows, in float64."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return 1 - np.sum(a * b, axis=1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)


@pytest.fixture(scope="module")
def sentences():
    return json.loads((MODELS / "reference_sentences.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def expected():
    return np.load(MODELS / "reference_embeddings.npz")["embeddings"]


@pytest.fixture(scope="module")
def result(sentences, weights):
    return Encoder(cache=None).encode_result(sentences)


def test_two_hundred_sentences_agree_with_sentence_transformers(result, expected, sentences):
    assert len(sentences) == len(set(sentences)) == 200
    assert result.embeddings.shape == expected.shape
    assert deviation(result.embeddings, expected).max() <= COSINE_TOLERANCE


def test_embeddings_have_length_one(result):
    # Summing 768 squares one after another rounds by 768 * 2**-24 relative at worst, halved by
    # the root.
    lengths = np.linalg.norm(result.embeddings.astype(np.float64), axis=1)
    assert np.abs(lengths - 1).max() <= 768 * 2**-25


def test_exactly_the_texts_beyond_384_tokens_are_reported(result, sentences):
    at_limit = sentences.index("the " * 381 + "end")
    assert not result.truncated[at_limit]
    assert result.truncated[at_limit + 1]
    assert result.truncated[sentences.index("fire " * 500)]
    assert not result.truncated[sentences.index("person")]


def test_batch_mates_do_not_move_an_embedding(result, sentences):
    encoder = Encoder(cache=None, token_budget=1)
    some = list(range(0, 200, 20))
    alone = encoder.encode([sentences[index] for index in some])
    assert deviation(alone, result.embeddings[some]).max() < 1e-6
