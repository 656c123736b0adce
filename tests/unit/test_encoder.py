"""What the encoder promises around the model: order, repeats, batches, cache, threads, forks."""

from __future__ import annotations

import logging
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from framejudge import EmbeddingCache, Encoder
from framejudge.encoder.engine import Engine, plan_batches
from framejudge.errors import InputError

pytestmark = pytest.mark.usefixtures("cache_dir")

TEXTS = [f"{'car ' * n}stops" for n in (5, 1, 9, 3, 7, 0, 12, 2)]


@pytest.fixture
def folder(make_model):
    return make_model("mpnet")


@pytest.fixture
def embedded(monkeypatch):
    """Record the token ids of every batch that reaches the model."""
    batches = []
    real = Engine.embed

    def embed(self, batch):
        batches.append([list(ids) for ids in batch])
        return real(self, batch)

    monkeypatch.setattr(Engine, "embed", embed)
    return batches


def test_rows_come_back_in_the_order_of_the_texts(folder):
    encoder = Encoder(folder, cache=None, token_budget=16)
    together = encoder.encode(TEXTS)
    for row, text in zip(together, TEXTS, strict=True):
        np.testing.assert_allclose(row, encoder.encode([text])[0], atol=1e-6)


def test_repeated_texts_are_embedded_once(folder, embedded):
    result = Encoder(folder, cache=None).encode_result(["red car", "door", "red car", "red car"])
    assert sum(len(batch) for batch in embedded) == 2
    assert (result.n_distinct, result.n_cached) == (2, 0)
    assert result.n_tokens == (2 + 2) + (1 + 2)
    np.testing.assert_array_equal(result.embeddings[0], result.embeddings[3])
    assert not np.array_equal(result.embeddings[0], result.embeddings[1])


def test_no_text_gives_an_empty_matrix_of_the_right_width(folder):
    embeddings = Encoder(folder).encode([])
    assert embeddings.shape == (0, 32)
    assert embeddings.dtype == np.float32


def test_batches_keep_to_the_token_budget_and_are_sorted(folder, embedded):
    Encoder(folder, cache=None, token_budget=20).encode(TEXTS)
    sizes = [[len(ids) for ids in batch] for batch in embedded]
    assert all(sum(batch) <= 20 for batch in sizes)
    flat = [size for batch in sizes for size in batch]
    assert flat == sorted(flat, reverse=True)
    assert len(flat) == len(TEXTS)


def test_batches_are_capped_in_texts_where_asked(folder, embedded):
    Encoder(folder, cache=None, max_batch=3).encode(TEXTS)
    assert [len(batch) for batch in embedded] == [3, 3, 2]


def test_a_text_longer_than_the_budget_is_a_batch_of_its_own():
    assert list(plan_batches([4, 50, 4], 10)) == [[1], [0, 2]]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("one text", "one str: pass"),
        (b"bytes", "one bytes: pass"),
        (["fine", 3], r"texts\[1\] must be a string, got int"),
        (["fine", "fine", None], r"texts\[2\] must be a string, got NoneType"),
        (["fine", "bad \ud800 text"], r"texts\[1\] is not valid Unicode .* character 4"),
    ],
)
def test_what_is_not_a_list_of_texts_is_refused_by_index(folder, texts, message):
    with pytest.raises(InputError, match=message):
        Encoder(folder).encode(texts)


