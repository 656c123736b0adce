"""build_info, tiers and pool sizes, as a fresh process decides them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import framejudge
from framejudge import _core
from framejudge.errors import ConfigurationError, InputError


def fresh(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter without our variables, but for those given."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("FRAMEJUDGE_")}
    return subprocess.run(
        [sys.executable, "-c", code],
        env=env | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def fresh_info(**environment: str) -> dict:
    code = "import json, framejudge; print(json.dumps(framejudge.build_info()))"
    run = fresh(code, **environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_the_version_is_the_one_in_the_build_file():
    build_file = Path(__file__).parents[2] / "CMakeLists.txt"
    pattern = r"project\(framejudge VERSION ([0-9.]+)"
    [version] = re.findall(pattern, build_file.read_text(encoding="utf-8"))
    assert framejudge.__version__ == framejudge.build_info()["version"] == version


def test_everything_a_bug_report_needs_is_there():
    info = fresh_info()
    assert set(info) == {
        "version",
        "compiler",
        "compiler_flags",
        "build_type",
        "cpp_standard",
        "pybind11",
        "isa",
        "isa_supported",
        "jpeg",
        "jpeg_simd",
        "inflate",
        "webp",
        "threads",
        "threads_source",
    }
    assert info["jpeg"].startswith("libjpeg-turbo ")
    # Without its SIMD code a JPEG takes two and a half times as long.
    assert info["jpeg_simd"] is True
    assert info["cpp_standard"] >= 201703
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", info["pybind11"])
    assert info["isa_supported"][0] == "baseline"
    assert info["isa"] == info["isa_supported"][-1]
    assert 1 <= info["threads"] <= len(os.sched_getaffinity(0))
    assert info["threads_source"] in {"affinity", "cgroup quota"}


def test_asking_starts_no_thread():
    code = "import os, framejudge as f; f.build_info(); print(len(os.listdir('/proc/self/task')))"
    assert fresh(code).stdout.strip() == "1"


@pytest.mark.parametrize("tier", _core.isa_tiers())
@pytest.mark.parametrize("written", [str.lower, str.upper])
def test_the_environment_forces_a_tier(tier, written):
    assert fresh_info(FRAMEJUDGE_ISA=written(tier))["isa"] == tier


def test_an_empty_variable_is_no_variable():
    info = fresh_info(FRAMEJUDGE_ISA="", FRAMEJUDGE_THREADS="")
    assert info["isa"] == info["isa_supported"][-1]
    assert info["threads_source"] != "FRAMEJUDGE_THREADS"


@pytest.mark.parametrize("tier", ["mmx", "avx2 ", "AVX-2"])
def test_a_tier_that_cannot_run_is_an_error_at_first_use_that_lists_those_that_can(tier):
    code = (
        "import numpy as np, framejudge.cosine as c;"
        "from framejudge.errors import ConfigurationError as E;"
        "v = np.ones(3, np.float32)\n"
        "try: c.paired(v, v)\n"
        "except E as error: print(error)"
    )
    run = fresh(code, FRAMEJUDGE_ISA=tier)
    assert run.returncode == 0, run.stderr
    assert f"'{tier}'" in run.stdout
    for name in _core.isa_tiers():
        assert name in run.stdout


def test_the_environment_sizes_the_pool():
    info = fresh_info(FRAMEJUDGE_THREADS="3")
    assert info["threads"] == 3
    assert info["threads_source"] == "FRAMEJUDGE_THREADS"


@pytest.mark.parametrize("text", ["0", "-2", "many", "1.5"])
def test_a_pool_size_that_cannot_be_is_an_error(text):
    code = (
        "import framejudge; from framejudge.errors import ConfigurationError as E\n"
        "try: framejudge.build_info()\n"
        "except E as error: print(error)"
    )
    run = fresh(code, FRAMEJUDGE_THREADS=text)
    assert f"FRAMEJUDGE_THREADS must be a whole number from 1 to 4096, got '{text}'" in run.stdout


def test_affinity_sizes_the_pool():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "import framejudge; i = framejudge.build_info(); print(i['threads'])"
    )
    assert fresh(code).stdout.strip() == "1"


def test_import_starts_no_thread():
    code = "import os, framejudge; print(len(os.listdir('/proc/self/task')))"
    assert fresh(code).stdout.strip() == "1"


def test_set_threads_is_reported_and_checked():
    before = _core.threads()
    try:
        _core.set_threads(5)
        assert _core.threads() == 5
        assert _core.build_info()["threads_source"] == "set_threads"
        for count in (0, -1, 4097):
            with pytest.raises(InputError, match=f"from 1 to 4096, got {count}"):
                _core.set_threads(count)
        assert _core.threads() == 5
    finally:
        _core.set_threads(before)


def test_set_isa_refuses_what_cannot_run():
    before = _core.build_info()["isa"]
    with pytest.raises(ConfigurationError, match=r"baseline.*'sse9'"):
        _core._set_isa("sse9")
    assert _core.build_info()["isa"] == before


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs binutils")
def test_the_extension_shows_nothing_but_its_entry():
    """Other packages bring their own copies of the codecs into the process."""
    run = subprocess.run(
        ["nm", "-D", "--defined-only", "--no-sort", _core.__file__],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.split()[-1] for line in run.stdout.splitlines()] == ["PyInit__core"]
