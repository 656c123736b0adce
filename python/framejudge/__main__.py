"""`python -m framejudge` is the command."""

from __future__ import annotations

from framejudge.cli import main

main()
