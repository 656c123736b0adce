"""The Retriever: where a user's data comes from, at one of three iteration levels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from framejudge.schemas import Dataset, IterationLevel, StreamedBatch

__all__ = ["Retriever"]


class Retriever(ABC):
    """Base class of data sources; a subclass defines `load_dataset`.

    Keywords that a metric does not know itself are passed to the subclass, and kept in
    `self.kwargs` by this `__init__`.

    >>> class Frames(Retriever):
    ...     def load_dataset(self):
    ...         return [Dataset(session_id="cam-1", assistant_id="vlm", conversation=[])]
    >>> Frames().iteration_level
    <IterationLevel.FULL_DATASET: 'full_dataset'>
    """

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs = kwargs

    @property
    def iteration_level(self) -> IterationLevel:
        """What `load_dataset` returns: a list of sessions, or an iterator of sessions or frames."""
        return IterationLevel.FULL_DATASET

    @abstractmethod
    def load_dataset(self) -> list[Dataset] | Iterator[Dataset] | Iterator[StreamedBatch]:
        """Return the data in the form that `iteration_level` names."""
