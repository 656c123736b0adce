"""The same graph in operators of the ONNX standard alone, for engines other than onnxruntime.

NOTE [two dialects]: onnxruntime's own operators (MultiHeadAttention, BiasGelu) are what makes it
fast, and no other engine reads all of them. Both dialects are laid out by one builder from one
description and refer to the same data file; only attention and the activation are written out here,
in the patterns that other engines recognise and fuse for themselves.
"""

from __future__ import annotations

import math

import numpy as np

from framejudge.encoder.graph import GraphBuilder

__all__ = ["StandardGraphBuilder"]

_MASKED = -30000.0
"""Added to a padded key's logit: its exponential is 0, and half precision can hold it."""


class StandardGraphBuilder(GraphBuilder):
    """Lays out a model without operators of onnxruntime's own set; see NOTE [two dialects]."""

    def _activation(self, layer: int, value: str, bias: str) -> str:
        """Append x / 2 * (1 + erf(x / sqrt(2))) of a value with its bias added."""
        name = f"gelu_{layer}"
        root = self._scalar("sqrt_2", math.sqrt(2))
        one, half = self._scalar("one_float", 1.0), self._scalar("half", 0.5)
        wide = self._op("Add", [value, self._weight(bias)], f"{name}_in")
        error = self._op("Erf", [self._op("Div", [wide, root], f"{name}_scaled")], f"{name}_erf")
        gate = self._op("Add", [error, one], f"{name}_gate")
        return self._op("Mul", [self._op("Mul", [wide, gate], f"{name}_twice"), half], name)

    def _attention_bias(self) -> str:
        """Return what is added to every layer's logits: the mask, and MPNet's bias."""
        axes = self._constant("axes_1_2", [1, 2])
        mask = self._op("Cast", ["attention_mask"], "mask_real", to=1)
        absent = self._op("Sub", [self._scalar("one_float", 1.0), mask], "mask_absent")
        logits = self._op("Mul", [absent, self._scalar("masked", _MASKED)], "mask_logits")
        added = self._op("Unsqueeze", [logits, axes], "key_logits")
        if not self._arch.buckets:
            return added
        return self._op("Add", [added, self._relative_bias()], "added_logits")

    def _context(self, layer: int, rectangles: list[str], names: dict[str, str], bias: str) -> str:
        """Append softmax(q k' / sqrt(d) + bias) v, written out."""
        size = self._arch.hidden // self._arch.heads
        shape = self._constant("split_heads", [0, 0, self._arch.heads, size])
        parts = []
        orders = ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3))
        for key, rows, order in zip("qkv", rectangles, orders, strict=True):
            linear = self._weight(f"{names[key]}.bias")
            part = self._op("Add", [rows, linear], f"{key}_{layer}_biased")
            part = self._op("Reshape", [part, shape], f"{key}_{layer}_split")
            parts.append(self._op("Transpose", [part], f"{key}_{layer}_heads", perm=order))
        query, key, value = parts
        scale = self._scalar("root_of_head", 1 / math.sqrt(size))
        logits = self._op("MatMul", [query, key], f"logits_{layer}_raw")
        logits = self._op("Mul", [logits, scale], f"logits_{layer}_scaled")
        logits = self._op("Add", [logits, bias], f"logits_{layer}")
        shares = self._op("Softmax", [logits], f"shares_{layer}", axis=-1)
        heads = self._op("MatMul", [shares, value], f"context_{layer}_heads")
        return self._op("Transpose", [heads], f"context_{layer}_rows", perm=(0, 2, 1, 3))

    def _scalar(self, name: str, value: float) -> str:
        """Store a float32 constant."""
        return self._store(name, np.asarray(value, np.float32))
