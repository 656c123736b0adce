"""framejudge.cosine from Python: dtypes, layouts, NaN, shapes, errors, threads, memory."""

from __future__ import annotations

import doctest
import os
import pickle
import signal
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from framejudge import _core, cosine
from framejudge.errors import InputError

# A sum of n float32 products is off by at most n * 2^-24 of the sum of their magnitudes, which for
# a cosine is at most 1; rounding the products and the normalised elements costs as much again.
# float64 sums leave the result's own rounding.
UNIT = 2.0**-24


def tolerance(width: int, accumulate: str) -> float:
    return 1.01 * UNIT if accumulate == "float64" else (2 * width + 8) * UNIT


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def to_float64(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.uint16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64)


def reference(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    x, y = to_float64(a), to_float64(b)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    return x @ y.T


CASTS = {
    "float32": lambda values: values.astype(np.float32),
    "float16": lambda values: values.astype(np.float16),
    "bfloat16": to_bfloat16,
}


@pytest.fixture(params=_core.isa_tiers())
def tier(request):
    before = _core.build_info()["isa"]
    _core._set_isa(request.param)
    yield request.param
    _core._set_isa(before)


@pytest.fixture
def rng():
    return np.random.default_rng(20)


@pytest.fixture
def pool_size():
    before = _core.threads()
    yield _core.set_threads
    _core.set_threads(before)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("accumulate", ["float32", "float64"])
@pytest.mark.parametrize("dtype", CASTS)
@pytest.mark.parametrize("width", [1, 2, 15, 16, 17, 64, 100, 768, 5000])
def test_all_three_agree_with_float64(dtype, width, accumulate, rng):
    a = CASTS[dtype](rng.standard_normal((23, width)))
    b = CASTS[dtype](rng.standard_normal((41, width)))
    expected = reference(a, b)
    allowed = tolerance(width, accumulate)

    paired = cosine.paired(a, b[:23], accumulate=accumulate)
    matrix = cosine.matrix(a, b, accumulate=accumulate)
    scores, indices = cosine.top_k(a, b, 6, accumulate=accumulate)

    assert paired.dtype == matrix.dtype == scores.dtype == np.float32
    assert indices.dtype == np.int64
    assert np.abs(paired - np.diag(expected[:, :23])).max() <= allowed
    assert np.abs(matrix - expected).max() <= allowed
    assert np.abs(scores + np.sort(-expected, axis=1)[:, :6]).max() <= allowed
    assert np.abs(scores - np.take_along_axis(expected, indices, axis=1)).max() <= allowed


def test_tiers_differ_by_rounding_only(rng):
    a = rng.standard_normal((50, 768), dtype=np.float32)
    b = rng.standard_normal((60, 768), dtype=np.float32)
    before = _core.build_info()["isa"]
    results = []
    for name in _core.isa_tiers():
        _core._set_isa(name)
        results.append(cosine.matrix(a, b))
    _core._set_isa(before)
    # Each is within the tolerance of the truth, so two are within twice that of each other.
    spread = np.max(results, axis=0) - np.min(results, axis=0)
    assert spread.max() <= 2 * tolerance(768, "float32")


@pytest.mark.usefixtures("tier")
def test_zeros_nan_and_infinity_give_nan_and_leave_other_rows_alone(rng):
    a = rng.standard_normal((20, 33), dtype=np.float32)
    b = rng.standard_normal((20, 33), dtype=np.float32)
    a[2] = 0
    a[5, 32] = np.nan
    b[7, 0] = np.inf
    b[9, 16] = -np.inf
    bad_a, bad_b = [2, 5], [7, 9]

    assert np.flatnonzero(np.isnan(cosine.paired(a, b))).tolist() == [2, 5, 7, 9]

    matrix = cosine.matrix(a, b)
    expected_nan = np.zeros((20, 20), dtype=bool)
    expected_nan[bad_a] = True
    expected_nan[:, bad_b] = True
    assert (np.isnan(matrix) == expected_nan).all()

    scores, indices = cosine.top_k(a, b, 20)
    assert not np.isin(indices, bad_b).any()
    assert (np.isnan(scores) == (indices == -1)).all()
    assert (indices[bad_a] == -1).all()
    good = np.delete(np.arange(20), bad_a)
    assert ((indices[good] == -1).sum(axis=1) == 2).all()


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("scale", [1e30, 3e37, 1e-30, 1e-40])
def test_magnitude_does_not_matter(scale, rng):
    # Powers of ten aren't exact, so the reference takes what float32 made of the scaled values.
    a = (rng.standard_normal((8, 20)) * scale).astype(np.float32)
    b = rng.standard_normal((8, 20)).astype(np.float32)
    expected = reference(a, b)
    allowed = tolerance(20, "float32")
    assert np.abs(cosine.matrix(a, b) - expected).max() <= allowed
    assert np.abs(cosine.paired(a, b) - np.diag(expected)).max() <= allowed
    assert np.abs(cosine.matrix(a, a) - reference(a, a)).max() <= allowed


def test_two_vectors_give_a_float():
    a = np.array([3, 4], dtype=np.float32)
    result = cosine.paired(a, np.array([4, 3], dtype=np.float32))
    assert type(result) is float
    assert result == pytest.approx(0.96, abs=2 * UNIT)


LAYOUTS = {
    "every second column": lambda base: base[:, ::2],
    "every second row": lambda base: base[::2],
    "reversed": lambda base: base[::-1, ::-1],
    "transposed": lambda base: base.T,
    "Fortran": np.asfortranarray,
    "read-only": lambda base: np.frombuffer(base.tobytes(), np.float32).reshape(base.shape),
    "unaligned": lambda base: np.frombuffer(
        b"x" + base.tobytes(), np.dtype(np.float32), offset=1
    ).reshape(base.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_gives_what_its_contiguous_copy_gives(layout, rng):
    array = LAYOUTS[layout](rng.standard_normal((24, 24), dtype=np.float32))
    copy = np.array(array, order="C")
    assert np.array_equal(cosine.matrix(array, array), cosine.matrix(copy, copy))
    assert np.array_equal(cosine.paired(array, array), cosine.paired(copy, copy))
    assert np.array_equal(cosine.top_k(array, array, 3)[1], cosine.top_k(copy, copy, 3)[1])
    assert cosine.paired(array[0], array[1]) == cosine.paired(copy[0], copy[1])


def test_contiguous_input_is_not_copied_and_strided_input_once(rng):
    a = rng.standard_normal((2000, 512), dtype=np.float32)
    strided = np.repeat(a, 2, axis=1)[:, ::2]

    def peak_of(x: np.ndarray) -> int:
        tracemalloc.start()
        cosine.paired(x, x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    assert peak_of(a) < a.nbytes / 10
    assert 2 * a.nbytes <= peak_of(strided) < 2.1 * a.nbytes  # one for each argument


def test_a_matrix_is_written_where_it_is_wanted(rng):
    a = rng.standard_normal((30, 40), dtype=np.float32)
    out = np.empty((30, 30), dtype=np.float32)
    assert cosine.matrix(a, a, out=out) is out
    assert np.array_equal(out, cosine.matrix(a, a))


SQUARE = np.ones((6, 6), dtype=np.float32)
READ_ONLY = np.ones((6, 6), dtype=np.float32)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((6, 5), np.float32), r"shape \(6, 6\), got float32 of shape \(6, 5\)"),
        (np.empty(36, np.float32), r"got float32 of shape \(36,\)"),
        (np.empty((6, 6)), "got float64 of shape"),
        (np.empty((6, 6), np.float32).T[::-1], "got non-contiguous float32"),
        (READ_ONLY, "got read-only float32"),
        ([], "got list"),
        (SQUARE, "must not share memory"),
    ],
)
def test_an_unfit_place_for_the_matrix_is_refused(out, message):
    with pytest.raises(InputError, match=message):
        cosine.matrix(SQUARE, SQUARE, out=out)


def test_no_rows_give_no_results():
    none = np.empty((0, 5), dtype=np.float32)
    some = np.ones((7, 5), dtype=np.float32)
    assert cosine.paired(none, none).shape == (0,)
    assert cosine.matrix(none, some).shape == (0, 7)
    assert cosine.matrix(some, none).shape == (7, 0)
    assert cosine.top_k(none, some, 2)[0].shape == (0, 2)
    scores, indices = cosine.top_k(some, none, 2)
    assert np.isnan(scores).all()
    assert (indices == -1).all()


def ones(*shape: int, dtype: type = np.float32) -> np.ndarray:
    return np.ones(shape, dtype=dtype)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cosine.paired(ones(2, 3), ones(2, 4)), r"same width.*\(2, 3\) and \(2, 4\)"),
        (lambda: cosine.paired(ones(2, 3), ones(4, 3)), r"same number of rows.*\(2, 3\).*\(4, 3\)"),
        (lambda: cosine.paired(ones(3), ones(4)), r"same width.*\(1, 3\) and \(1, 4\)"),
        (lambda: cosine.paired(ones(3), ones(1, 3)), r"b must have 1 dimension.*\(1, 3\)"),
        (lambda: cosine.paired(ones(2, 3), ones(3)), r"b must have 2 dimension.*\(3,\)"),
        (lambda: cosine.matrix(ones(3), ones(2, 3)), r"a must have 2 dimension.*\(3,\)"),
        (lambda: cosine.matrix(ones(2, 0), ones(3, 0)), r"at least one element.*\(2, 0\)"),
        (lambda: cosine.matrix(ones(2, 3), ones(5, 2)), r"same width.*\(2, 3\) and \(5, 2\)"),
        (lambda: cosine.top_k(ones(2, 3), ones(5, 2), 1), r"same width.*\(2, 3\) and \(5, 2\)"),
        (lambda: cosine.top_k(ones(2, 3), ones(5, 3), 0), r"k must be at least 1, got 0"),
        (lambda: cosine.top_k(ones(2, 3), ones(5, 3), -4), r"k must be at least 1, got -4"),
        (
            lambda: cosine.matrix(ones(2, 3), ones(2, 3, dtype=np.float16)),
            r"same dtype, got float32 and float16",
        ),
        (
            lambda: cosine.matrix(ones(2, 3, dtype=np.float64), ones(2, 3)),
            r"a must be .*float32, float16, or uint16.*got dtype float64",
        ),
        (
            lambda: cosine.matrix(ones(2, 3), ones(2, 3, dtype=np.dtype(">f4"))),
            r"b must be .*float32, float16, or uint16.*got dtype >f4",
        ),
        (lambda: cosine.paired([1.0], [1.0]), r"a must be a numpy array.*got list"),
        (
            lambda: cosine.paired(ones(2, 3), np.ma.masked_less(ones(2, 3), 0)),
            r"b must be .*got a masked array; fill it first",
        ),
        (
            lambda: cosine.paired(ones(2, 3), ones(2, 3), accumulate="float16"),
            r"'float32' or 'float64', got 'float16'",
        ),
    ],
)
def test_what_cannot_be_used_is_named_with_what_can(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.threads
@pytest.mark.usefixtures("tier")
def test_the_number_of_threads_does_not_change_a_bit(rng, pool_size):
    a = rng.standard_normal((3000, 384), dtype=np.float32)
    b = rng.standard_normal((3000, 384), dtype=np.float32)
    results = []
    for count in (1, 2, 5):
        pool_size(count)
        results.append((cosine.paired(a, b), cosine.matrix(a, b), *cosine.top_k(a, b, 9)))
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert np.array_equal(x, y)


@pytest.mark.usefixtures("tier")
def test_batch_mates_do_not_change_a_pair(rng):
    a = rng.standard_normal((50, 768), dtype=np.float32)
    b = rng.standard_normal((50, 768), dtype=np.float32)
    assert np.array_equal(cosine.paired(a, b)[30:], cosine.paired(a[30:], b[30:]))
    assert np.array_equal(cosine.matrix(a, b)[10:20], cosine.matrix(a[10:20], b))


@pytest.mark.threads
def test_threads_of_python_may_call_at_once(rng):
    a = rng.standard_normal((400, 256), dtype=np.float32)
    expected = cosine.matrix(a, a)
    right = []

    def work() -> None:
        right.extend(np.array_equal(cosine.matrix(a, a), expected) for _ in range(20))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert right == [True] * 80


@pytest.mark.threads
def test_the_gil_is_released(rng):
    a = rng.standard_normal((3000, 1024), dtype=np.float32)
    ticks = []
    done = threading.Event()

    def tick() -> None:
        while not done.wait(0.001):
            ticks.append(None)

    ticker = threading.Thread(target=tick)
    ticker.start()
    before = len(ticks)
    cosine.matrix(a, a, accumulate="float64")
    during = len(ticks) - before
    done.set()
    ticker.join()
    assert during > 0


def test_ctrl_c_stops_a_long_job(rng):
    rows = rng.standard_normal((8192, 768), dtype=np.float32)
    out = np.full((8192, 8192), 7.0, np.float32)  # no cosine is 7

    def on_alarm(*_):
        raise TimeoutError

    previous = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.02)
    try:
        with pytest.raises(TimeoutError):
            cosine.matrix(rows, rows, accumulate="float64", out=out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert (out == 7.0).any()
    assert cosine.paired(rows[:2], rows[:2]).tolist() == pytest.approx([1, 1])


def test_a_forked_child_computes_too(rng):
    a = rng.standard_normal((3000, 256), dtype=np.float32)
    expected = cosine.matrix(a, a)
    code = (
        "import os, sys, numpy as np; from framejudge import cosine, _core; _core.set_threads(3);"
        "a = np.random.default_rng(20).standard_normal((3000, 256), dtype=np.float32);"
        "r = cosine.matrix(a, a); pid = os.fork();"
        "ok = np.array_equal(cosine.matrix(a, a), r);"
        "os._exit(0 if ok else 1) if pid == 0 else None;"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) or not ok)"
    )
    assert np.array_equal(expected, cosine.matrix(a, a))
    # Python 3.12 warns of forking with threads, which is what is tried here.
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_memory_does_not_grow_over_ten_thousand_calls(rng):
    a = rng.standard_normal((16, 64), dtype=np.float32)
    strided = a[:, ::2]

    def call() -> None:
        cosine.paired(a, a)
        cosine.paired(a[0], a[1])
        cosine.paired(strided, strided)
        cosine.matrix(a, a)
        cosine.top_k(a, a, 3)
        with pytest.raises(InputError):
            cosine.matrix(a, strided)

    for _ in range(500):
        call()
    before = resident_bytes()
    for _ in range(10_000):
        call()
    # The smallest leak of one object a call would be 160 kB; half a megabyte is the allocator's.
    assert resident_bytes() - before < 512 * 1024


def test_top_k_stays_within_tens_of_megabytes():
    code = (
        "import resource, numpy as np; from framejudge import cosine;"
        "a = np.random.default_rng(0).standard_normal((4000, 32), dtype=np.float32);"
        "b = np.random.default_rng(1).standard_normal((60000, 32), dtype=np.float32);"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "cosine.top_k(a, b, 10);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60
    )
    # The matrix itself would be 960 MB.
    assert int(run.stdout) < 64 * 1024


def test_the_functions_are_known_by_their_public_path():
    for name in cosine.__all__:
        function = getattr(cosine, name)
        assert function.__module__ == "framejudge.cosine"
        assert pickle.loads(pickle.dumps(function)) is function


def test_the_examples_in_the_docstrings_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner()
    for name in cosine.__all__:
        for example in finder.find(getattr(cosine, name), name, module=False):
            assert runner.run(example).failed == 0
    assert runner.tries >= 12
