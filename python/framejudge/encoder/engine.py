"""One opened model: its tokeniser and its onnxruntime session, and how texts are batched for it.

NOTE [one sentence at a time]: texts are tokenised one by one. The tokeniser's own thread pool
would save 0.1 % of the time and make every later fork print a warning.

NOTE [no telemetry]: from 1.29 on, onnxruntime starts a thread at import that reports to its maker.
It is switched off, because texts' whereabouts are nobody's business, and because a forked child
would hang on that thread when it ends. `ORT_DISABLE_TELEMETRY=0` keeps onnxruntime's own way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from framejudge.encoder.graph import INPUTS, OUTPUTS
from framejudge.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from framejudge.encoder.weights import ExportedModel

__all__ = ["Engine", "Tokenized", "load_onnxruntime", "plan_batches"]


@dataclass(frozen=True, slots=True)
class Tokenized:
    """A text as token ids."""

    ids: list[int]
    truncated: bool
    """The text was longer than the model's limit, and its end is not in `ids`."""


class Engine:
    """A tokeniser and a session; calls from several threads may overlap.

    Args:
        exported: The verified model.
        max_tokens: Longest text, the special tokens included.
        threads: Threads of the session.
        normalize: L2-normalise, whatever the model's own modules do.
    """

    def __init__(
        self, exported: ExportedModel, *, max_tokens: int, threads: int, normalize: bool
    ) -> None:
        architecture = exported.architecture
        self._lowercase = architecture.lowercase
        self._pad_id = architecture.pad_id
        self._output = OUTPUTS[0] if normalize or architecture.normalized else OUTPUTS[1]
        self._tokenizer = _open_tokenizer(str(exported.tokenizer), max_tokens)
        self._session = _open_session(str(exported.path), threads)

    @property
    def providers(self) -> list[str]:
        """Execution providers that are really in the session."""
        return list(self._session.get_providers())

    def tokenize(self, text: str) -> Tokenized:
        """Return a text's token ids, the special ones included."""
        encoding = self._tokenizer.encode(text.lower() if self._lowercase else text)
        return Tokenized(encoding.ids, bool(encoding.overflowing))

    def embed(self, batch: Sequence[list[int]]) -> NDArray[np.float32]:
        """Run the model on token ids, and return (len(batch), d) float32."""
        length = max(len(ids) for ids in batch)
        ids = np.full((len(batch), length), self._pad_id, dtype=np.int64)
        mask = np.zeros((len(batch), length), dtype=np.int64)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        feeds = dict(zip(INPUTS, (ids, mask), strict=True))
        result: NDArray[np.float32] = self._session.run([self._output], feeds)[0]
        return result


def plan_batches(
    lengths: Sequence[int], token_budget: int, max_batch: int | None = None
) -> Iterator[list[int]]:
    """Group texts into batches of similar length, the longest first.

    Args:
        lengths: Tokens of each text.
        token_budget: Most tokens of a batch; a longer text is a batch of its own.
        max_batch: Most texts of a batch; default: no limit.

    Yields:
        Indices into `lengths`.

    Examples:
        >>> list(plan_batches([3, 9, 4, 2], 8))
        [[1], [2, 0], [3]]
    """
    batch: list[int] = []
    used = 0
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and (used + lengths[index] > token_budget or len(batch) == max_batch):
            yield batch
            batch, used = [], 0
        batch.append(index)
        used += lengths[index]
    if batch:
        yield batch


def load_onnxruntime() -> Any:
    """Import onnxruntime without its telemetry; see NOTE [no telemetry]."""
    variable = "ORT_DISABLE_TELEMETRY"
    given = os.environ.get(variable)
    if given is not None:
        import onnxruntime  # noqa: PLC0415

        return onnxruntime
    os.environ[variable] = "1"
    try:
        import onnxruntime  # noqa: PLC0415
    finally:
        os.environ.pop(variable, None)
    # Where the caller had imported it before us, stop what can still be stopped.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def _open_tokenizer(path: str, max_tokens: int) -> Any:
    """Open a tokeniser with our own truncation and padding instead of the file's."""
    import tokenizers  # noqa: PLC0415

    try:
        tokenizer = tokenizers.Tokenizer.from_file(path)
    except Exception as error:
        # The library raises a bare Exception for a broken file.
        raise ModelError(f"{path} can't be read as a tokeniser: {error}") from error
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def _open_session(path: str, threads: int) -> Any:
    """Open an onnxruntime session on the CPU with a fixed number of threads."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The graph is written as it should run; see graph.py.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
