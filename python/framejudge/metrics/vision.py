"""The two vision metrics: how close descriptions are to the truth, and how often they are not."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Literal, TypeVar

from framejudge._core import build_info
from framejudge.data.rows import Item
from framejudge.data.sources import as_retriever, checked_level, iterate, load
from framejudge.errors import ScoringError
from framejudge.metrics.frames import Frame, FrameStore, Key
from framejudge.metrics.options import check_share, check_spelling
from framejudge.metrics.summaries import (
    hallucination_metric,
    similarity_metric,
)
from framejudge.metrics.tally import Tally
from framejudge.schemas import (
    Batch,
    SessionMetadata,
    StreamedBatch,
    VisionHallucinationMetric,
    VisionSimilarityMetric,
)
from framejudge.scorers import CosineSimilarity, SimilarityScorer

__all__ = ["VisionHallucination", "VisionSimilarity"]

Result = TypeVar("Result", VisionSimilarityMetric, VisionHallucinationMetric)


class _VisionMetric(ABC, Generic[Result]):
    """What both metrics share: data in, frames scored, a result per (session, assistant)."""

    def __init__(
        self,
        retriever: Any,
        scorer: SimilarityScorer | None = None,
        threshold: float = 0.75,
        *,
        reference: Literal["best", "mean"] = "best",
        confidence: float = 0.95,
        progress: Callable[[int], None] | None = None,
        verbose: bool = False,
        **kwargs: Any,
    ) -> None:
        """Take the data in; nothing is scored yet.

        Args:
            retriever: a Retriever class (or instance), a path to a .jsonl, .csv, .parquet or .json
                file, a list of Datasets, or a DataFrame.
            scorer: how two texts are compared. Default: cosine similarity of all-mpnet-base-v2.
            threshold: a frame below it counts as a hallucination, in [0, 1]. Default 0.75.
            reference: a frame's score where it has several references: the "best" or the "mean".
            confidence: level of the intervals, in (0, 1). Default 0.95.
            progress: called with the number of frames that are done.
            verbose: log each result at INFO instead of DEBUG.
            **kwargs: passed to the Retriever class.

        Raises:
            ConfigurationError: an option out of range, misspelt or unknown.
            DataError: data that can't be read at all; a bad row alone becomes an unscored frame.
        """
        check_spelling(kwargs)
        self.threshold = check_share("threshold", threshold)
        self.confidence = check_share("confidence", confidence, open_ends=True)
        self.reference = reference
        self.verbose = verbose
        self.logger = logging.getLogger("framejudge.metrics")
        self.scorer: SimilarityScorer = CosineSimilarity() if scorer is None else scorer
        self.store = FrameStore(self.scorer, reference=reference, progress=progress)
        self.retriever = as_retriever(retriever, kwargs)
        self.level = checked_level(self.retriever)
        self.dataset = load(self.retriever, self.level)
        self.metrics: list[Result] = []
        self._state: Literal["new", "started", "done"] = "new"

    @classmethod
    def run(cls, retriever: Any, **kwargs: Any) -> list[Result]:
        """Score everything the retriever has; return a result per (session, assistant).

        Results come in the order in which their sessions were first seen. See the class for the
        arguments.
        """
        metric = cls(retriever, **kwargs)
        metric.process()
        return metric.metrics

    @classmethod
    def stream(cls, retriever: Any, **kwargs: Any) -> Iterator[Result]:
        """Yield a session's result so far each time the retriever hands over data for it.

        The numbers are those of all frames so far; `interactions` lists the frames that came since
        the session's last result, and the mean has a bootstrap interval only while those are all
        there are. Nothing else is kept, so the source may be endless. The arguments are the
        constructor's, and are checked at once.
        """
        metric = cls(retriever, **kwargs)
        return metric._partial_results()

    def _partial_results(self) -> Iterator[Result]:
        tallies: dict[Key, Tally] = {}
        for group in iterate(self.dataset, self.level):
            self.store.add(group)
            self.store.flush()
            metadata = self.metadata()
            for key, frames in self.store.take().items():
                tally = tallies.setdefault(key, Tally(self.threshold)).add(frames)
                yield self._result(key, tally, frames, metadata)

    def batch(
        self,
        session_id: str,
        context: str,
        assistant_id: str,
        batch: Iterable[Batch],
        language: str | None = "english",
    ) -> None:
        """Add frames by hand; `on_process_complete` makes the results.

        Args:
            session_id: camera session.
            context: what the camera watches; carried, not scored.
            assistant_id: the VLM that made the descriptions.
            batch: the frames.
            language: of the texts; carried, not scored.
        """
        session = SessionMetadata(
            session_id=session_id, assistant_id=assistant_id, context=context, language=language
        )
        items: list[Item] = [session]
        items += [StreamedBatch(metadata=session, batch=frame) for frame in batch]
        self.store.add(items)

    def on_process_complete(self) -> None:
        """Score what waits and put a result per (session, assistant) into `metrics`."""
        self.store.flush()
        metadata = self.metadata()
        self.metrics = [
            self._result(key, Tally(self.threshold).add(frames), frames, metadata)
            for key, frames in self.store.sessions.items()
        ]
        for result in self.metrics:
            level = logging.INFO if self.verbose else logging.DEBUG
            self.logger.log(
                level, "%s | %s: %s", result.session_id, result.assistant_id, result.summary
            )
        for frame in self.store.frames:
            if None in frame.key:
                self.logger.warning("a row belongs to no session: %s", frame.reason)

    def process(self) -> None:
        """Score the retriever's data, once: a second call finds it done.

        Raises:
            ScoringError: an earlier call did not finish, and the data can't be asked for again.
        """
        if self._state == "done":
            return
        if self._state == "started":
            raise ScoringError("an earlier run of this metric did not finish; make a new one")
        self._state = "started"
        for group in iterate(self.dataset, self.level):
            self.store.add(group)
        self.on_process_complete()
        self._state = "done"

    # The name under which users of the interface that this one follows know it.
    _process = process

    def metadata(self) -> dict[str, Any]:
        """Return what the scores rest on; a stranger's scorer is named by its class."""
        # Asking our scorer opens its model, which is not worth fetching to describe no score.
        if isinstance(self.scorer, CosineSimilarity) and self.store.has_scores:
            info = self.scorer.info()
        else:
            info = {"scorer": f"{type(self.scorer).__module__}.{type(self.scorer).__qualname__}"}
        build = build_info()
        ours = {"framejudge": build["version"], "isa": build["isa"]}
        return {**ours, **info, "reference": self.reference}

    @abstractmethod
    def _result(
        self,
        key: Key,
        tally: Tally,
        frames: list[Frame],
        metadata: dict[str, Any],
    ) -> Result: ...


class VisionSimilarity(_VisionMetric[VisionSimilarityMetric]):
    """Mean semantic closeness between descriptions and ground truth, per (session, assistant).

    The threshold is kept, and affects no similarity.
    """

    def _result(
        self,
        key: Key,
        tally: Tally,
        frames: list[Frame],
        metadata: dict[str, Any],
    ) -> VisionSimilarityMetric:
        return similarity_metric(key, tally, frames, confidence=self.confidence, metadata=metadata)


class VisionHallucination(_VisionMetric[VisionHallucinationMetric]):
    """Share of frames whose similarity falls below the threshold, per (session, assistant)."""

    def _result(
        self,
        key: Key,
        tally: Tally,
        frames: list[Frame],
        metadata: dict[str, Any],
    ) -> VisionHallucinationMetric:
        return hallucination_metric(
            key, tally, frames, confidence=self.confidence, metadata=metadata
        )
