"""Every benchmark script can be run by name."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_every_script_with_a_main_is_registered():
    scripts = {
        f"benchmarks.{path.stem}"
        for path in FOLDER.glob("*.py")
        if path.stem != "__main__"
        and any(
            isinstance(node, ast.FunctionDef) and node.name == "main"
            for node in ast.parse(path.read_text()).body
        )
    }
    registry = ast.parse((FOLDER / "__init__.py").read_text())
    values = {node.value for node in ast.walk(registry) if isinstance(node, ast.Constant)}
    assert scripts <= values
