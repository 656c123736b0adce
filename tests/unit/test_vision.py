"""The vision metrics: the behaviours that users of this interface rely on."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from framejudge.data import (
    Batch,
    Dataset,
    IterationLevel,
    Retriever,
    SessionMetadata,
    StreamedBatch,
)
from framejudge.errors import ConfigurationError, DataError, InputError, ScoringError
from framejudge.metrics import (
    VisionHallucination,
    VisionHallucinationMetric,
    VisionSimilarity,
    VisionSimilarityMetric,
    score,
)
from framejudge.scorers import CosineSimilarity

BOTH = pytest.mark.parametrize("metric", [VisionSimilarity, VisionHallucination])


class Listed:
    """A scorer that returns given numbers in order, and remembers what it was asked."""

    def __init__(self, *scores):
        self.scores = list(scores)
        self.asked = []

    def calculate(self, assistant, ground_truth):
        self.asked.append((assistant, ground_truth))
        value = self.scores[len(self.asked) - 1]
        if isinstance(value, Exception):
            raise value
        return value


def frames(n, **fields):
    return [
        Batch(qa_id=f"f{i}", assistant=f"said {i}", ground_truth_assistant="seen", **fields)
        for i in range(n)
    ]


def session(n=2, session_id="cam-1", assistant_id="vlm-a", **fields):
    return Dataset(
        session_id=session_id, assistant_id=assistant_id, conversation=frames(n, **fields)
    )


class Empty(Retriever):
    def load_dataset(self):
        return []


def by_hand(metric_class, scores, **options):
    metric = metric_class(Empty, scorer=Listed(*scores), **options)
    metric.batch(
        session_id="cam-1", context="door", assistant_id="vlm-a", batch=frames(len(scores))
    )
    metric.on_process_complete()
    return metric.metrics[0]


# The behaviours of the interface that this one replaces.


def test_a_metric_starts_with_no_results_and_the_default_threshold():
    metric = VisionSimilarity(Empty, scorer=Listed())
    assert metric.threshold == 0.75
    assert metric.metrics == []
    assert metric.dataset == []
    assert metric.level is IterationLevel.FULL_DATASET
    assert isinstance(metric.retriever, Empty)


def test_perfect_scores_give_a_mean_min_and_max_of_one():
    result = by_hand(VisionSimilarity, [1.0, 1.0])
    assert (result.mean_similarity, result.min_similarity, result.max_similarity) == (1, 1, 1)


def test_mixed_scores_give_their_mean_min_and_max():
    result = by_hand(VisionSimilarity, [1.0, 0.0])
    assert (result.mean_similarity, result.min_similarity, result.max_similarity) == (0.5, 0, 1)


def test_the_similarity_summary_has_percent_and_frame_count():
    result = by_hand(VisionSimilarity, [1.0])
    assert "100%" in result.summary
    assert "1 frames" in result.summary


def test_interactions_are_kept_in_order_with_their_ids():
    result = by_hand(VisionSimilarity, [0.9, 0.1, 0.5])
    assert [(i.qa_id, i.similarity_score) for i in result.interactions] == [
        ("f0", 0.9),
        ("f1", 0.1),
        ("f2", 0.5),
    ]


def test_two_sessions_give_two_results_in_the_order_they_were_first_seen():
    data = [session(session_id="b"), session(session_id="a")]
    results = VisionSimilarity.run(data, scorer=Listed(1, 1, 0, 0))
    assert [(r.session_id, r.mean_similarity) for r in results] == [("b", 1.0), ("a", 0.0)]


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        (VisionSimilarity, VisionSimilarityMetric),
        (VisionHallucination, VisionHallucinationMetric),
    ],
)
def test_run_returns_a_list_of_results(metric, kind):
    results = metric.run([session()], scorer=Listed(0.5, 0.5))
    assert [type(result) for result in results] == [kind]


@pytest.mark.parametrize(
    ("scores", "n_flagged", "rate", "flags"),
    [
        ([1.0, 0.9], 0, 0.0, [False, False]),
        ([0.1, 0.2], 2, 1.0, [True, True]),
        ([0.9, 0.1, 0.8], 1, 0.3333, [False, True, False]),
    ],
)
def test_frames_below_the_threshold_are_hallucinations(scores, n_flagged, rate, flags):
    result = by_hand(VisionHallucination, scores)
    assert (result.n_hallucinations, result.hallucination_rate) == (n_flagged, rate)
    assert [i.is_hallucination for i in result.interactions] == flags


def test_a_score_equal_to_the_threshold_is_no_hallucination():
    assert by_hand(VisionHallucination, [0.0], threshold=0.0).n_hallucinations == 0
    assert by_hand(VisionHallucination, [0.75]).n_hallucinations == 0


def test_the_result_echoes_the_threshold():
    assert by_hand(VisionHallucination, [0.5], threshold=0.6).threshold == 0.6


def test_the_hallucination_summary_has_counts_and_threshold():
    summary = by_hand(VisionHallucination, [1.0, 0.0]).summary
    assert "1 of 2" in summary
    assert "50%" in summary
    assert "0.75" in summary


# What was wrong there, and what a user would expect instead.


def test_no_data_gives_no_results_and_a_verdict_that_does_not_pass():
    assert VisionSimilarity.run(Empty, scorer=Listed()) == []
    verdict = score(Empty, scorer=Listed()).verdict
    assert (verdict.passed, verdict.complete, verdict.score) == (False, False, None)
    assert verdict.exit_code() == 3
    assert verdict.reasons == ["there was nothing to score"]


@BOTH
def test_an_empty_session_has_null_numbers_and_costs_no_other_session(metric):
    data = [session(0, session_id="empty"), session(2)]
    empty, full = metric.run(data, scorer=Listed(1.0, 1.0))
    assert (empty.n_frames, empty.n_total) == (0, 0)
    assert "no frames" in empty.summary
    assert (full.n_frames, full.n_total) == (2, 2)
    if metric is VisionSimilarity:
        assert (empty.mean_similarity, empty.min_similarity, empty.max_similarity) == (None,) * 3
    else:
        assert (empty.hallucination_rate, empty.n_hallucinations) == (None, 0)
        assert empty.hallucination_rate_interval is None


def test_an_empty_session_keeps_the_verdict_from_passing():
    verdict = score([session(0, session_id="empty"), session(1)], scorer=Listed(1.0)).verdict
    assert (verdict.passed, verdict.exit_code()) == (False, 3)
    assert verdict.reasons == ["empty | vlm-a: no frame was scored"]


@pytest.mark.parametrize(
    ("assistant", "truth", "reason"),
    [
        ("", "seen", "assistant is empty"),
        (" \n", "seen", "assistant is empty"),
        (None, "seen", "assistant is missing"),
        ("said", None, "ground_truth_assistant is missing"),
        ("said", "", "ground_truth_assistant is empty"),
        ("said", [], "ground_truth_assistant is empty"),
        ("said", ["", " "], "ground_truth_assistant is empty"),
    ],
)
def test_a_frame_without_a_text_is_unscored_with_the_reason(assistant, truth, reason):
    bad = Batch(qa_id="bad", assistant=assistant, ground_truth_assistant=truth)
    data = [Dataset(session_id="c", assistant_id="v", conversation=[*frames(1), bad])]
    scorer = Listed(0.9)
    run = score(data, scorer=scorer)
    assert (run.frames[1].status.value, run.frames[1].reason) == ("unscored", reason)
    assert (run.frames[1].similarity_score, run.frames[1].is_hallucination) == (None, None)
    assert (run.similarity[0].mean_similarity, run.similarity[0].n_unscored) == (0.9, 1)
    assert "1/2 frames scored" in run.similarity[0].summary
    assert (run.hallucination[0].n_frames, run.hallucination[0].hallucination_rate) == (1, 0.0)
    assert run.verdict.exit_code() == 3
    assert scorer.asked == [("said 0", "seen")]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_score_that_is_no_number_leaves_the_frame_unscored(value):
    run = score([session(2)], scorer=Listed(value, 0.8))
    assert run.frames[0].status.value == "unscored"
    assert f"the scorer returned {value}" in run.frames[0].reason
    assert run.similarity[0].mean_similarity == 0.8
    assert run.verdict.exit_code() == 3


def test_nan_reaches_neither_the_summary_nor_the_json():
    run = score([session(1)], scorer=Listed(math.nan))
    assert "nan" not in run.similarity[0].summary.lower()
    json.loads(run.model_dump_json(), parse_constant=pytest.fail)
    assert (run.similarity[0].mean_similarity, run.hallucination[0].hallucination_rate) == (
        None,
        None,
    )


def test_a_zero_vector_leaves_the_frame_unscored_without_a_warning():
    class Zeros:
        def encode(self, sentences):
            return np.zeros((len(sentences), 3), dtype=np.float32)

    run = score([session(1)], scorer=CosineSimilarity(Zeros()))
    assert run.frames[0].status.value == "unscored"


def test_scores_are_clamped_to_the_documented_range():
    result = by_hand(VisionSimilarity, [-0.2, 1.0000001])
    assert [i.similarity_score for i in result.interactions] == [0.0, 1.0]


def test_a_score_is_rounded_once_and_the_rounded_number_is_gated():
    result = by_hand(VisionHallucination, [0.74996, 0.74994])
    assert [(i.similarity_score, i.is_hallucination) for i in result.interactions] == [
        (0.75, False),
        (0.7499, True),
    ]


def test_display_never_contradicts_the_flag(capsys):
    by_hand(VisionHallucination, [0.7499, 0.89]).display()
    lines = capsys.readouterr().out.splitlines()
    assert "  f0  similarity=0.7499  HALLUCINATION" in lines
    assert "  f1  similarity=0.89  ok" in lines


def test_display_prints_header_summary_and_a_line_a_frame(capsys):
    assert by_hand(VisionSimilarity, [0.891, 0.17]).display() is None
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Session: cam-1  |  Assistant: vlm-a"
    assert "Mean similarity 53%" in lines[1]
    assert "  f0  similarity=0.89" in lines
    assert "  f1  similarity=0.17" in lines


def test_display_says_why_a_frame_has_no_score(capsys):
    by_hand(VisionHallucination, [ValueError("no GPU"), 0.9]).display()
    assert "f0  error: scorer raised ValueError: no GPU" in capsys.readouterr().out


def test_a_scorer_that_raises_on_one_frame_costs_only_that_frame():
    run = score([session(3)], scorer=Listed(0.9, RuntimeError("boom"), 0.7))
    assert [f.status.value for f in run.frames] == ["scored", "error", "scored"]
    assert run.frames[1].reason == "scorer raised RuntimeError: boom"
    assert run.verdict.n_scored == 2


def test_an_interrupt_is_not_swallowed():
    class Interrupted:
        def calculate(self, assistant, ground_truth):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score([session(1)], scorer=Interrupted())


def test_a_scorer_that_returns_no_number_is_an_error_of_that_frame():
    run = score([session(2)], scorer=Listed("high", 0.9))
    assert run.frames[0].status.value == "error"
    assert "could not convert string to float" in run.frames[0].reason


def test_weights_give_additive_fields_and_leave_the_plain_mean_alone():
    weighted = [
        Batch(qa_id="a", assistant="x", ground_truth_assistant="y", weight=3),
        Batch(qa_id="b", assistant="x", ground_truth_assistant="y", weight=1),
    ]
    data = [Dataset(session_id="c", assistant_id="v", conversation=weighted)]
    run = score(data, scorer=Listed(1.0, 0.0))
    assert (run.similarity[0].mean_similarity, run.hallucination[0].hallucination_rate) == (
        0.5,
        0.5,
    )
    assert run.similarity[0].weighted_mean_similarity == 0.75
    assert run.hallucination[0].weighted_hallucination_rate == 0.25
    assert score([session(1)], scorer=Listed(1.0)).similarity[0].weighted_mean_similarity is None


@BOTH
def test_processing_twice_changes_nothing(metric):
    instance = metric([session(2)], scorer=Listed(0.9, 0.1))
    instance._process()
    first = instance.metrics
    instance._process()
    instance.on_process_complete()
    assert instance.metrics == first
    assert len(first) == 1
    assert len(first[0].interactions) == 2


def test_two_assistants_on_one_session_are_two_results():
    data = [session(1, assistant_id="a"), session(1, assistant_id="b")]
    results = VisionSimilarity.run(data, scorer=Listed(1.0, 0.0))
    assert [(r.assistant_id, r.mean_similarity) for r in results] == [("a", 1.0), ("b", 0.0)]


def test_frames_with_one_id_are_kept_apart():
    twin = Batch(qa_id="same", assistant="x", ground_truth_assistant="y")
    data = [Dataset(session_id="c", assistant_id="v", conversation=[twin, twin])]
    result = VisionSimilarity.run(data, scorer=Listed(1.0, 0.0))[0]
    assert [i.similarity_score for i in result.interactions] == [1.0, 0.0]


# Streams.


class Interleaved(Retriever):
    """Two sessions by two assistants, frame by frame in turn."""

    iteration_level = IterationLevel.STREAM_BATCHES

    def load_dataset(self):
        for i, frame in enumerate(frames(8)):
            metadata = SessionMetadata(
                session_id=f"cam-{i % 2}", assistant_id=f"vlm-{i // 2 % 2}", context="door"
            )
            yield StreamedBatch(metadata=metadata, batch=frame)


@BOTH
def test_an_interleaved_stream_of_two_sessions_by_two_assistants_gives_four_results(metric):
    results = metric.run(Interleaved, scorer=Listed(*(i / 10 for i in range(8))))
    assert [(r.session_id, r.assistant_id) for r in results] == [
        ("cam-0", "vlm-0"),
        ("cam-1", "vlm-0"),
        ("cam-0", "vlm-1"),
        ("cam-1", "vlm-1"),
    ]
    assert [i.similarity_score for i in results[0].interactions] == [0.0, 0.4]


def test_stream_yields_each_sessions_result_so_far():
    seen = [
        (r.session_id, r.assistant_id, r.n_frames, r.n_hallucinations)
        for r in VisionHallucination.stream(Interleaved, scorer=Listed(*[0.9] * 5, *[0.1] * 3))
    ]
    assert seen == [
        ("cam-0", "vlm-0", 1, 0),
        ("cam-1", "vlm-0", 1, 0),
        ("cam-0", "vlm-1", 1, 0),
        ("cam-1", "vlm-1", 1, 0),
        ("cam-0", "vlm-0", 2, 0),
        ("cam-1", "vlm-0", 2, 1),
        ("cam-0", "vlm-1", 2, 1),
        ("cam-1", "vlm-1", 2, 1),
    ]


def test_stream_works_on_an_endless_source():
    class Endless(Retriever):
        iteration_level = IterationLevel.STREAM_SESSIONS

        def load_dataset(self):
            while True:
                yield session(1)

    class Ones:
        def calculate(self, assistant, ground_truth):
            return 1.0

    stream = VisionSimilarity.stream(Endless, scorer=Ones())
    assert [next(stream).n_frames for _ in range(3)] == [1, 2, 3]


def test_an_iterator_at_the_default_level_is_refused_and_the_levels_named():
    class Generator(Retriever):
        def load_dataset(self):
            yield session(1)

    with pytest.raises(ValueError, match=r"STREAM_SESSIONS or IterationLevel.STREAM_BATCHES"):
        VisionSimilarity(Generator, scorer=Listed())


def test_a_level_given_as_text_is_understood_and_an_unknown_one_refused():
    class Named(Retriever):
        iteration_level = "stream_sessions"

        def load_dataset(self):
            yield session(1)

    class Wrong(Named):
        iteration_level = "by_frame"

    assert len(VisionSimilarity.run(Named, scorer=Listed(1.0))) == 1
    with pytest.raises(ConfigurationError, match="'by_frame'; accepted: 'full_dataset'"):
        VisionSimilarity(Wrong, scorer=Listed())


def test_items_that_the_level_does_not_promise_are_refused():
    class Mixed(Retriever):
        iteration_level = IterationLevel.STREAM_BATCHES

        def load_dataset(self):
            yield session(1)

    with pytest.raises(DataError, match=r"item 0 .* Dataset.*promises StreamedBatch"):
        VisionSimilarity.run(Mixed, scorer=Listed())


# Scorers and references.


def test_a_strangers_scorer_is_asked_once_a_frame_in_order_without_deduplication():
    scorer = Listed(0.1, 0.2, 0.3)
    same = [Batch(qa_id=str(i), assistant="x", ground_truth_assistant="y") for i in range(3)]
    VisionSimilarity.run(
        [Dataset(session_id="c", assistant_id="v", conversation=same)], scorer=scorer
    )
    assert scorer.asked == [("x", "y")] * 3


def test_a_scorer_is_recognised_by_its_class_and_not_by_its_attributes():
    class Chameleon(Listed):
        def score_pairs(self, pairs, progress=None):
            pytest.fail("a stranger's score_pairs is none of ours")

    class Doubled(CosineSimilarity):
        def calculate(self, assistant, ground_truth):
            return 0.25

    assert by_hand(VisionSimilarity, [0.5]).mean_similarity == 0.5
    assert score([session(1)], scorer=Chameleon(0.4)).frames[0].similarity_score == 0.4
    assert score([session(1)], scorer=Doubled()).frames[0].similarity_score == 0.25


class Lengths:
    """An embedder of one's own: two numbers a text, and a record of what it was given."""

    def __init__(self):
        self.calls = []

    def encode(self, sentences):
        self.calls.append(list(sentences))
        return [[len(text), 1.0] for text in sentences]


