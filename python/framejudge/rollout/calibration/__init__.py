"""Labelled rollouts and controls: which model, rubric and threshold to trust, and how far."""

from __future__ import annotations
