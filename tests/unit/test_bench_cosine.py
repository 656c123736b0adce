"""The packaged microbenchmarks run anywhere and say what ran."""

from __future__ import annotations

import subprocess
import sys

import pytest

from framejudge import _core, bench
from framejudge.errors import InputError


def test_the_cosine_suite_measures_every_function():
    rows = bench.run("cosine")
    names = [row.name for row in rows]
    assert len(set(names)) == len(names)
    assert {name.split(",")[0] for name in names} == {"paired", "matrix", "top_k"}
    for row in rows:
        assert row.ns_per_call > 0
        assert row.rate > 0
        assert row.unit in {"GB/s", "GFLOP/s"}
        assert row.isa == _core.build_info()["isa"]


def test_an_unknown_suite_is_an_error_that_lists_the_known():
    with pytest.raises(InputError, match=r"'cosinus'; there are: .*cosine"):
        bench.run("cosinus")


def test_the_registry_imports_no_suite():
    code = (
        "import sys, framejudge.bench as bench;"
        "print([module for module in bench.SUITES.values() if module in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
