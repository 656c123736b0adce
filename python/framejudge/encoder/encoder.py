"""Texts to embeddings: de-duplicated, cached, batched by tokens, in the caller's order."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from framejudge._core import build_info
from framejudge.encoder.cache import EmbeddingCache
from framejudge.encoder.choice import check_options, choose
from framejudge.encoder.manifest import DEFAULT_MODEL, KNOWN_MODELS
from framejudge.encoder.ratings import Choice
from framejudge.errors import ConfigurationError, InputError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from framejudge.encoder.architecture import Architecture
    from framejudge.encoder.engine import Engine
    from framejudge.encoder.weights import ExportedModel

__all__ = ["DEFAULT_TOKEN_BUDGET", "Embedder", "EncodeResult", "Encoder"]

DEFAULT_TOKEN_BUDGET = 384
"""Tokens of a batch; measured in benchmarks/README.md."""

_log = logging.getLogger("framejudge.encoder")


class Embedder(Protocol):
    """Anything that turns texts into vectors; a sentence-transformers model is one."""

    def encode(self, sentences: list[str], /) -> Any:
        """Return an (n, d) array, one row per sentence."""
        ...


@dataclass(frozen=True, slots=True)
class EncodeResult:
    """Embeddings, and what happened on the way to them."""

    embeddings: NDArray[np.float32]
    """(n, d) float32, in the order of the texts."""
    truncated: NDArray[np.bool_]
    """(n,) True where a text was longer than the limit and its end was not seen."""
    n_distinct: int
    """Different texts among the n."""
    n_cached: int
    """Distinct texts that came from the cache."""
    n_tokens: int
    """Tokens that went through the model."""
    choice: Choice
    """Engine, precision and device of the embeddings, and why these."""


class Encoder:
    """Sentence embeddings by a local model; by default on the CPU, in float32, by onnxruntime.

    Nothing is opened or fetched until it is first used. One encoder serves any number of threads;
    after a fork the child opens the model again for itself. Pickling keeps the settings only.

    Args:
        model: A known name (`all-mpnet-base-v2`), fetched once when it is in no cache, or a local
            sentence-transformers folder of the MPNet or BERT family.
        max_tokens: Cut texts after this many tokens, the two special ones included; default: the
            model's own limit (384 for all-mpnet-base-v2).
        engine: `auto`, `onnxruntime` or `openvino` (the extra openvino); `auto` takes the one that
            has the precision.
        precision: `fp32`, `bf16`, `fp16`, `int8` or `auto`: the fastest one whose documented
            change of a cosine is at most 0.01 for this model. The default gives every machine the
            same scores.
        device: `cpu`, `cuda`, `cuda:N` or `auto`: the first CUDA device that can be used, else the
            CPU.
        prompt: Name of one of the model's own prompts (`query`, `passage`, ...), put before every
            text; default: the one its configuration names as the default, if any; empty for none.
        token_budget: Most tokens of a batch.
        max_batch: Most texts of a batch; default: only the budget counts.
        threads: Threads of the model; default: `framejudge.build_info()["threads"]`, which follows
            CPU affinity and the cgroup's quota.
        normalize: L2-normalise every embedding. False leaves them as the model makes them, and
            all-mpnet-base-v2 normalises its own.
        cache: Keeps embeddings by text; default: a new `EmbeddingCache()`; an `EmbeddingFile`
            keeps them between runs; None keeps nothing.

    Raises:
        InputError: An argument is out of range.
        ConfigurationError: An engine, precision or device is unknown. Those that can't be had are
            errors of the first use.

    Examples:
        >>> encoder = Encoder(max_tokens=128)
        >>> encoder
        Encoder('all-mpnet-base-v2', max_tokens=128)
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        engine: str = "auto",
        precision: str = "fp32",
        device: str = "cpu",
        max_tokens: int | None = None,
        prompt: str | None = None,
        token_budget: int = DEFAULT_TOKEN_BUDGET,
        max_batch: int | None = None,
        threads: int | None = None,
        normalize: bool = True,
        cache: EmbeddingCache | EllipsisType | None = ...,
    ) -> None:
        if not isinstance(model, (str, os.PathLike)) or not os.fspath(model):
            raise InputError(f"model must be a name or a folder, got {model!r}")
        check_options(engine, precision, device)
        _require_positive("max_tokens", max_tokens, least=3)
        _require_positive("token_budget", token_budget)
        _require_positive("max_batch", max_batch)
        _require_positive("threads", threads)
        if cache is not None and cache is not ... and not isinstance(cache, EmbeddingCache):
            raise InputError(f"cache must be an EmbeddingCache or None, got {cache!r}")
        self._model = model
        self._asked = (engine, precision, device)
        self._max_tokens = max_tokens
        self._prompt = prompt
        self._token_budget = int(token_budget)
        self._max_batch = max_batch
        self._threads = threads
        self._normalize = bool(normalize)
        self._cache = EmbeddingCache() if cache is ... else cache
        self._opened: _Opened | None = None
        self._lock = threading.Lock()
        _live.add(self)

    def __repr__(self) -> str:
        limit = "" if self._max_tokens is None else f", max_tokens={self._max_tokens}"
        return f"{type(self).__name__}({os.fspath(self._model)!r}{limit})"

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_opened"], state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._opened = None
        self._lock = threading.Lock()
        _live.add(self)

    @property
    def dimension(self) -> int:
        """Length of an embedding; opens the model."""
        return self._open().exported.architecture.hidden

    @property
    def cache(self) -> EmbeddingCache | None:
        """The cache, or None."""
        return self._cache

    def encode(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Embed texts.

        Texts longer than the limit are cut, and a warning with their number is logged; which
        ones they were is in `encode_result`.

        Args:
            texts: Any number of strings; repeated ones are embedded once.
            progress: Called with (texts done, texts in all) after each batch.

        Returns:
            (n, d) float32, rows in the order of `texts`.

        Raises:
            InputError: `texts` is a string, or an item is not one or can't be encoded as UTF-8.
            ModelError: The model can't be found, fetched, trusted or exported.
        """
        return self.encode_result(texts, progress=progress).embeddings

    def encode_result(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> EncodeResult:
        """Embed texts as `encode` does, and tell what was cut, repeated and cached."""
        distinct, index_of = _distinct(texts)
        opened = self._open()
        vectors = np.empty((len(distinct), opened.exported.architecture.hidden), np.float32)
        cut = np.zeros(len(distinct), np.bool_)
        keys = [opened.key(text) for text in distinct] if self._cache is not None else []
        missing = list(range(len(distinct)))
        if self._cache is not None:
            found = self._cache.get_many(keys)
            missing = [place for place in missing if found[place] is None]
            for place, vector in enumerate(found):
                if vector is not None:
                    vectors[place], cut[place] = vector[:-1], vector[-1]
        report = _Progress(progress, len(texts), index_of, set(missing))
        n_tokens = self._embed(opened.engine, distinct, missing, (vectors, cut), report)
        if self._cache is not None and missing:
            flagged = np.concatenate([vectors[missing], cut[missing, None]], axis=1)
            self._cache.put_many([keys[place] for place in missing], flagged.astype(np.float32))
        result = EncodeResult(
            embeddings=vectors[index_of],
            truncated=cut[index_of],
            n_distinct=len(distinct),
            n_cached=len(distinct) - len(missing),
            n_tokens=n_tokens,
            choice=opened.engine.choice,
        )
        if count := int(result.truncated.sum()):
            _log.warning(
                "%d of %d texts are longer than %d tokens, and only their beginning was embedded",
                count,
                len(texts),
                opened.max_tokens,
            )
        return result

    def warm_up(self) -> None:
        """Find, fetch and open the model now, and run it once, so that the first call is quick."""
        engine = self._open().engine
        engine.embed([engine.tokenize("").ids])

    def info(self) -> dict[str, object]:
        """Tell exactly which model runs, and how; opens the model."""
        import tokenizers  # noqa: PLC0415

        from framejudge.encoder.runtime_onnx import load_onnxruntime  # noqa: PLC0415

        opened = self._open()
        exported = opened.exported
        return {
            "model": exported.files.name,
            "source": exported.files.source,
            "revision": exported.files.revision,
            "weights_sha256": exported.files.hashes["model.safetensors"],
            "onnx_sha256": exported.hashes[exported.path.name],
            "onnx_format": opened.export_format,
            "architecture": exported.architecture.as_dict(),
            **opened.engine.choice.as_dict(),
            **opened.engine.runtime.details(),
            "threads": opened.threads,
            "max_tokens": opened.max_tokens,
            "token_budget": self._token_budget,
            "normalize": self._normalize or exported.architecture.normalized,
            "prompt": opened.engine.prompt,
            "onnxruntime": load_onnxruntime().__version__,
            "tokenizers": tokenizers.__version__,
        }

    def _open(self) -> _Opened:
        """Open the model when this process hasn't yet."""
        opened = self._opened
        if opened is None:
            with self._lock:
                opened = self._opened
                if opened is None:
                    opened = self._opened = self._open_now()
        return opened

    def _open_now(self) -> _Opened:
        from framejudge.encoder import export, weights  # noqa: PLC0415
        from framejudge.encoder.engine import Engine  # noqa: PLC0415

        files = weights.find_model(self._model)
        measured = KNOWN_MODELS[DEFAULT_MODEL].files["model.safetensors"]
        choice = choose(*self._asked, rated=files.hashes["model.safetensors"] == measured)
        # bfloat16 is made of float32 by the engine.
        stored = "fp32" if choice.precision == "bf16" else choice.precision
        exported = weights.export_model(files, precision=stored)
        limit = exported.architecture.max_tokens
        if self._max_tokens is not None and self._max_tokens > limit:
            raise InputError(f"max_tokens {self._max_tokens} is beyond the model's {limit}")
        max_tokens = self._max_tokens or limit
        threads = self._threads or _default_threads()
        engine = Engine(
            exported,
            choice,
            max_tokens=max_tokens,
            threads=threads,
            normalize=self._normalize,
            prompt=_prompt(exported.architecture, self._prompt),
        )
        identity = json.dumps(
            [sorted(exported.hashes.items()), exported.files.hashes["tokenizer.json"],
             choice.engine, choice.precision, choice.device, max_tokens, self._normalize,
             engine.prompt]
        )  # fmt: skip
        seed = hashlib.blake2b(identity.encode(), digest_size=16).digest()
        return _Opened(exported, engine, max_tokens, threads, export.EXPORTER_VERSION, seed)

    def _embed(
        self,
        engine: Engine,
        texts: list[str],
        places: list[int],
        into: tuple[NDArray[np.float32], NDArray[np.bool_]],
        report: _Progress,
    ) -> int:
        """Embed `texts[place]` into row `place` for each of `places`; return tokens used."""
        from framejudge.encoder.engine import plan_batches  # noqa: PLC0415

        vectors, cut = into
        tokenized = [engine.tokenize(texts[place]) for place in places]
        lengths = [len(item.ids) for item in tokenized]
        for batch in plan_batches(lengths, self._token_budget, self._max_batch):
            rows = [places[index] for index in batch]
            vectors[rows] = engine.embed([tokenized[index].ids for index in batch])
            cut[rows] = [tokenized[index].truncated for index in batch]
            report.done(rows)
        return sum(lengths)


@dataclass(frozen=True, slots=True)
class _Opened:
    """What an encoder holds once its model is open."""

    exported: ExportedModel
    engine: Engine
    max_tokens: int
    threads: int
    export_format: int
    seed: bytes

    def key(self, text: str) -> bytes:
        """Return a text's cache key under this model and these settings."""
        return hashlib.blake2b(text.encode(), digest_size=16, key=self.seed).digest()


class _Progress:
    """Counts finished texts, repeats and cached ones included."""

    def __init__(
        self,
        callback: Callable[[int, int], None] | None,
        total: int,
        index_of: NDArray[np.intp],
        missing: set[int],
    ) -> None:
        self._callback = callback
        self._total = total
        self._weights = np.bincount(index_of) if len(index_of) else np.zeros(0, np.intp)
        self._done = sum(int(n) for i, n in enumerate(self._weights) if i not in missing)
        if callback is not None and (self._done or not total):
            callback(self._done, total)

    def done(self, rows: list[int]) -> None:
        """Count the texts of a batch."""
        self._done += int(self._weights[rows].sum())
        if self._callback is not None:
            self._callback(self._done, self._total)


def _distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the distinct texts in order of appearance, and each text's place among them."""
    if isinstance(texts, (str, bytes)):
        raise InputError(
            f"texts must be a sequence of strings, got one {type(texts).__name__}: "
            f"pass [text] to embed one"
        )
    places: dict[str, int] = {}
    index_of = np.empty(len(texts), np.intp)
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts[{index}] must be a string, got {type(text).__name__}")
        index_of[index] = places.setdefault(text, len(places))
    for text, place in places.items():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            index = int(np.argmax(index_of == place))
            raise InputError(
                f"texts[{index}] is not valid Unicode (a lone surrogate at character "
                f"{error.start}): {text[:80]!r}"
            ) from None
    return list(places), index_of


def _require_positive(name: str, value: object, *, least: int = 1) -> None:
    """Refuse what is not None or an integer of at least `least`."""
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")


def _prompt(architecture: Architecture, name: str | None) -> str:
    """Return the text of a model's prompt."""
    taken = architecture.default_prompt if name is None else name
    if not taken:
        return ""
    if taken not in architecture.prompts:
        raise ConfigurationError(
            f"prompt must be one of the model's own, "
            f"{', '.join(architecture.prompts) or 'of which it has none'}; got {taken!r}"
        )
    text = architecture.prompts[taken]
    if text and not architecture.pools_prompt:
        raise ModelError(
            f"the model leaves its prompt {taken!r} out of pooling (include_prompt is false), "
            "which is not supported; prompt='' runs it without"
        )
    return text


def _default_threads() -> int:
    """Return the pool's thread count: CPU affinity and cgroup quota."""
    return int(build_info()["threads"])


_live: weakref.WeakSet[Encoder] = weakref.WeakSet()


def _after_fork() -> None:
    """In the child, forget open models and locks that another thread may have held."""
    for encoder in list(_live):
        if encoder._opened is not None:  # noqa: SLF001  (this module's own class)
            _abandon(encoder._opened)  # noqa: SLF001
        encoder._opened = None  # noqa: SLF001
        encoder._lock = threading.Lock()  # noqa: SLF001
        if encoder._cache is not None:  # noqa: SLF001
            encoder._cache.renew_lock()  # noqa: SLF001


def _abandon(opened: _Opened) -> None:
    """Keep a session alive for ever, beyond the interpreter's own end."""
    import ctypes  # noqa: PLC0415

    ctypes.pythonapi.Py_IncRef(ctypes.py_object(opened))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
