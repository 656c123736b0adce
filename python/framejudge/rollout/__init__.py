"""Rollouts judged by a VLM: one of them, or all under a folder."""

from __future__ import annotations

from framejudge.rollout.prefix import loop, loop_async
from framejudge.rollout.single import run, run_async

__all__ = ["loop", "loop_async", "run", "run_async"]
