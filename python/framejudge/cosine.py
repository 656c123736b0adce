"""Cosine similarity of embeddings, by the C++ core."""

from __future__ import annotations

from framejudge._core import matrix, paired, top_k

__all__ = ["matrix", "paired", "top_k"]
