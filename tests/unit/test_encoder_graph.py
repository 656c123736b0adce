"""The exported graph computes what BERT and MPNet are defined to compute.

The oracle below is a plain float64 forward pass of one text at a time, read straight from the
safetensors file; it shares no code with the exporter.
"""

from __future__ import annotations

import bisect
import json
import math

import numpy as np
import pytest

from framejudge import Encoder

pytestmark = pytest.mark.usefixtures("cache_dir")

TEXTS = [
    "a person fell near the door",
    "nobody",
    "",
    "two dogs waiting is red",
    "car " * 40 + "stops",
    "the red car stops near the door two persons waiting " * 14,
    "a <pad> b",
]

# First distance of each logarithmic bucket: ceil(8 * 2 ** (k / 2)) for k = 0..7.
FAR = (8, 12, 16, 23, 32, 46, 64, 91)

# float32 rounding of sums of at most 200 products in a two-layer network of values of order 1.
TOLERANCE = 2e-5


def bucket(offset):
    """Return the T5 bucket of key - query."""
    distance = abs(offset)
    near = distance if distance < 8 else 8 + bisect.bisect_right(FAR, distance) - 1
    return near + (16 if offset > 0 else 0)


def layer_norm(x, weights, name):
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    scale, shift = weights[f"{name}.weight"], weights[f"{name}.bias"]
    return (x - mean) / np.sqrt(variance + 1e-5) * scale + shift


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def attention(x, weights, base, names, bias):
    """Return multi-head attention of (tokens, 32) with 4 heads, before the output layer."""
    q, k, v = (linear(x, weights, f"{base}.attention.{name}") for name in names)
    heads = []
    for head in range(4):
        part = slice(8 * head, 8 * head + 8)
        scores = q[:, part] @ k[:, part].T / math.sqrt(8) + bias[head]
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        heads.append(scores / scores.sum(axis=1, keepdims=True) @ v[:, part])
    return np.concatenate(heads, axis=1)


def forward(folder, ids, family):
    """Return the token vectors of one text, in float64."""
    from safetensors.numpy import load_file

    weights = {k: v.astype(np.float64) for k, v in load_file(folder / "model.safetensors").items()}
    weights = {k.removeprefix(f"{family}."): v for k, v in weights.items()}
    n, bias = len(ids), np.zeros((4, len(ids), len(ids)))
    positions = np.arange(n)
    if family == "mpnet":
        # A token that is written as padding keeps the padding's position, and isn't counted.
        real = np.array([token != 1 for token in ids])
        positions = np.where(real, np.cumsum(real) + 1, 1)
        table = weights["encoder.relative_attention_bias.weight"]
        bias = np.array(
            [[[table[bucket(k - q), h] for k in range(n)] for q in range(n)] for h in range(4)]
        )
        names, out, norm = ("attn.q", "attn.k", "attn.v"), "attention.attn.o", "attention.LayerNorm"
    else:
        names = ("self.query", "self.key", "self.value")
        out, norm = "attention.output.dense", "attention.output.LayerNorm"
    x = weights["embeddings.word_embeddings.weight"][ids]
    x = x + weights["embeddings.position_embeddings.weight"][positions]
    if family == "bert":
        x = x + weights["embeddings.token_type_embeddings.weight"][0]
    x = layer_norm(x, weights, "embeddings.LayerNorm")
    for layer in range(2):
        base = f"encoder.layer.{layer}"
        context = linear(attention(x, weights, base, names, bias), weights, f"{base}.{out}")
        x = layer_norm(x + context, weights, f"{base}.{norm}")
        wide = gelu(linear(x, weights, f"{base}.intermediate.dense"))
        x = layer_norm(
            x + linear(wide, weights, f"{base}.output.dense"), weights, f"{base}.output.LayerNorm"
        )
    return x


def expected(folder, texts, family, pooling, *, normalize):
    """Return the embeddings by the oracle."""
    from tokenizers import Tokenizer

    limit = json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"]
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rows = []
    for text in texts:
        ids = tokenizer.encode(text).ids
        ids = ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]
        tokens = forward(folder, ids, family)
        row = {"mean": tokens.mean(axis=0), "cls": tokens[0], "max": tokens.max(axis=0)}[pooling]
        rows.append(row / np.linalg.norm(row) if normalize else row)
    return np.array(rows)


