"""The graph in standard operators with int8 weights, for OpenVINO.

NOTE [weights in groups]: with one scale for each output of a layer, rounding the weights alone
moves a pair's cosine by up to 0.037, because a few inputs are fifty times larger than the others. A
scale for each output and each 64 inputs brings that to 0.012. OpenVINO recognises the pattern,
keeps the weights as they are, and quantises what they are multiplied with as it comes: each token
by itself, 64 values a scale, so that a text's embedding does not hang on its batch.
"""

from __future__ import annotations

import math

import numpy as np

from framejudge.encoder.graph_standard import StandardGraphBuilder

__all__ = ["GROUP", "Int8GraphBuilder"]

GROUP = 64
"""Inputs that share a scale; a layer whose width it does not divide takes the largest that does."""

_LARGEST = 127
_TINY = 1e-12


class Int8GraphBuilder(StandardGraphBuilder):
    """Lays out a model whose linear layers are stored in int8; see NOTE [weights in groups]."""

    def _product(self, linear: str, value: str, output: str) -> str:
        """Append a linear layer without its bias."""
        return self._op("MatMul", [value, self._unpacked(linear)], output)

    def _linear(self, linear: str, value: str, output: str) -> str:
        """Append a linear layer with its bias."""
        product = self._product(linear, value, f"{output}_unbiased")
        return self._op("Add", [product, self._weight(f"{linear}.bias")], output)

    def _unpacked(self, linear: str) -> str:
        """Store a layer's weight in int8, and append what makes float32 of it: (in, out)."""
        weight = self._tensor(f"{linear}.weight").T
        width, outputs = weight.shape
        group = math.gcd(width, GROUP)
        grouped = weight.reshape(width // group, group, outputs)
        scale = np.maximum(np.abs(grouped).max(axis=1, keepdims=True) / _LARGEST, _TINY)
        units = self._store(f"{linear}.int8", np.round(grouped / scale).astype(np.int8))
        scales = self._store(f"{linear}.scale", scale.astype(np.float32))
        real = self._op("Cast", [units], f"{linear}.real", to=1)
        real = self._op("Mul", [real, scales], f"{linear}.scaled")
        shape = self._constant(f"shape_{width}_{outputs}", [width, outputs])
        return self._op("Reshape", [real, shape], f"{linear}.matrix")
