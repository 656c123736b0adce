"""`python -m benchmarks` lists the scripts, `python -m benchmarks run NAME` runs one."""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import sys
from pathlib import Path

from benchmarks import SCRIPTS


def headline(module: str) -> str:
    """Return the first line of a module's docstring without importing its peers."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return "missing"
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    return (docstring or "").split("\n", 1)[0]


def main(arguments: list[str]) -> int:
    """Run the command line; what follows NAME goes to the script."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("action", nargs="?", choices=["list", "run"], default="list")
    parser.add_argument("name", nargs="?", choices=sorted(SCRIPTS))
    options, rest = parser.parse_known_args(arguments)
    if options.action == "list":
        for name, module in sorted(SCRIPTS.items()):
            print(f"{name:12} {headline(module)}")
        return 0
    if options.name is None:
        parser.error(f"run needs a name: {', '.join(sorted(SCRIPTS))}")
    sys.argv = [f"benchmarks run {options.name}", *rest]
    importlib.import_module(SCRIPTS[options.name]).main()
    return 0


sys.exit(main(sys.argv[1:]))
