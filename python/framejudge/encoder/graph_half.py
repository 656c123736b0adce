"""The same graph in float16, for CUDA devices: weights, products, normalisations and attention.

Pooling and the L2 normalisation are in float32: a sum over hundreds of tokens needs the digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from framejudge.encoder.graph import GraphBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from framejudge.encoder.architecture import Architecture

__all__ = ["HalfGraphBuilder"]


class HalfGraphBuilder(GraphBuilder):
    """Lays out a model whose every float32 constant is stored as float16, but for the pooling's."""

    def __init__(
        self,
        architecture: Architecture,
        initializer: Callable[[str, NDArray[Any]], str],
        tensor: Callable[[str], NDArray[np.float32]],
    ) -> None:
        """Build for `architecture`; see `GraphBuilder`."""
        super().__init__(architecture, self._store_half, tensor)
        self._store_as_given = initializer

    def _store_half(self, name: str, array: NDArray[Any]) -> str:
        """Store an array, float32 as float16."""
        half = array.astype(np.float16) if array.dtype == np.float32 else array
        return self._store_as_given(name, half)

    def _pooled(self, hidden: str) -> None:
        """Append pooling in float32."""
        self._store = self._store_as_given
        super()._pooled(self._op("Cast", [hidden], "hidden_float", to=1))