def test_anything_with_encode_is_an_embedder_and_sees_each_text_once():
    embedder = Lengths()
    run = score([session(3)], scorer=CosineSimilarity(embedder))
    assert embedder.calls == [["said 0", "seen", "said 1", "said 2"]]
    # (6, 1) against (4, 1)
    assert run.frames[0].similarity_score == round(25 / math.sqrt(37 * 17), 4)
    assert run.verdict.evidence["embedder"]["class"].endswith("Lengths")


@pytest.mark.parametrize("answer", [None, [[1.0]], np.zeros((4, 0)), ["text"] * 4, [[1], [2, 3]]])
def test_an_embedder_that_returns_something_else_is_an_error(answer):
    class Wrong:
        def encode(self, sentences):
            return answer

    with pytest.raises(ScoringError, match=r"Wrong\.encode returned"):
        score([session(3)], scorer=CosineSimilarity(Wrong()))


def test_an_object_without_encode_is_refused_as_embedder():
    with pytest.raises(InputError, match=r"must have an encode\(list\[str\]\) method, got int"):
        CosineSimilarity(3)


@pytest.mark.parametrize(("mode", "expected"), [("best", 0.8), ("mean", 0.5)])
def test_several_references_give_the_best_or_the_mean(mode, expected):
    several = Batch(qa_id="f", assistant="x", ground_truth_assistant=["a", "", "b"])
    data = [Dataset(session_id="c", assistant_id="v", conversation=[several])]
    scorer = Listed(0.2, 0.8)
    assert score(data, scorer=scorer, reference=mode).frames[0].similarity_score == expected
    assert scorer.asked == [("x", "a"), ("x", "b")]


