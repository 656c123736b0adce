"""SentenceTransformerEmbedder takes what its namesakes take, and is our encoder."""

from __future__ import annotations

import numpy as np
import pytest

from framejudge import Encoder
from framejudge.embedders import Embedder, SentenceTransformerEmbedder
from framejudge.errors import ConfigurationError, InputError

pytestmark = pytest.mark.usefixtures("cache_dir")


def test_the_name_is_accepted_in_all_three_ways():
    given = [
        SentenceTransformerEmbedder("some-model"),
        SentenceTransformerEmbedder(model="some-model"),
        SentenceTransformerEmbedder(model_name="some-model"),
    ]
    assert {repr(embedder) for embedder in given} == {"SentenceTransformerEmbedder('some-model')"}
    assert repr(SentenceTransformerEmbedder()) == "SentenceTransformerEmbedder('all-mpnet-base-v2')"
    assert isinstance(given[0], Encoder)


def test_two_names_are_one_too_many():
    with pytest.raises(ConfigurationError, match="model='a' and model_name='b'"):
        SentenceTransformerEmbedder("a", model_name="b")


@pytest.mark.parametrize("size", [0, -3, 1.5, True, "64"])
def test_a_batch_size_must_be_a_whole_number(size):
    with pytest.raises(InputError, match="batch_size"):
        SentenceTransformerEmbedder(batch_size=size)


def test_it_encodes_as_the_encoder_does(make_model):
    folder = make_model("bert")
    texts = ["red car", "door", "two dogs"]
    embedder: Embedder = SentenceTransformerEmbedder(model=folder, batch_size=2)
    np.testing.assert_allclose(embedder.encode(texts), Encoder(folder).encode(texts), atol=1e-6)
    assert embedder.encode_query("door").shape == (32,)


def test_normalisation_can_be_left_to_the_model(make_model):
    folder = make_model("bert", normalize=False)
    raw = SentenceTransformerEmbedder(folder, normalize_embeddings=False).encode(["red car"])
    assert abs(np.linalg.norm(raw) - 1) > 0.1
