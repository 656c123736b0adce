"""In CI, a skipped test is a failure, unless a GPU or the interop extra is what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SUITE = """
import pytest

def test_plain():
    pytest.skip("no reason")

@pytest.mark.gpu
def test_gpu():
    pytest.skip("no GPU")

@pytest.mark.interop
def test_interop():
    pytest.importorskip("a_package_that_does_not_exist")
"""


def outcome(folder, **environment):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**{k: v for k, v in os.environ.items() if k != "FRAMEJUDGE_CI"}, **environment},
        check=False,
    )
    return done.stdout.splitlines()[-1]


def test_a_skip_fails_in_ci_and_is_a_skip_elsewhere(tmp_path):
    shutil.copy(Path(__file__).parent.parent / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    gpu\n    interop\n")
    (tmp_path / "test_suite.py").write_text(SUITE)
    assert "3 skipped" in outcome(tmp_path)
    assert "1 failed, 2 skipped" in outcome(tmp_path, FRAMEJUDGE_CI="1")