@pytest.mark.parametrize("family", ["mpnet", "bert"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_embeddings_are_those_of_a_plain_forward_pass(make_model, family, pooling):
    folder = make_model(family, pooling=pooling)
    got = Encoder(folder, cache=None).encode(TEXTS)
    assert got.dtype == np.float32
    np.testing.assert_allclose(
        got, expected(folder, TEXTS, family, pooling, normalize=True), atol=TOLERANCE
    )


@pytest.mark.parametrize("family", ["mpnet", "bert"])
def test_weights_saved_under_the_familys_prefix_are_found(make_model, family):
    folder = make_model(family, prefix=f"{family}.")
    got = Encoder(folder, cache=None).encode(TEXTS[:2])
    want = expected(folder, TEXTS[:2], family, "mean", normalize=True)
    np.testing.assert_allclose(got, want, atol=TOLERANCE)


def test_half_precision_weights_are_computed_in_float32(make_model):
    folder = make_model("bert", dtype=np.float16)
    got = Encoder(folder, cache=None).encode(TEXTS[:2])
    want = expected(folder, TEXTS[:2], "bert", "mean", normalize=True)
    np.testing.assert_allclose(got, want, atol=TOLERANCE)


def test_vectors_stay_unnormalised_only_when_model_and_caller_agree(make_model):
    folder = make_model("bert", normalize=False)
    raw = Encoder(folder, normalize=False, cache=None).encode(TEXTS[:2])
    want = expected(folder, TEXTS[:2], "bert", "mean", normalize=False)
    np.testing.assert_allclose(raw, want, atol=5 * TOLERANCE)
    assert np.abs(np.linalg.norm(raw, axis=1) - 1).min() > 0.1
    own = make_model("mpnet", normalize=True)
    kept = Encoder(own, normalize=False, cache=None).encode(TEXTS[:2])
    np.testing.assert_allclose(np.linalg.norm(kept, axis=1), 1, atol=1e-6)


def test_buckets_of_relative_positions_are_those_of_the_definition():
    from framejudge.encoder.graph import relative_bias_table

    table = relative_bias_table(np.arange(32, dtype=np.float32)[:, None], 512)
    assert table.shape == (1, 1023)
    assert table[0].tolist() == [bucket(offset) for offset in range(-511, 512)]


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        ("config.json", {"model_type": "roberta"}, "'roberta' is not supported.*'bert', 'mpnet'"),
        ("config.json", {"hidden_act": "relu"}, "'relu'.*'gelu'"),
        ("config.json", {"hidden_size": None}, "hidden_size must be a positive integer, got None"),
        ("config.json", {"num_attention_heads": 5}, "not a multiple of num_attention_heads 5"),
        ("config.json", {"intermediate_size": 49}, "has shape .* config.json says"),
        ("config.json", {"num_hidden_layers": 3}, "encoder.layer.2.* is missing"),
        ("config.json", {"position_embedding_type": "relative_key"}, "'relative_key'"),
        ("1_Pooling/config.json", {"pooling_mode_weightedmean_tokens": True}, "weightedmean"),
        ("1_Pooling/config.json", {"pooling_mode_mean_sqrt_len_tokens": True}, "mean_sqrt_len"),
    ],
)
def test_what_cannot_be_exported_is_named_with_what_can(make_model, file, change, message):
    from framejudge.errors import ModelError

    path = make_model("bert") / file
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ModelError, match=message):
        Encoder(path.parent if file == "config.json" else path.parent.parent).encode(["a"])


def test_a_module_that_is_not_known_is_named(make_model):
    from framejudge.errors import ModelError

    folder = make_model("bert")
    modules = [
        {"type": f"sentence_transformers.models.{k}"} for k in ("Transformer", "Pooling", "Dense")
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match="Transformer, Pooling, Dense are not supported"):
        Encoder(folder).encode(["a"])


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(make_model, name):
    from framejudge.errors import ModelNotFoundError

    folder = make_model("bert")
    (folder / name).unlink()
    with pytest.raises(ModelNotFoundError, match=f"{name} missing"):
        Encoder(folder).encode(["a"])


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_broken_file_is_named(make_model, name):
    from framejudge.errors import ModelError

    folder = make_model("bert")
    (folder / name).write_bytes(b"\x00broken")
    with pytest.raises(ModelError, match=name):
        Encoder(folder).encode(["a"])


def test_a_folder_without_modules_and_pooling_is_mean_pooled(make_model):
    folder = make_model("bert", normalize=False)
    (folder / "modules.json").unlink()
    (folder / "1_Pooling/config.json").unlink()
    got = Encoder(folder, cache=None).encode(TEXTS[:1])
    want = expected(folder, TEXTS[:1], "bert", "mean", normalize=True)
    np.testing.assert_allclose(got, want, atol=TOLERANCE)
