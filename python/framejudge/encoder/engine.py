"""One opened model: its tokeniser and the engine that runs it, and how texts are batched for it.

NOTE [one sentence at a time]: texts are tokenised one by one. The tokeniser's own thread pool
would save 0.1 % of the time and make every later fork print a warning.

"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from framejudge.encoder.graph import OUTPUTS
from framejudge.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from framejudge.encoder.ratings import Choice
    from framejudge.encoder.weights import ExportedModel

__all__ = ["Engine", "Runtime", "Tokenized", "plan_batches"]


class Runtime(Protocol):
    """What runs the exported graph; calls from several threads may overlap."""

    def run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], output: str
    ) -> NDArray[np.float32]:
        """Run the model on (n, length) token ids and their mask, and return (n, d) float32."""
        ...

    def details(self) -> dict[str, object]:
        """Return what `Encoder.info()` tells of this engine."""
        ...


@dataclass(frozen=True, slots=True)
class Tokenized:
    """A text as token ids."""

    ids: list[int]
    truncated: bool
    """The text was longer than the model's limit, and its end is not in `ids`."""


class Engine:
    """A tokeniser and what runs the graph; calls from several threads may overlap.

    Args:
        exported: The verified model.
        choice: Engine, precision and device.
        max_tokens: Longest text, the special tokens included.
        threads: Threads of the model.
        normalize: L2-normalise, whatever the model's own modules do.
        prompt: Put before every text.
    """

    def __init__(
        self,
        exported: ExportedModel,
        choice: Choice,
        *,
        max_tokens: int,
        threads: int,
        normalize: bool,
        prompt: str = "",
    ) -> None:
        architecture = exported.architecture
        self._lowercase = architecture.lowercase
        self._pad_id = architecture.pad_id
        self._output = OUTPUTS[0] if normalize or architecture.normalized else OUTPUTS[1]
        self._tokenizer = _open_tokenizer(str(exported.tokenizer), max_tokens)
        self.choice = choice
        self.prompt = prompt
        self.runtime = _open_runtime(exported, choice, threads)

    def tokenize(self, text: str) -> Tokenized:
        """Return a text's token ids, the prompt's and the special ones included."""
        text = self.prompt + text
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
        return self.runtime.run(ids, mask, self._output)


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


def _open_runtime(exported: ExportedModel, choice: Choice, threads: int) -> Runtime:
    """Open the engine that was chosen; only its own module is imported."""
    if choice.engine == "openvino":
        from framejudge.encoder.runtime_openvino import OpenVino  # noqa: PLC0415

        return OpenVino(exported, choice, threads)
    from framejudge.encoder.runtime_onnx import OnnxRuntime  # noqa: PLC0415

    return OnnxRuntime(exported, choice, threads)
