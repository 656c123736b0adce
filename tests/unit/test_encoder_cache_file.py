"""The cache in a file: kept between runs, shared by processes, bounded, and never in the way."""

from __future__ import annotations

import multiprocessing
import pickle
import subprocess
import sys

import numpy as np
import pytest

from framejudge import EmbeddingFile, Encoder
from framejudge.errors import InputError

pytestmark = pytest.mark.usefixtures("cache_dir")

TEXTS = ["red car", "a person fell near the door", "two dogs", "car " * 300]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "new" / "embeddings.sqlite"


def test_a_second_run_embeds_nothing_and_returns_the_same(make_model, path):
    folder = make_model()
    first = Encoder(folder, cache=EmbeddingFile(path)).encode_result(TEXTS)
    again = Encoder(folder, cache=EmbeddingFile(path)).encode_result(TEXTS)
    assert (first.n_cached, again.n_cached, again.n_tokens) == (0, 4, 0)
    np.testing.assert_array_equal(again.embeddings, first.embeddings)
    assert again.truncated.tolist() == first.truncated.tolist() == [False, False, False, True]


def test_models_and_settings_never_mix(make_model, path):
    cache = EmbeddingFile(path)
    for encoder in (
        Encoder(make_model("bert"), cache=cache),
        Encoder(make_model("mpnet"), cache=cache),
        Encoder(make_model("mpnet"), cache=cache, max_tokens=4),
        Encoder(make_model("mpnet"), cache=cache, normalize=False),
    ):
        assert encoder.encode_result(["red car"]).n_cached == 0
    assert len(cache) == 4


def test_no_text_is_written(make_model, path):
    Encoder(make_model(), cache=EmbeddingFile(path)).encode(["nobody waiting"])
    written = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"nobody" not in written


def test_the_file_keeps_to_its_bound_and_drops_the_longest_unused(path, monkeypatch):
    cache = EmbeddingFile(path, max_bytes=1 << 20)
    now = [10_000]
    monkeypatch.setattr("time.time", lambda: now[0])
    vector = np.ones((1, 768), np.float32)
    for number in range(1000):  # three times what fits
        now[0] += 4000
        cache.put_many([b"%04d" % number], vector)
        assert cache.get_many([b"0000"])[0] is not None
    assert cache.n_bytes <= 1 << 20
    assert 100 < len(cache) < 340
    assert cache.get_many([b"0999", b"0001"])[1] is None
    cache.clear()
    assert len(cache) == 0


def fill(path, number, start):
    cache = EmbeddingFile(path)
    start.wait()
    for item in range(50):
        key = b"%d-%d" % (number, item)
        cache.put_many([key], np.full((1, 8), number, np.float32))
        if cache.get_many([key])[0] is None:
            raise SystemExit(1)


def test_several_processes_write_and_read_at_once(path):
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(4)
    workers = [context.Process(target=fill, args=(path, n, start)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0, 0]
    assert len(EmbeddingFile(path)) == 200


FORK = """
import os, sys
import numpy as np
from framejudge import EmbeddingFile

cache = EmbeddingFile(sys.argv[1])
cache.put_many([b"parent"], np.ones((1, 8), np.float32))
child = os.fork()
if child == 0:
    cache.put_many([b"child"], np.ones((1, 8), np.float32))
    sys.exit(0 if cache.get_many([b"parent"])[0] is not None else 9)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
cache.put_many([b"later"], np.ones((1, 8), np.float32))
sys.exit(status or len(cache) != 3)
"""


def test_a_fork_leaves_both_processes_with_a_cache(path):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(path)]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_damaged_file_costs_time_and_nothing_else(make_model, path, caplog):
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 400)
    encoder = Encoder(make_model(), cache=EmbeddingFile(path))
    want = Encoder(make_model(), cache=None).encode(TEXTS[:2])
    for _ in range(2):
        np.testing.assert_allclose(encoder.encode(TEXTS[:2]), want, atol=1e-6)
    assert [r.message for r in caplog.records if "is not used as a cache" in r.message]
    assert sum("is not used" in r.message for r in caplog.records) == 1


def test_pickling_keeps_path_and_bound(path):
    again = pickle.loads(pickle.dumps(EmbeddingFile(path, max_bytes=1 << 21)))
    assert (again.path, again.max_bytes) == (path, 1 << 21)


@pytest.mark.parametrize("value", [0, 1000, 1.5, None])
def test_a_bound_too_small_is_refused(path, value):
    with pytest.raises(InputError, match="max_bytes"):
        EmbeddingFile(path, max_bytes=value)
