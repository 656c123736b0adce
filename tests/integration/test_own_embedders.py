"""Embedders that users bring: a model folder of their own, a sentence-transformers model."""

from __future__ import annotations

import pytest

from framejudge.data import Batch, Dataset, Retriever
from framejudge.embedders import SentenceTransformerEmbedder
from framejudge.metrics import VisionSimilarity
from framejudge.scorers import CosineSimilarity


class VLMRetriever(Retriever):
    def load_dataset(self):
        frame = Batch(qa_id="f1", assistant="a person fell", ground_truth_assistant="a red car")
        same = Batch(qa_id="f2", assistant="a person fell", ground_truth_assistant="a person fell")
        return [Dataset(session_id="cam", assistant_id="vlm", conversation=[frame, same])]


@pytest.mark.parametrize("family", ["mpnet", "bert"])
def test_a_domain_model_in_a_local_folder_is_scored_with(
    make_model, cache_dir, tmp_path, monkeypatch, family
):
    make_model(family).rename(tmp_path / "your-domain-model")
    monkeypatch.chdir(tmp_path)
    scorer = CosineSimilarity(SentenceTransformerEmbedder(model="your-domain-model"))
    results = VisionSimilarity.run(VLMRetriever, scorer=scorer, threshold=0.75)
    first, second = results[0].interactions
    assert second.similarity_score == 1.0
    assert 0 <= first.similarity_score < 1
    assert results[0].metadata["embedder"]["model"] == "your-domain-model"


@pytest.mark.interop
def test_a_sentence_transformers_model_is_an_embedder_and_agrees_with_ours(weights):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(weights.files.folder), device="cpu")
    theirs = VisionSimilarity.run(VLMRetriever, scorer=CosineSimilarity(model))
    ours = VisionSimilarity.run(VLMRetriever)
    assert [i.similarity_score for i in theirs[0].interactions] == [
        i.similarity_score for i in ours[0].interactions
    ]
