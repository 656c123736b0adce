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


def test_scripts_find_each_other_whatever_the_folder():
    ours = {path.stem for path in FOLDER.glob("*.py")}
    for path in FOLDER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.module not in ours, (
                    f"{path.name} imports {node.module} by its bare name"
                )
            elif isinstance(node, ast.Import):
                assert not {name.name for name in node.names} & ours, path.name


def test_every_registered_script_has_a_main():
    registry = ast.parse((FOLDER / "__init__.py").read_text())
    values = {node.value for node in ast.walk(registry) if isinstance(node, ast.Constant)}
    for value in values:
        if isinstance(value, str) and value.startswith("benchmarks."):
            path = FOLDER / f"{value.removeprefix('benchmarks.')}.py"
            tree = ast.parse(path.read_text())
            assert "main" in {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}, value
