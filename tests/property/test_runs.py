"""Whatever comes in, in whatever order: nothing is lost and every count adds up."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from framejudge import score
from framejudge.data import Batch, IterationLevel, Retriever, SessionMetadata, StreamedBatch

TEXTS = st.sampled_from(["a man fell", "nobody", "", None, " "])
FRAMES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), TEXTS, TEXTS), max_size=30
)
SCORES = st.floats(allow_nan=True, allow_infinity=True)


class Given(Retriever):
    iteration_level = IterationLevel.STREAM_BATCHES

    def __init__(self, *, rows):
        super().__init__()
        self.rows = rows

    def load_dataset(self):
        for i, (session, assistant, said, seen) in enumerate(self.rows):
            yield StreamedBatch(
                metadata=SessionMetadata(session_id=session, assistant_id=assistant),
                batch=Batch(qa_id=str(i), assistant=said, ground_truth_assistant=seen),
            )


class Constant:
    def __init__(self, value):
        self.value = value

    def calculate(self, assistant, ground_truth):
        return self.value


@given(FRAMES, SCORES, st.floats(0, 1))
@settings(deadline=None)
def test_counts_add_up_and_order_is_kept(rows, value, threshold):
    run = score(Given(rows=rows), scorer=Constant(value), threshold=threshold)
    assert [f.qa_id for f in run.frames] == [str(i) for i in range(len(rows))]
    keys = list(dict.fromkeys((session, assistant) for session, assistant, _, _ in rows))
    assert [(r.session_id, r.assistant_id) for r in run.hallucination] == keys
    assert sum(r.n_total for r in run.similarity) == len(rows) == run.verdict.n_total
    assert sum(r.n_frames for r in run.similarity) == run.verdict.n_scored
    for similarity, hallucination in zip(run.similarity, run.hallucination, strict=True):
        assert similarity.n_frames + similarity.n_unscored == similarity.n_total
        flags = [i.is_hallucination for i in hallucination.interactions]
        assert flags.count(True) == hallucination.n_hallucinations
        assert flags.count(None) == hallucination.n_unscored
        if similarity.n_frames:
            assert similarity.min_similarity <= similarity.mean_similarity
            assert similarity.mean_similarity <= similarity.max_similarity
        else:
            assert similarity.mean_similarity is None
            assert hallucination.hallucination_rate is None
    for frame in run.frames:
        assert (frame.similarity_score is None) == (frame.status.value != "scored")
        assert (frame.similarity_score is None) == (frame.reason is not None)
        if frame.similarity_score is not None:
            assert 0 <= frame.similarity_score <= 1
            assert frame.is_hallucination == (frame.similarity_score < threshold)
    if not math.isfinite(value):
        assert run.verdict.n_scored == 0
    if run.verdict.passed:
        assert run.verdict.n_scored == run.verdict.n_total > 0
