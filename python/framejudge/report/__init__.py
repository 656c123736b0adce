"""Runs as text, files and pages."""

from __future__ import annotations

from framejudge.report.files import OUTPUT_SUFFIXES, check_outputs, write_run
from framejudge.report.text import print_run

__all__ = ["OUTPUT_SUFFIXES", "check_outputs", "print_run", "write_run"]
