"""Type-checked, never run: the public interface as a typed caller uses it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import framejudge as fj
from framejudge.data import Batch, Dataset, Retriever
from framejudge.embedders import SentenceTransformerEmbedder
from framejudge.metrics import (
    VisionHallucination,
    VisionHallucinationMetric,
    VisionSimilarity,
    VisionSimilarityMetric,
)
from framejudge.scorers import CosineSimilarity


class Frames(Retriever):
    def load_dataset(self) -> list[Dataset]:
        frame = Batch(
            qa_id="f1", assistant="a man fell", ground_truth_assistant=["he fell", "fell"]
        )
        return [Dataset(session_id="cam", assistant_id="vlm", conversation=[frame])]


class Overlap:
    def calculate(self, assistant: str, ground_truth: str) -> float:
        return float(assistant == ground_truth)


class Letters:
    def encode(self, sentences: list[str], /) -> NDArray[np.float32]:
        return np.ones((len(sentences), 2), dtype=np.float32)


def results() -> tuple[list[VisionSimilarityMetric], list[VisionHallucinationMetric]]:
    similarity = VisionSimilarity.run(Frames, threshold=0.75, scorer=Overlap())
    hallucination = VisionHallucination.run(Frames, scorer=CosineSimilarity(Letters()))
    for partial in VisionHallucination.stream("frames.jsonl"):
        partial.display()
    return similarity, hallucination


def verdict() -> fj.Verdict:
    embedder = SentenceTransformerEmbedder("all-mpnet-base-v2", batch_size=32)
    run: fj.ScoreRun = fj.score(
        [*Frames().load_dataset()], scorer=CosineSimilarity(embedder), reference="mean"
    )
    return run.verdict


def arrays() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    encoder = fj.Encoder(cache=fj.EmbeddingCache(max_bytes=1 << 20))
    vectors: NDArray[np.float32] = encoder.encode(["a", "b"])
    scores, indices = fj.cosine.top_k(vectors, vectors, 1)
    matrix: NDArray[np.float32] = fj.cosine.matrix(vectors, vectors)
    pairs: NDArray[np.float32] = fj.similarity(["a"], ["b"])
    return np.concatenate([scores.ravel(), matrix.ravel(), pairs]), indices


def audits() -> tuple[float | None, str]:
    judges: fj.JudgeComparison = fj.compare_judges(
        "rollout", "out", primary_model="a", secondary_model="b", task="place the cube"
    )
    preference: fj.PreferenceReport = fj.compare_preference("a.png", "b.png", "out", task="t")
    return judges.score_delta_secondary_minus_primary, preference.status
