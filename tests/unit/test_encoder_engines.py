"""Engines, precisions and devices: the same numbers, and an honest word about which ones ran."""

from __future__ import annotations

import gc
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from framejudge import EmbeddingCache, Encoder
from framejudge.encoder import choice, cuda
from framejudge.encoder.choice import choose
from framejudge.encoder.ratings import Choice
from framejudge.errors import ConfigurationError, MissingExtraError

pytestmark = pytest.mark.usefixtures("cache_dir")

TEXTS = ["red car", "", "a person fell near the door", "car " * 150, "a <pad> b", "two dogs"]

needs_openvino = pytest.mark.skipif(
    importlib.util.find_spec("openvino") is None, reason="the extra openvino is not installed"
)
without_gpu = pytest.mark.skipif(cuda.device_count() > 0, reason="there is a CUDA device here")


@pytest.fixture
def no_openvino(monkeypatch):
    """Make OpenVINO look as if it were not installed."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "openvino" else find(name)
    )


@needs_openvino
@pytest.mark.parametrize("family", ["mpnet", "bert"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_openvino_computes_what_onnxruntime_does(make_model, family, pooling):
    # Float32 rounding in a two-layer network; bfloat16, OpenVINO's own default, is 1e-3 away.
    folder = make_model(family, pooling=pooling)
    want = Encoder(folder, cache=None).encode(TEXTS)
    got = Encoder(folder, cache=None, engine="openvino").encode(TEXTS)
    np.testing.assert_allclose(got, want, atol=2e-6)


@needs_openvino
def test_bfloat16_is_really_used_and_said(make_model):
    from framejudge.encoder.runtime_openvino import cpu_has_bfloat16

    if not cpu_has_bfloat16():
        with pytest.raises(ConfigurationError, match="no bfloat16 instructions"):
            Encoder(make_model(), precision="bf16").encode(TEXTS)
        return
    encoder = Encoder(make_model(), cache=None, precision="bf16")
    result = encoder.encode_result(TEXTS)
    deviation = np.abs(result.embeddings - Encoder(make_model(), cache=None).encode(TEXTS)).max()
    assert 1e-5 < deviation < 2**-6
    assert (result.choice.engine, result.choice.precision) == ("openvino", "bf16")
    assert encoder.info()["inference_precision"] == "bf16"
    assert result.choice.max_deviation is None


@needs_openvino
def test_a_batch_mate_does_not_change_an_embedding_in_openvino(make_model):
    folder = make_model()
    alone = Encoder(folder, cache=None, engine="openvino", token_budget=1).encode(TEXTS)
    together = Encoder(folder, cache=None, engine="openvino", token_budget=999).encode(TEXTS)
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_the_default_is_the_same_on_every_machine(make_model):
    result = Encoder(make_model(), cache=None).encode_result(["red car"])
    assert (result.choice.engine, result.choice.precision) == ("onnxruntime", "fp32")
    assert result.choice.device == "cpu"


def test_auto_takes_float32_for_a_model_without_a_documented_deviation(make_model):
    encoder = Encoder(make_model(), precision="auto")
    info = encoder.info()
    assert info["precision"] == "fp32"
    assert "another model" in info["why"]


@needs_openvino
def test_auto_takes_bfloat16_where_it_is_documented_and_there(monkeypatch):
    from framejudge.encoder import runtime_openvino

    monkeypatch.setattr(runtime_openvino, "cpu_has_bfloat16", lambda: True)
    assert choose("auto", "auto", "cpu").precision == "bf16"
    monkeypatch.setattr(runtime_openvino, "cpu_has_bfloat16", lambda: False)
    assert choose("auto", "auto", "cpu").precision == "fp32"


def test_auto_never_takes_more_than_the_documented_limit():
    for engine in choice.ENGINES[:2]:
        taken = choose(engine, "auto", "cpu")
        assert taken.max_deviation <= 0.01
    limits = [rating.max_deviation for rating in choice.RATINGS if rating.max_deviation]
    assert choice.MAX_AUTO_DEVIATION == 0.01
    assert limits


def test_a_missing_engine_is_named_with_the_pip_line(no_openvino):
    with pytest.raises(MissingExtraError, match=r"framejudge\[openvino\]"):
        choose("openvino", "fp32", "cpu")
    with pytest.raises(MissingExtraError, match=r"framejudge\[openvino\]"):
        choose("auto", "bf16", "cpu")
    taken = choose("auto", "auto", "cpu")
    assert taken.precision == "fp32"
    assert "not installed" in taken.why


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"engine": "torch"}, "engine must be one of auto, onnxruntime, openvino; got 'torch'"),
        ({"precision": "int4"}, "precision must be one of .*fp32.*; got 'int4'"),
        ({"device": "gpu"}, "device must be auto, cpu, cuda or cuda:N; got 'gpu'"),
        ({"device": "cuda:x"}, "got 'cuda:x'"),
    ],
)
def test_an_unknown_option_is_refused_at_once(options, message):
    with pytest.raises(ConfigurationError, match=message):
        Encoder(**options)


def test_what_does_not_go_together_is_refused_with_what_does():
    with pytest.raises(ConfigurationError, match=r"accepted there: .*fp32 on onnxruntime"):
        choose("onnxruntime", "bf16", "cpu")


@without_gpu
def test_a_device_that_is_not_there_is_an_error(make_model):
    with pytest.raises(ConfigurationError, match=r"'cuda:0' can't be used: .*no CUDA device"):
        Encoder(make_model(), device="cuda:0").encode(["a"])


@without_gpu
def test_a_session_that_fell_back_is_an_error(make_model):
    from framejudge.encoder.runtime_onnx import OnnxRuntime
    from framejudge.encoder.weights import export_model, find_model

    exported = export_model(find_model(make_model()))
    forced = Choice("onnxruntime", "fp32", "cuda:0", None, "")
    with pytest.raises(ConfigurationError, match="CPUExecutionProvider instead of CUDA"):
        OnnxRuntime(exported, forced, 1)


@without_gpu
def test_asking_for_any_device_is_quiet_where_there_is_none(make_model):
    code = (
        "import sys; from framejudge import Encoder; e = Encoder(sys.argv[1], device='auto');"
        "e.encode(['a']); print(e.info()['device'], e.info()['why'], sep='|')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(make_model())], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert done.stdout.startswith("cpu|there is no CUDA device")


@needs_openvino
@pytest.mark.parametrize("family", ["mpnet", "bert"])
def test_int8_is_within_its_rounding_and_does_not_depend_on_the_batch(make_model, family):
    folder = make_model(family)
    want = Encoder(folder, cache=None).encode(TEXTS)
    alone = Encoder(folder, cache=None, precision="int8", max_batch=1).encode_result(TEXTS)
    mixed = Encoder(folder, cache=None, precision="int8", token_budget=999).encode(TEXTS)
    # Steps of 1/127 of the largest value: 2e-3 was measured after two layers.
    assert 1e-5 < np.abs(alone.embeddings - want).max() < 1 / 127
    np.testing.assert_allclose(mixed, alone.embeddings, atol=1e-3)
    assert (alone.choice.engine, alone.choice.precision) == ("openvino", "int8")


def test_int8_weights_are_stored_as_such(make_model):
    from framejudge.encoder.weights import export_model, find_model

    exported = export_model(find_model(make_model()), precision="int8")
    whole = export_model(find_model(make_model()))
    sizes = [(e.path.parent / "model.onnx.data").stat().st_size for e in (exported, whole)]
    assert exported.path.name == "model.standard.onnx"
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize("family", ["mpnet", "bert"])
def test_the_half_precision_graph_is_within_half_precision(make_model, family):
    # On the CPU onnxruntime computes it in float32 between float16 values; devices do it all.
    from framejudge.encoder.engine import Engine
    from framejudge.encoder.weights import export_model, find_model

    folder = make_model(family)
    exported = export_model(find_model(folder), precision="fp16")
    taken = Choice("onnxruntime", "fp16", "cpu", None, "")
    engine = Engine(exported, taken, max_tokens=200, threads=1, normalize=True)
    got = engine.embed([engine.tokenize(text).ids for text in TEXTS])
    want = Encoder(folder, cache=None).encode(TEXTS)
    deviation = np.abs(got - want).max()
    assert got.dtype == np.float32
    assert 1e-6 < deviation < 2e-3
    data = [export_model(find_model(folder), precision=p).path for p in ("fp16", "fp32")]
    sizes = [path.with_suffix(".onnx.data").stat().st_size for path in data]
    assert sizes[0] < sizes[1]


@pytest.mark.gpu
@pytest.mark.skipif(cuda.problem() is not None, reason=f"no CUDA device: {cuda.problem()}")
@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_a_cuda_device_computes_what_the_cpu_does(make_model, precision):
    folder = make_model()
    want = Encoder(folder, cache=None).encode(TEXTS)
    encoder = Encoder(folder, cache=None, device="cuda:0", precision=precision)
    np.testing.assert_allclose(encoder.encode(TEXTS), want, atol=2e-3)
    assert encoder.info()["providers"][0] == "CUDAExecutionProvider"


@needs_openvino
def test_a_shared_cache_never_mixes_engines(make_model):
    cache = EmbeddingCache()
    for engine in ("onnxruntime", "openvino"):
        Encoder(make_model(), cache=cache, engine=engine).encode(["red car"])
    assert len(cache) == 2


@pytest.mark.parametrize("engine", ["onnxruntime", pytest.param("openvino", marks=needs_openvino)])
def test_a_camera_loop_does_not_grow(make_model, engine):
    encoder = Encoder(make_model(), cache=None, engine=engine, threads=1)
    loop = [f"{'car ' * (number % 12)}person" for number in range(1000)]

    def resident_bytes():
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    for text in loop:  # every length once: kernels and arenas find their size
        encoder.encode([text])
    before = resident_bytes()
    for _ in range(10):
        for text in loop:
            encoder.encode([text])
    # 10,000 calls: one kept embedding each would be 1.3 MB, one kept request far more.
    assert resident_bytes() - before < 1_000_000


FORK = """
import os, sys
import numpy as np
from framejudge import Encoder

encoder = Encoder(sys.argv[1], threads=2, engine="openvino")
want = encoder.encode(["red car", "door"])
child = os.fork()
if child == 0:
    got = encoder.encode(["door", "red car"])[::-1]
    sys.exit(0 if np.allclose(got, want, atol=1e-6) else 9)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@needs_openvino
def test_after_a_fork_the_child_opens_openvino_for_itself(make_model):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, str(make_model())]
    done = subprocess.run(command, timeout=60, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
