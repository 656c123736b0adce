"""The encoder on a CUDA device: equality with float32, throughput, share of the peak, latency.

One command on a machine with a device: `python3 -m pip install '.[gpu,mpnet]'`, then
`python -m benchmarks run gpu`. float16 must stay within 2e-3 of the CPU's float32 in every cosine.
Throughput is that of 2,048 texts of 32 tokens a batch; the peak is a large float16 product of
torch's, and the peer sentence-transformers in float16, where torch is installed with CUDA.
`--random` takes weights of the real shape with random values, for a machine that can't get the real
ones: they show speed and equality, and say nothing about language. Asked for: 35 % of the peak, 3 x
the peer, one text in under 3 ms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.camera_texts import camera_texts
from benchmarks.timing import machine, write_json

BATCH, TOKENS = 2048, 32
FLOP_PER_TOKEN = 170.1e6 + 0.037e6 * TOKENS
ONE = "A man in a grey coat falls near the main entrance door."
LIMIT = 2e-3
SIZES = {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}
HEADS, POSITIONS, VOCABULARY, BUCKETS = 12, 514, 30527, 32


def random_model(folder: Path) -> Path:
    """Write a model of all-mpnet-base-v2's shape with random weights and a tokeniser by words."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    rng = np.random.default_rng(7)
    wide, narrow = SIZES["intermediate_size"], SIZES["hidden_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (VOCABULARY, narrow),
        "embeddings.position_embeddings.weight": (POSITIONS, narrow),
        "encoder.relative_attention_bias.weight": (BUCKETS, HEADS),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(SIZES["num_hidden_layers"]):
        base = f"encoder.layer.{layer}"
        linears = {f"attention.attn.{name}": (narrow, narrow) for name in "qkvo"}
        linears |= {"intermediate.dense": (wide, narrow), "output.dense": (narrow, wide)}
        for name, shape in linears.items():
            shapes[f"{base}.{name}.weight"] = shape
            shapes[f"{base}.{name}.bias"] = shape[:1]
        norms += [f"{base}.attention.LayerNorm", f"{base}.output.LayerNorm"]
    weights = {n: rng.normal(0, 0.04, s).astype(np.float32) for n, s in shapes.items()}
    for name in norms:
        weights[f"{name}.weight"] = np.ones(narrow, np.float32)
        weights[f"{name}.bias"] = np.zeros(narrow, np.float32)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors")
    config = SIZES | {"model_type": "mpnet", "num_attention_heads": HEADS, "pad_token_id": 1}
    config |= {"max_position_embeddings": POSITIONS, "layer_norm_eps": 1e-5}
    (folder / "config.json").write_text(json.dumps(config))
    words = dict.fromkeys(word for text in camera_texts(2000) for word in text.lower().split())
    vocabulary = {w: n for n, w in enumerate(["<s>", "<pad>", "</s>", "[UNK]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def seconds_of(call, rounds: int = 7) -> list[float]:
    """Return the times of a call after two that are not counted."""
    samples = []
    for turn in range(rounds + 2):
        start = time.perf_counter()
        call()
        if turn > 1:
            samples.append(time.perf_counter() - start)
    return samples


def texts_of(tokens: int) -> list[str]:
    """Return texts that are cut to `tokens` tokens each."""
    long = " ".join(camera_texts(40)).split()
    rng = np.random.default_rng(1)
    return [" ".join(rng.permutation(long)[: 2 * tokens]) for _ in range(BATCH)]


def equality(model) -> float:
    """Return the largest change of a cosine between float16 there and float32 on the CPU."""
    from framejudge import Encoder

    texts = camera_texts(400)
    want = Encoder(model, cache=None).encode(texts).astype(np.float64)
    there = Encoder(model, cache=None, device="cuda:0", precision="fp16")
    got = there.encode(texts).astype(np.float64)
    pairs = [(e[:200] * e[200:]).sum(axis=1) for e in (want, got)]
    return float(np.abs(pairs[0] - pairs[1]).max())


def peak_and_peer(model, texts: list[str]) -> dict[str, float]:
    """Return torch's float16 peak in FLOP/s and the peer's texts a second, where torch can."""
    try:
        import torch
        from sentence_transformers import SentenceTransformer
    except ImportError:
        return {}
    if not torch.cuda.is_available():
        return {}
    square = torch.ones(8192, 8192, dtype=torch.float16, device="cuda")

    def product() -> None:
        square @ square
        torch.cuda.synchronize()

    peer = SentenceTransformer(str(model), device="cuda").half()
    peer.max_seq_length = TOKENS
    encoded = min(seconds_of(lambda: peer.encode(texts, batch_size=BATCH), rounds=5))
    return {"peak": 2 * 8192**3 / min(seconds_of(product)), "peer": len(texts) / encoded}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--random", action="store_true", help="random weights of the real shape")
    parser.add_argument("--output", type=Path, help="write the record of the run as JSON")
    options = parser.parse_args()
    from framejudge import Encoder
    from framejudge.encoder.cuda import problem
    from framejudge.encoder.weights import find_model

    if problem() is not None:
        raise SystemExit(f"not measured: {problem()}")
    with tempfile.TemporaryDirectory() as scratch:
        known = "all-mpnet-base-v2"
        model = random_model(Path(scratch) / known) if options.random else known
        settings = {"device": "cuda:0", "precision": "fp16", "max_tokens": TOKENS}
        encoder = Encoder(model, cache=None, token_budget=BATCH * TOKENS, **settings)
        texts = texts_of(TOKENS)
        moved, done = equality(model), min(seconds_of(lambda: encoder.encode(texts)))
        one = seconds_of(lambda: encoder.encode([ONE]), rounds=200)
        folder = model if options.random else find_model(model).folder
        others = peak_and_peer(folder, texts)
    rate = BATCH / done
    row = {
        "max_cosine_change": moved,
        "texts_per_s": rate,
        "flop_per_s": rate * TOKENS * FLOP_PER_TOKEN,
        "one_text_p50_ms": 1000 * float(np.percentile(one, 50)),
        "one_text_p99_ms": 1000 * float(np.percentile(one, 99)),
    }
    if others:
        row["share_of_peak"] = row["flop_per_s"] / others["peak"]
        row["times_the_peer"] = rate / others["peer"]
    for name, value in row.items():
        print(f"{name:20} {value:.4g}")
    if options.output:
        write_json(options.output, {"machine": machine(), **row})
    if moved > LIMIT:
        raise SystemExit(f"float16 moves a cosine by {moved:.1e}, at most {LIMIT:.0e} allowed")


if __name__ == "__main__":
    main()