@pytest.mark.parametrize(
    "arguments",
    [
        {"model": ""},
        {"model": 3},
        {"max_tokens": 2},
        {"max_tokens": True},
        {"token_budget": 0},
        {"max_batch": 0},
        {"threads": -1},
        {"threads": 1.5},
        {"cache": {}},
    ],
)
def test_arguments_are_checked_at_once(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        Encoder(**arguments)


def test_a_limit_beyond_the_models_own_is_refused(folder):
    with pytest.raises(InputError, match="max_tokens 201 is beyond the model's 200"):
        Encoder(folder, max_tokens=201).encode(["a"])


def test_nothing_is_touched_before_the_first_use(tmp_path):
    encoder = Encoder(tmp_path / "nowhere")
    assert "nowhere" in repr(encoder)


def test_nul_and_control_characters_are_as_if_they_were_not_there(folder):
    plain, odd = Encoder(folder).encode(["red car", "red\x00 car"])
    np.testing.assert_allclose(plain, odd, atol=1e-7)


def test_cut_texts_are_flagged_and_counted_in_a_warning(folder, caplog):
    texts = ["car " * 198, "car " * 199, "door", "car " * 199]
    encoder = Encoder(folder)
    with caplog.at_level(logging.WARNING, logger="framejudge"):
        result = encoder.encode_result(texts)
    assert result.truncated.tolist() == [False, True, False, True]
    assert "2 of 4 texts are longer than 200 tokens" in caplog.text
    cached = encoder.encode_result(texts)
    assert cached.n_cached == 3
    assert cached.truncated.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(cached.embeddings, result.embeddings)


def test_a_lower_limit_cuts_sooner(folder):
    result = Encoder(folder, max_tokens=5).encode_result(["car car car", "car car car car"])
    assert result.truncated.tolist() == [False, True]
    np.testing.assert_allclose(result.embeddings[0], result.embeddings[1], atol=1e-6)


def test_progress_counts_texts_up_to_all_of_them(folder):
    encoder, seen = Encoder(folder, token_budget=16), []
    encoder.encode(TEXTS[:4])
    encoder.encode([*TEXTS, *TEXTS], progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (8, 16)
    assert seen[-1] == (16, 16)
    assert seen == sorted(seen)


def test_the_cache_answers_again_without_the_model(folder, embedded):
    cache = EmbeddingCache()
    first = Encoder(folder, cache=cache)
    want = first.encode(TEXTS)
    batches = len(embedded)
    result = Encoder(folder, cache=cache).encode_result(TEXTS)
    assert len(embedded) == batches
    assert (result.n_cached, result.n_tokens) == (len(TEXTS), 0)
    assert (cache.hits, cache.misses) == (len(TEXTS), len(TEXTS))
    np.testing.assert_array_equal(result.embeddings, want)


def test_a_shared_cache_never_mixes_models_or_settings(make_model):
    cache = EmbeddingCache()
    bert, mpnet = make_model("bert"), make_model("mpnet")
    encoders = [
        Encoder(bert, cache=cache),
        Encoder(mpnet, cache=cache),
        Encoder(mpnet, cache=cache, max_tokens=4),
    ]
    rows = [encoder.encode(["red car stops near the door"])[0] for encoder in encoders]
    assert len(cache) == 3
    assert not np.allclose(rows[0], rows[1])
    assert not np.allclose(rows[1], rows[2])


def test_the_cache_keeps_to_its_bound_and_drops_the_oldest():
    cache = EmbeddingCache(max_bytes=3 * (8 * 4 + 256))
    keys = [bytes([n]) for n in range(4)]
    cache.put_many(keys[:3], np.zeros((3, 8), np.float32))
    assert cache.get_many(keys[:1])[0] is not None
    cache.put_many(keys[3:], np.ones((1, 8), np.float32))
    assert [value is not None for value in cache.get_many(keys)] == [True, False, True, True]
    assert cache.n_bytes <= cache.max_bytes
    cache.clear()
    assert (len(cache), cache.n_bytes) == (0, 0)


def test_a_cache_too_small_for_one_embedding_keeps_none(folder):
    cache = EmbeddingCache(max_bytes=100)
    Encoder(folder, cache=cache).encode(TEXTS)
    assert len(cache) == 0


@pytest.mark.parametrize("value", [-1, 1.5, None, True])
def test_a_cache_bound_must_be_a_whole_number(value):
    with pytest.raises(InputError, match="max_bytes"):
        EmbeddingCache(max_bytes=value)


def test_changing_a_result_does_not_change_the_cache(folder):
    encoder = Encoder(folder)
    first = encoder.encode(["red car"])
    kept = first.copy()
    first[:] = 7
    np.testing.assert_array_equal(encoder.encode(["red car"]), kept)


def test_threads_may_encode_at_the_same_time(folder):
    encoder = Encoder(folder, token_budget=16)
    want = Encoder(folder, cache=None).encode(TEXTS)
    results, start = {}, threading.Barrier(8)

    def work(number):
        start.wait()
        results[number] = encoder.encode(TEXTS)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    for got in results.values():
        np.testing.assert_allclose(got, want, atol=1e-6)


def test_pickling_keeps_the_settings_and_opens_the_model_anew(folder):
    encoder = Encoder(folder, max_tokens=50)
    want = encoder.encode(TEXTS)
    again = pickle.loads(pickle.dumps(encoder))
    assert repr(again) == repr(encoder)
    assert len(again.cache) == 0
    np.testing.assert_allclose(again.encode(TEXTS), want, atol=1e-6)


FORK = """
import os, sys, threading
import numpy as np
from framejudge import Encoder

used, unused = Encoder(sys.argv[1], threads=2), Encoder(sys.argv[1], threads=2)
want = used.encode(["red car", "door"])
unused.warm_up()
encoder_lock, cache_lock = used._lock, used.cache._lock
encoder_lock.acquire(), cache_lock.acquire()    # as another thread might hold them at the fork
child = os.fork()
if child == 0:
    got = used.encode(["door", "red car"])[::-1]
    sys.exit(0 if np.allclose(got, want, atol=1e-6) else 9)   # a whole interpreter's end
encoder_lock.release(), cache_lock.release()
assert np.array_equal(used.encode(["red car", "door"]), want)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_after_a_fork_the_child_opens_the_model_for_itself(folder):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(folder)],
        timeout=60,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_onnxruntime_is_loaded_without_its_telemetry():
    code = (
        "import os, framejudge.encoder.runtime_onnx as e;"
        "before = len(os.listdir('/proc/self/task'));"
        "e.load_onnxruntime(); print(len(os.listdir('/proc/self/task')) - before,"
        "'ORT_DISABLE_TELEMETRY' in os.environ)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False"]


def test_info_says_what_runs(folder):
    encoder = Encoder(folder, threads=1, token_budget=99)
    info = encoder.info()
    assert info["model"] == "tiny-mpnet"
    assert info["source"] == "local"
    assert (info["engine"], info["precision"]) == ("onnxruntime", "fp32")
    assert info["providers"] == ["CPUExecutionProvider"]
    assert (info["threads"], info["max_tokens"], info["token_budget"]) == (1, 200, 99)
    assert len(info["weights_sha256"]) == 64
    assert encoder.dimension == 32


def test_importing_the_encoder_loads_nothing_heavy():
    heavy = "onnxruntime onnx tokenizers huggingface_hub pydantic filelock platformdirs safetensors"
    code = (
        "import sys, framejudge.encoder, framejudge.embedders; framejudge.encoder.Encoder();"
        f"print([name for name in {heavy.split()} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
