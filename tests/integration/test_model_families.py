"""Sentence-transformers folders of other families: their pooling, their prompts, their numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest

from framejudge import Encoder
from framejudge.errors import ConfigurationError, ModelError

pytestmark = pytest.mark.usefixtures("cache_dir")

TEXTS = ["a person fell near the door", "", "two dogs waiting", "car " * 260 + "stops"]
MODULES = "sentence_transformers.models"
PROMPTS = {"query": "red car ", "passage": "two dogs "}


def write_prompts(folder, **config):
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({"prompts": PROMPTS, **config}))
    return folder


def complete(folder, family):
    """Add what transformers wants to be told about a tiny model, and ours reads off the weights."""
    words = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    add_json(folder / "config.json", vocab_size=len(words), type_vocab_size=2)
    add_json(folder / "1_Pooling/config.json", word_embedding_dimension=32)
    kinds = [
        item["type"].rsplit(".")[-1] for item in json.loads((folder / "modules.json").read_text())
    ]
    modules = [
        {"idx": n, "name": str(n), "path": f"{n}_{kind}" if n else "", "type": f"{MODULES}.{kind}"}
        for n, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    pad = {"mpnet": "<pad>", "bert": "[PAD]"}[family]
    add_json(
        folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast", pad_token=pad
    )


def add_json(path, **values):
    known = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps(known | values))


def test_a_models_default_prompt_stands_before_every_text(make_model):
    plain = Encoder(make_model("bert"), cache=None)
    want, bare = plain.encode([f"red car {text}" for text in TEXTS]), plain.encode(TEXTS)
    folder = write_prompts(make_model("bert"), default_prompt_name="query")
    encoder = Encoder(folder, cache=None)
    np.testing.assert_array_equal(encoder.encode(TEXTS), want)
    assert encoder.info()["prompt"] == "red car "
    without = Encoder(folder, prompt="", cache=None).encode(TEXTS)
    np.testing.assert_array_equal(without, bare)


def test_a_prompt_is_taken_by_its_name(make_model):
    folder = write_prompts(make_model("bert"))
    want = Encoder(folder, cache=None).encode(["two dogs a person"])
    got = Encoder(folder, prompt="passage", cache=None).encode(["a person"])
    np.testing.assert_array_equal(got, want)


def test_an_unknown_prompt_is_refused_with_the_models_own(make_model):
    with pytest.raises(ConfigurationError, match="query, passage; got 'question'"):
        Encoder(write_prompts(make_model("bert")), prompt="question").encode(["a"])
    with pytest.raises(ConfigurationError, match="has none; got 'query'"):
        Encoder(make_model("mpnet"), prompt="query").encode(["a"])


def test_a_prompt_that_is_left_out_of_pooling_is_refused(make_model):
    folder = write_prompts(make_model("bert"), default_prompt_name="query")
    pooling = {"pooling_mode_mean_tokens": True, "include_prompt": False}
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    with pytest.raises(ModelError, match="include_prompt is false"):
        Encoder(folder).encode(["a"])
    assert Encoder(folder, prompt="").encode(["a"]).shape == (1, 32)


@pytest.mark.parametrize("prompts", [["query"], {"query": 7}])
def test_prompts_that_are_no_texts_are_named(make_model, prompts):
    folder = write_prompts(make_model("bert"), prompts=prompts)
    with pytest.raises(ModelError, match="prompts must be an object of texts"):
        Encoder(folder).encode(["a"])


@pytest.mark.interop
@pytest.mark.parametrize("family", ["mpnet", "bert"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("engine", ["onnxruntime", "openvino"])
def test_sentence_transformers_computes_the_same_from_the_folder(
    make_model, family, pooling, engine
):
    library = pytest.importorskip("sentence_transformers")
    folder = write_prompts(make_model(family, pooling=pooling), default_prompt_name="query")
    complete(folder, family)
    model = library.SentenceTransformer(str(folder), device="cpu")
    for prompt in (None, "passage"):
        want = model.encode(TEXTS, prompt_name=prompt)
        got = Encoder(folder, cache=None, engine=engine, prompt=prompt).encode(TEXTS)
        np.testing.assert_allclose(got, want, atol=2e-5)  # float32 in both