def test_an_unknown_reference_mode_is_refused():
    with pytest.raises(ConfigurationError, match="reference is 'worst'; accepted: 'best', 'mean'"):
        score([session(1)], scorer=Listed(1.0), reference="worst")


def test_an_embedder_that_raises_on_one_text_costs_only_its_frames():
    class Picky(Lengths):
        def encode(self, sentences):
            if "said 1" in sentences:
                raise ValueError("not this one")
            return super().encode(sentences)

    run = score([session(3)], scorer=CosineSimilarity(Picky()))
    assert [f.status.value for f in run.frames] == ["scored", "error", "scored"]
    assert run.frames[1].reason == "scorer raised ValueError: not this one"


def test_a_run_that_was_interrupted_is_not_taken_for_a_finished_one():
    class Once:
        interrupted = False

        def calculate(self, assistant, ground_truth):
            if not Once.interrupted:
                Once.interrupted = True
                raise KeyboardInterrupt
            return 1.0

    metric = VisionSimilarity([session(2)], scorer=Once())
    with pytest.raises(KeyboardInterrupt):
        metric.process()
    with pytest.raises(ScoringError, match="did not finish"):
        metric.process()


def test_partial_results_list_only_what_is_new_and_count_everything():
    results = list(VisionSimilarity.stream(Interleaved, scorer=Listed(*(i / 10 for i in range(8)))))
    last = results[4]
    assert (last.n_frames, last.n_total, last.mean_similarity) == (2, 2, 0.2)
    assert (last.min_similarity, last.max_similarity) == (0.0, 0.4)
    assert [i.qa_id for i in last.interactions] == ["f4"]


def test_stream_checks_its_options_at_once():
    with pytest.raises(ConfigurationError, match="threshold is 9"):
        VisionSimilarity.stream(Interleaved, threshold=9)


@pytest.mark.parametrize(
    ("scorer", "named"), [(CosineSimilarity, "the class CosineSimilarity"), (Lengths(), "Lengths")]
)
def test_a_scorer_without_calculate_is_refused_at_the_start(scorer, named):
    with pytest.raises(ConfigurationError, match=f"scorer is {named}; accepted"):
        score([session(1)], scorer=scorer)


def test_results_name_the_version_and_the_instruction_tier():
    evidence = score([session(1)], scorer=Listed(1.0)).verdict.evidence
    assert evidence["framejudge"] == "0.1.0"
    assert evidence["isa"] in ("baseline", "avx2", "avx512", "neon")
