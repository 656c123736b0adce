"""The examples in docstrings print what they say."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import framejudge

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(framejudge.__path__, "framejudge.")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_print_what_they_say(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
