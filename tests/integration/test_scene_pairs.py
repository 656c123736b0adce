"""Real weights on real sentences: scores fall where published ones do."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

import framejudge as fj
from framejudge.data import Batch, Dataset, Retriever
from framejudge.metrics import VisionHallucination, VisionSimilarity
from framejudge.metrics.bands import similarity_band

pytestmark = pytest.mark.usefixtures("weights")

DATA = Path(__file__).parent.parent / "data"


class VLMRetriever(Retriever):
    def load_dataset(self):
        return [
            Dataset(
                session_id="cam-entrance-01",
                assistant_id="argos-gpt4o",
                language="english",
                context="The main entrance.",
                conversation=[
                    Batch(
                        qa_id="frame_001",
                        query="What do you see?",
                        assistant="A person has fallen near the entrance and needs help.",
                        ground_truth_assistant="A person fell near the entrance and requires "
                        "assistance.",
                    ),
                    Batch(
                        qa_id="frame_002",
                        query="What do you see?",
                        assistant="The entrance area appears clear. No anomalies detected.",
                        ground_truth_assistant="An unauthorized person is tailgating through the "
                        "entrance.",
                    ),
                ],
            )
        ]


def test_both_metrics_run_on_a_retriever_class_with_the_default_scorer(capsys):
    similarity = VisionSimilarity.run(VLMRetriever, threshold=0.75)
    hallucination = VisionHallucination.run(VLMRetriever, threshold=0.75)
    for result in (*similarity, *hallucination):
        result.display()
    shown = capsys.readouterr().out
    assert hallucination[0].n_hallucinations == 1
    assert "Hallucinated in 1 of 2 frames (50%" in shown
    assert shown.count("Session: cam-entrance-01  |  Assistant: argos-gpt4o") == 2
    assert [i.is_hallucination for i in hallucination[0].interactions] == [False, True]


def test_results_name_the_model_its_hash_and_the_precision():
    embedder = VisionSimilarity.run(VLMRetriever)[0].metadata["embedder"]
    assert embedder["model"] == "all-mpnet-base-v2"
    assert embedder["weights_sha256"].startswith("78c0197b6159d926")
    assert embedder["precision"] == "fp32"


def test_our_paraphrases_of_nine_published_scenes_reach_the_published_bands():
    pairs = json.loads((DATA / "section6_pairs.json").read_text())["pairs"]
    assert len(pairs) == 9
    scores = fj.similarity(
        [pair["assistant"] for pair in pairs], [pair["ground_truth_assistant"] for pair in pairs]
    )
    for pair, score in zip(pairs, scores, strict=True):
        assert similarity_band(float(score)) == similarity_band(pair["published"]), pair["id"]
    # Made by sentence-transformers in float32, and written with six decimals.
    reference = np.array([pair["reference_cosine"] for pair in pairs])
    np.testing.assert_allclose(scores, reference, rtol=0, atol=2e-6 + 5e-7)


def test_the_demos_scores_keep_their_distance_from_every_band():
    path = resources.files("framejudge.data") / "demo_sessions.json"
    run = fj.score(Path(str(path)))
    scores = np.array([frame.similarity_score for frame in run.frames])
    for edge in (0.5, 0.75, 0.9):
        assert np.abs(scores - edge).min() > 0.0008


def test_an_empty_text_has_no_similarity():
    scores = fj.similarity(["", "a man fell", " "], ["x", "a man fell", ""])
    assert np.isnan(scores[[0, 2]]).all()
    assert scores[1] == pytest.approx(1.0, abs=1e-6)
    assert scores.dtype == np.float32
    assert fj.similarity([], []).shape == (0,)


@pytest.mark.parametrize(
    ("candidates", "references", "message"),
    [
        ("a man", ["a man"], "candidates must be a sequence of strings, got the string 'a man'"),
        (["a"], ["a", "b"], "same length, got 1 and 2"),
        (["a"], [3], r"references\[0\] must be a string, got int"),
    ],
)
def test_bad_arguments_of_similarity_are_named(candidates, references, message):
    with pytest.raises(ValueError, match=message):
        fj.similarity(candidates, references)


def test_a_text_beyond_the_token_limit_is_counted_and_logged(caplog):
    long = Batch(
        qa_id="long", assistant="a man fell " * 300, ground_truth_assistant="A man fell down."
    )
    short = Batch(qa_id="short", assistant="a man fell", ground_truth_assistant="A man fell down.")
    data = [Dataset(session_id="c", assistant_id="v", conversation=[long, short])]
    run = fj.score(data)
    assert [frame.truncated for frame in run.frames] == [True, False]
    assert run.similarity[0].n_truncated == 1
    assert "longer than 384 tokens" in caplog.text


def test_a_lone_surrogate_costs_its_frame_and_no_other():
    frames = [
        Batch.model_construct(
            qa_id="bad", assistant="\ud800", ground_truth_assistant="x", weight=None, metadata={}
        ),
        Batch(qa_id="good", assistant="a man", ground_truth_assistant="a man"),
    ]
    metric = VisionSimilarity([])
    metric.batch(session_id="c", context="", assistant_id="v", batch=frames)
    metric.on_process_complete()
    assert [i.status.value for i in metric.metrics[0].interactions] == ["error", "scored"]
