"""Data in: retrievers, their records, and readers of files and tables."""

from __future__ import annotations

from framejudge.data.retriever import Retriever
from framejudge.schemas import Batch, Dataset, IterationLevel, SessionMetadata, StreamedBatch

__all__ = ["Batch", "Dataset", "IterationLevel", "Retriever", "SessionMetadata", "StreamedBatch"]
