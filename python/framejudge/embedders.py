"""Embedders by the names that users of sentence-transformers and of vision metrics know."""

from __future__ import annotations

import os
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from framejudge.encoder import Embedder, EmbeddingCache, Encoder
from framejudge.encoder.manifest import DEFAULT_MODEL
from framejudge.errors import ConfigurationError, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Embedder", "Encoder", "SentenceTransformerEmbedder"]


class SentenceTransformerEmbedder(Encoder):
    """framejudge's own encoder on a sentence-transformers model; torch is never imported.

    Args:
        model: A known name or a local folder; default: `all-mpnet-base-v2`.
        model_name: Another spelling of `model`; only one of the two may be given.
        batch_size: Accepted for compatibility: a cap on the texts of a batch. Batches are made
            by a token budget, so the result doesn't depend on it.
        normalize_embeddings: L2-normalise every embedding.
        max_tokens: As in `Encoder`.
        threads: As in `Encoder`.
        cache: As in `Encoder`.

    Raises:
        ConfigurationError: Both `model` and `model_name` are given.
        InputError: An argument is out of range.

    Examples:
        >>> SentenceTransformerEmbedder(model="your-domain-model")
        SentenceTransformerEmbedder('your-domain-model')
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        batch_size: int = 64,
        normalize_embeddings: bool = True,
        *,
        model_name: str | os.PathLike[str] | None = None,
        max_tokens: int | None = None,
        threads: int | None = None,
        cache: EmbeddingCache | EllipsisType | None = ...,
    ) -> None:
        if model is not None and model_name is not None:
            raise ConfigurationError(
                f"give model or model_name, not both: got model={model!r} and "
                f"model_name={model_name!r}"
            )
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size < 1:
            raise InputError(f"batch_size must be an integer of at least 1, got {batch_size!r}")
        given = model if model is not None else model_name
        super().__init__(
            DEFAULT_MODEL if given is None else given,
            max_tokens=max_tokens,
            threads=threads,
            normalize=normalize_embeddings,
            max_batch=batch_size,
            cache=cache,
        )

    def encode_query(self, text: str, **_: Any) -> NDArray[np.float32]:
        """Embed one text.

        Args:
            text: The text.

        Returns:
            (d,) float32.
        """
        vector: NDArray[np.float32] = self.encode([text])[0]
        return vector
