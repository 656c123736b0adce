"""The stub says what the extension has: names, parameters, defaults."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import framejudge
from framejudge import _core

STUB = ast.parse(Path(framejudge.__file__).with_name("_core.pyi").read_text(encoding="utf-8"))

# What every module has.
MODULE_NAMES = {"__doc__", "__file__", "__loader__", "__name__", "__package__", "__spec__"}

Parameters = list[tuple[str, str, object]]


def parameters(function: ast.FunctionDef) -> Parameters:
    """Name, kind and default of each parameter of a parsed function."""
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [inspect.Parameter.empty] * (len(positional) - len(arguments.defaults))
    defaults = [*missing, *(ast.literal_eval(d) for d in arguments.defaults)]
    result: Parameters = [
        (argument.arg, "positional", default)
        for argument, default in zip(positional, defaults, strict=True)
    ]
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        value = inspect.Parameter.empty if default is None else ast.literal_eval(default)
        result.append((argument.arg, "keyword", value))
    return result


def stub_functions() -> dict[str, list[Parameters]]:
    """Every function of the stub, with the parameters of each overload."""
    functions: dict[str, list[Parameters]] = {}
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(parameters(node))
    return functions


def test_the_names_are_the_extensions():
    # Type aliases and private classes serve the stub alone.
    values = {
        node.target.id
        for node in STUB.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "TypeAlias"
    }
    classes = {
        node.name
        for node in STUB.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }
    assert set(stub_functions()) | values | classes == set(dir(_core)) - MODULE_NAMES


@pytest.mark.parametrize("name", stub_functions())
def test_the_parameters_are_the_extensions(name):
    # pybind11 writes a function's signature on the first line of its docstring.
    signature = getattr(_core, name).__doc__.splitlines()[0]
    signature = re.sub(r" -> .*", "", signature)
    [actual] = ast.parse(f"def {signature}: ...").body
    for overload in stub_functions()[name]:
        assert overload == parameters(actual)


def test_build_info_has_the_declared_keys():
    [declared] = [
        node for node in STUB.body if isinstance(node, ast.ClassDef) and node.name == "_BuildInfo"
    ]
    keys = {node.target.id for node in declared.body if isinstance(node, ast.AnnAssign)}
    assert keys == set(_core.build_info())


def test_mypys_own_comparison_finds_nothing(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "framejudge._core"],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
