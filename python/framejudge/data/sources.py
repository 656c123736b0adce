"""Whatever a user hands over as data, as one stream of sessions, frames and row errors."""

from __future__ import annotations

import inspect
import os
import types
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from framejudge.data.readers import read_file
from framejudge.data.retriever import Retriever
from framejudge.data.rows import Item, RowError, check_columns, frames_from_rows
from framejudge.errors import ConfigurationError, DataError, InputError
from framejudge.schemas import Dataset, IterationLevel, SessionMetadata, StreamedBatch

__all__ = ["as_retriever", "checked_level", "iterate", "load"]

_ACCEPTED = (
    "a Retriever class or instance, a path to a .jsonl, .csv, .parquet or .json file, "
    "a list of Datasets, or a pandas or polars DataFrame"
)


class FileRetriever(Retriever):
    """The frames of one file, read as they are asked for."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path=path)
        self.path = Path(path)

    @property
    def iteration_level(self) -> IterationLevel:
        """One frame at a time."""
        return IterationLevel.STREAM_BATCHES

    def load_dataset(self) -> Iterator[Any]:
        """Yield the file's items."""
        return read_file(self.path)


class FrameRetriever(Retriever):
    """The rows of a DataFrame, one frame each."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self.frame = frame

    @property
    def iteration_level(self) -> IterationLevel:
        """One frame at a time."""
        return IterationLevel.STREAM_BATCHES

    def load_dataset(self) -> Iterator[Any]:
        """Yield the table's items; missing values of either library become None."""
        check_columns([str(name) for name in self.frame.columns], where="DataFrame")
        to_dicts = getattr(self.frame, "to_dicts", None)  # polars
        rows = to_dicts() if to_dicts else self.frame.to_dict("records")
        cleaned = ({str(key): _plain(value) for key, value in row.items()} for row in rows)
        return frames_from_rows(enumerate(cleaned, start=1), where="DataFrame", unit="row")


class ListRetriever(Retriever):
    """Sessions that are in memory already."""

    def __init__(self, sessions: list[Dataset]) -> None:
        super().__init__()
        self.sessions = sessions

    def load_dataset(self) -> list[Dataset]:
        """Return the sessions."""
        return self.sessions


# What a frame-by-frame source may yield; a Dataset is a SessionMetadata too, and not meant.
_STREAMED = (StreamedBatch, SessionMetadata, RowError)


def as_retriever(source: Any, options: Mapping[str, Any]) -> Retriever:
    """Return a Retriever for whatever was given as data.

    Args:
        source: a Retriever class or instance, a path, Datasets or a DataFrame.
        options: further keywords for a Retriever class.

    Raises:
        ConfigurationError: an option that the class does not take.
        InputError: data of a kind that is not accepted.
    """
    if isinstance(source, type) and issubclass(source, Retriever):
        _check_options(source, options)
        return source(**options)
    if options:
        name = next(iter(options))
        raise ConfigurationError(
            f"unexpected keyword {name!r}: only a Retriever class takes further keywords, "
            f"and the data given is {_kind(source)}"
        )
    if isinstance(source, Retriever):
        return source
    if isinstance(source, (str, os.PathLike)):
        return FileRetriever(source)
    if isinstance(source, Dataset):
        return ListRetriever([source])
    if isinstance(source, (list, tuple)):
        for index, item in enumerate(source):
            if not isinstance(item, Dataset):
                raise InputError(f"data[{index}]: expected a Dataset, got {_kind(item)}")
        return ListRetriever(list(source))
    if type(source).__name__ == "DataFrame" and hasattr(source, "columns"):
        return FrameRetriever(source)
    raise InputError(f"can't read data from {_kind(source)}; accepted: {_ACCEPTED}")


