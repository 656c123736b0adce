"""Input records: a frame's texts (Batch) and a camera session of them (Dataset)."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from framejudge.schemas.text import json_safe

__all__ = [
    "Batch",
    "Dataset",
    "IterationLevel",
    "Logprobs",
    "SessionMetadata",
    "StreamedBatch",
    "with_session_fields",
]


def _number_as_text(value: Any) -> Any:
    """Take 17 for "17": ids that are numbers lose their quotes in CSV and Parquet files."""
    if isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, (int, float)) else value


def _null_as_empty(value: Any) -> Any:
    """Take a table's empty cell for an empty text."""
    return "" if value is None else value


Text = Annotated[str, BeforeValidator(_null_as_empty)]
Identifier = Annotated[str, BeforeValidator(_number_as_text), Field(min_length=1)]


class IterationLevel(StrEnum):
    """How a Retriever hands over its data."""

    FULL_DATASET = "full_dataset"
    """A list of Datasets."""
    STREAM_SESSIONS = "stream_sessions"
    """An iterator of Datasets."""
    STREAM_BATCHES = "stream_batches"
    """An iterator of StreamedBatch, one frame each."""


class Logprobs(BaseModel):
    """Token log-probabilities of a description; carried, not scored."""

    model_config = ConfigDict(extra="forbid")

    tokens: list[str]
    token_logprobs: list[float]


class Batch(BaseModel):
    """One frame: what the VLM said and what a human saw.

    A missing or empty text is accepted here and makes the frame *unscored*, so that one bad row
    never costs the others. Fields that are not named below are kept in `metadata`.
    """

    model_config = ConfigDict(extra="forbid")

    qa_id: Identifier
    """Frame identifier, for instance a timestamp."""
    assistant: str | None = None
    """The VLM's description."""
    ground_truth_assistant: str | list[str] | None = None
    """The human's description, or several of them."""
    query: Text = ""
    observation: str | None = None
    logprobs: dict[str, Any] | None = None
    agentic: dict[str, Any] | None = None
    ground_truth_agentic: dict[str, Any] | None = None
    weight: float | None = Field(default=None, ge=0)
    """Relative importance in the weighted means; frames without one count as 1."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """Everything else that came with the frame; bytes are kept as base64 text."""

    @model_validator(mode="before")
    @classmethod
    def _keep_unknown_fields(cls, data: Any) -> Any:
        return _unknown_into_metadata(data, cls) if isinstance(data, dict) else data

    @field_validator("metadata")
    @classmethod
    def _json_safe(cls, value: dict[str, Any]) -> dict[str, Any]:
        safe: dict[str, Any] = json_safe(value)
        return safe

    @field_validator("weight")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        if value is not None and not math.isfinite(value):
            raise ValueError(f"weight must be finite, got {value}")
        return value


class SessionMetadata(BaseModel):
    """Which camera session a frame belongs to, and which VLM described it."""

    model_config = ConfigDict(extra="forbid")

    session_id: Identifier
    assistant_id: Identifier
    language: str | None = "english"
    context: Text = ""


class Dataset(SessionMetadata):
    """One camera session described by one VLM.

    Unknown fields of the session go to each frame's `metadata`; the frame's own come first.
    """

    conversation: list[Batch]

    @model_validator(mode="before")
    @classmethod
    def _hand_unknown_fields_to_frames(cls, data: Any) -> Any:
        if not isinstance(data, dict) or not isinstance(data.get("conversation"), list):
            return data
        unknown = {key: value for key, value in data.items() if key not in cls.model_fields}
        if not unknown:
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields}
        frames = [with_session_fields(frame, unknown) for frame in data["conversation"]]
        return {**known, "conversation": frames}

    def session(self) -> SessionMetadata:
        """Return the session's identity without its frames."""
        return SessionMetadata(
            session_id=self.session_id,
            assistant_id=self.assistant_id,
            language=self.language,
            context=self.context,
        )


class StreamedBatch(BaseModel):
    """One frame together with the session it belongs to."""

    model_config = ConfigDict(extra="forbid")

    metadata: SessionMetadata
    batch: Batch


def _unknown_into_metadata(data: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    known = {key: value for key, value in data.items() if key in model.model_fields}
    unknown = {key: value for key, value in data.items() if key not in model.model_fields}
    own = known.pop("metadata", None) or {}
    # Metadata that is no mapping is passed on as it is, for validation to name.
    known["metadata"] = {**unknown, **own} if isinstance(own, dict) else own
    return known


def with_session_fields(frame: Any, extra: dict[str, Any]) -> Any:
    """Add a session's unknown fields to a frame's metadata; what the frame says itself wins."""
    if isinstance(frame, Batch):
        return frame.model_copy(update={"metadata": {**extra, **frame.metadata}})
    if not isinstance(frame, dict):
        return frame
    frame = _unknown_into_metadata(frame, Batch)
    if isinstance(frame["metadata"], dict):
        frame["metadata"] = {**extra, **frame["metadata"]}
    return frame
