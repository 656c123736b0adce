"""Texts to embeddings: the model's weights, its ONNX export, and the encoder that runs it."""

from __future__ import annotations

from framejudge.encoder.cache import EmbeddingCache
from framejudge.encoder.encoder import Embedder, Encoder, EncodeResult

__all__ = ["Embedder", "EmbeddingCache", "EncodeResult", "Encoder"]


def __dir__() -> list[str]:
    return __all__