def iterate(data: Any, level: IterationLevel) -> Iterator[list[Item]]:
    """Yield what `load_dataset` returned, one group of items per session or streamed frame.

    Raises:
        DataError: an item that the iteration level does not promise.
    """
    wanted = StreamedBatch if level is IterationLevel.STREAM_BATCHES else Dataset
    for index, item in enumerate(data):
        if isinstance(item, Dataset) and wanted is Dataset:
            session = item.session()
            frames = [StreamedBatch(metadata=session, batch=batch) for batch in item.conversation]
            yield [session, *frames]
        elif (
            wanted is StreamedBatch
            and isinstance(item, _STREAMED)
            and not isinstance(item, Dataset)
        ):
            yield [item]
        else:
            raise DataError(
                f"item {index} of load_dataset() is {_kind(item)}, but the iteration level "
                f"{level.value!r} promises {wanted.__name__}"
            )


def checked_level(retriever: Retriever) -> IterationLevel:
    """Return a retriever's iteration level; a plain string is taken for the level it names.

    Raises:
        ConfigurationError: it is none of the three levels.
    """
    try:
        return IterationLevel(retriever.iteration_level)
    except ValueError:
        accepted = ", ".join(repr(level.value) for level in IterationLevel)
        raise ConfigurationError(
            f"{type(retriever).__name__}.iteration_level is {retriever.iteration_level!r}; "
            f"accepted: {accepted}"
        ) from None


def load(retriever: Retriever, level: IterationLevel) -> Iterable[Any]:
    """Call `load_dataset` and check that what it returns fits the level.

    Raises:
        ConfigurationError: an iterator at the level that promises a list.
        DataError: nothing that can be iterated over.
    """
    data = retriever.load_dataset()
    if isinstance(data, Iterator) and level is IterationLevel.FULL_DATASET:
        raise ConfigurationError(
            f"{type(retriever).__name__}.load_dataset() returned an iterator, but its "
            "iteration_level is 'full_dataset'; override iteration_level to return "
            "IterationLevel.STREAM_SESSIONS or IterationLevel.STREAM_BATCHES "
            "('stream_sessions', 'stream_batches')"
        )
    if not isinstance(data, Iterable):
        raise DataError(
            f"{type(retriever).__name__}.load_dataset() returned {_kind(data)}; "
            "expected a list of Datasets, or an iterator at a streaming level"
        )
    return data


def _check_options(retriever: type[Retriever], options: Mapping[str, Any]) -> None:
    """Refuse keywords that nobody would read; see NOTE [options]."""
    parameters = inspect.signature(retriever.__init__).parameters.values()
    named = {parameter.name for parameter in parameters} - {"self"}
    takes_any = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    if takes_any and retriever.__init__ is Retriever.__init__:
        takes_any = _reads_kwargs(retriever)
    unknown = [] if takes_any else [name for name in options if name not in named]
    if unknown:
        raise ConfigurationError(
            f"unexpected keyword {unknown[0]!r}: neither the metric nor "
            f"{retriever.__name__}.__init__ names it"
        )


def _reads_kwargs(retriever: type[Retriever]) -> bool:
    own = retriever.__mro__[: retriever.__mro__.index(Retriever)]
    members = [inspect.unwrap(m) for cls in own for m in vars(cls).values() if callable(m)]
    getters = [m.fget for cls in own for m in vars(cls).values() if isinstance(m, property)]
    return any(_mentions_kwargs(getattr(m, "__code__", None)) for m in (*members, *getters))


def _mentions_kwargs(code: Any) -> bool:
    if not isinstance(code, types.CodeType):
        return False
    return (
        "kwargs" in code.co_names
        or "kwargs" in code.co_consts
        or any(_mentions_kwargs(inner) for inner in code.co_consts)
    )


# NOTE [options]: the base __init__ takes any keyword, so by itself it would swallow each misspelt
# one. A class that inherits it takes further keywords only if one of its methods reads
# `self.kwargs`.


def _plain(value: Any) -> Any:
    """Return a table's cell as Python data: None for NaN, NaT and NA, lists for arrays."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple, dict, str)):
        return value
    # NaN and NaT differ from themselves; comparing pandas' NA gives NA, which has no truth.
    try:
        return value if value == value else None  # noqa: PLR0124 - see above
    except TypeError:
        return None


def _kind(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"an object of type {type(value).__name__}"
