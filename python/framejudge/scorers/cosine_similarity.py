"""Cosine similarity of sentence embeddings: the default scorer, in batches."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from framejudge import cosine
from framejudge.encoder import Embedder, Encoder
from framejudge.errors import InputError, ScoringError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["CosineSimilarity", "PairScores", "SimilarityScorer", "similarity"]

Progress = Callable[[int, int], None]


class SimilarityScorer(Protocol):
    """Strategy that compares a description with the ground truth.

    Any object with this method will do. It is called exactly once a frame (once a reference where
    a frame has several), in input order, and never for a pair that it need not see.
    """

    def calculate(self, assistant: str, ground_truth: str) -> float:
        """Return how close the two texts are, from 0 (unrelated) to 1 (the same)."""
        ...


@dataclass(frozen=True, slots=True)
class PairScores:
    """Scores of a list of text pairs."""

    scores: NDArray[np.float32]
    """(n,) raw cosine in [-1, 1]; NaN where a vector has no direction."""
    truncated: NDArray[np.bool_]
    """(n,) whether either text was longer than the encoder's token limit."""


class CosineSimilarity:
    """Cosine of the angle between two texts' embeddings.

    Args:
        embedder: anything with `encode(list[str])` that returns (n, d) numbers: an Encoder, a
            sentence-transformers model, your own. Default: all-mpnet-base-v2, loaded at first use.

    Raises:
        InputError: the embedder has no `encode`.

    >>> class Letters:
    ...     def encode(self, sentences):
    ...         return [[s.count("a"), s.count("b")] for s in sentences]
    >>> CosineSimilarity(Letters()).calculate("aab", "aab")
    1.0
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        if embedder is not None and not callable(getattr(embedder, "encode", None)):
            raise InputError(
                f"embedder must have an encode(list[str]) method, got {type(embedder).__name__}"
            )
        self.embedder: Any = default_encoder() if embedder is None else embedder

    def calculate(self, assistant: str, ground_truth: str) -> float:
        """Return the cosine of one pair, in [-1, 1]; NaN where a vector has no direction."""
        return float(self.score_pairs([(assistant, ground_truth)]).scores[0])

    def score_pairs(
        self, pairs: Sequence[tuple[str, str]], *, progress: Progress | None = None
    ) -> PairScores:
        """Return the cosine of each pair; every distinct text is embedded once.

        Args:
            pairs: n (description, ground truth) pairs.
            progress: called with (texts done, texts in all) while the encoder works.

        Raises:
            ScoringError: the embedder returned something that is not one vector a text.
        """
        row_of: dict[str, int] = {}
        for pair in pairs:
            for text in pair:
                row_of.setdefault(text, len(row_of))
        texts = list(row_of)
        embeddings, cut = self._embed(texts, progress)
        left = np.fromiter((row_of[a] for a, _ in pairs), np.intp, len(pairs))
        right = np.fromiter((row_of[b] for _, b in pairs), np.intp, len(pairs))
        scores = cosine.paired(embeddings[left], embeddings[right])
        return PairScores(scores=np.asarray(scores), truncated=cut[left] | cut[right])

    def info(self) -> dict[str, Any]:
        """Return what the scores rest on, for a result's metadata."""
        own = isinstance(self.embedder, Encoder)
        embedder = self.embedder.info() if own else {"class": _qualified(self.embedder)}
        return {"scorer": _qualified(self), "embedder": embedder}

    def _embed(
        self, texts: list[str], progress: Progress | None
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        if isinstance(self.embedder, Encoder):
            result = self.embedder.encode_result(texts, progress=progress)
            return result.embeddings, result.truncated
        cut = np.zeros(len(texts), dtype=np.bool_)
        if not texts:
            return np.zeros((0, 1), dtype=np.float32), cut
        given = self.embedder.encode(texts)
        try:
            vectors = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ScoringError(
                f"{_qualified(self.embedder)}.encode returned {type(given).__name__}, "
                f"expected ({len(texts)}, d) numbers: {error}"
            ) from error
        if vectors.ndim != 2 or vectors.shape[0] != len(texts) or vectors.shape[1] == 0:  # noqa: PLR2004
            raise ScoringError(
                f"{_qualified(self.embedder)}.encode returned shape {vectors.shape} "
                f"for {len(texts)} texts, expected ({len(texts)}, d)"
            )
        return vectors, cut


@functools.cache
def default_encoder() -> Encoder:
    """Return the process-wide all-mpnet-base-v2 encoder, so that its model is loaded once."""
    return Encoder()


def similarity(candidates: Sequence[str], references: Sequence[str]) -> NDArray[np.float32]:
    """Return the cosine similarity of each candidate with its reference, by all-mpnet-base-v2.

    Args:
        candidates: n descriptions.
        references: n texts to compare them with, pair by pair.

    Returns:
        (n,) float32 in [-1, 1]; NaN where a text is empty.

    Raises:
        InputError: a bare string, different lengths, or an item that is no string.
    """
    for name, texts in (("candidates", candidates), ("references", references)):
        if isinstance(texts, str):
            raise InputError(f"{name} must be a sequence of strings, got the string {texts!r:.60}")
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise InputError(f"{name}[{index}] must be a string, got {type(text).__name__}")
    if len(candidates) != len(references):
        raise InputError(
            f"candidates and references must have the same length, "
            f"got {len(candidates)} and {len(references)}"
        )
    pairs = list(zip(candidates, references, strict=True))
    scores = np.full(len(pairs), np.nan, dtype=np.float32)
    filled = [i for i, (a, b) in enumerate(pairs) if a.strip() and b.strip()]
    scores[filled] = CosineSimilarity().score_pairs([pairs[i] for i in filled]).scores
    return scores


def _qualified(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
