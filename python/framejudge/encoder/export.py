"""From a model folder to an ONNX file for onnxruntime, without torch.

NOTE [external data]: the weights lie beside the graph in one page-aligned file that onnxruntime
maps instead of reading, so that a start touches only what it needs: a few rows of the 94 MB word
table, and each matrix once.
"""

from __future__ import annotations

import importlib
import json
import mmap
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from framejudge.encoder.graph import GraphBuilder
from framejudge.encoder.graph_half import HalfGraphBuilder
from framejudge.encoder.graph_int8 import Int8GraphBuilder
from framejudge.encoder.graph_standard import StandardGraphBuilder
from framejudge.errors import MissingExtraError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from framejudge.encoder.architecture import Architecture

__all__ = [
    "DATA_FILE",
    "EXPORTER_VERSION",
    "GRAPH_FILE",
    "STANDARD_FILE",
    "export_files",
    "export_onnx",
    "graph_files",
]

EXPORTER_VERSION = 3
"""Part of the cache key; raised whenever the graph or the layout of its data changes."""

GRAPH_FILE = "model.onnx"
STANDARD_FILE = "model.standard.onnx"
DATA_FILE = "model.onnx.data"

_BUILDERS: dict[str, list[tuple[type[GraphBuilder], str]]] = {
    "fp32": [(GraphBuilder, GRAPH_FILE), (StandardGraphBuilder, STANDARD_FILE)],
    "fp16": [(HalfGraphBuilder, GRAPH_FILE)],
    "int8": [(Int8GraphBuilder, STANDARD_FILE)],
}
"""Precision to the graphs that are written for it; those of one precision share their weights."""

_INLINE_BYTES = 1024
_PAGE_BYTES = mmap.ALLOCATIONGRANULARITY


def graph_files(precision: str) -> list[str]:
    """Return the names of the graphs of one precision, the first engine's first."""
    return [name for _, name in _BUILDERS[precision]]


def export_files(precision: str) -> list[str]:
    """Return the names of the files that an export of one precision consists of."""
    return [*graph_files(precision), DATA_FILE]


def export_onnx(
    folder: Path,
    destination: Path,
    architecture: Architecture,
    *,
    precision: str = "fp32",
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Write the graphs and `model.onnx.data` for a model folder; see NOTE [two dialects].

    Args:
        folder: Holds `model.safetensors`.
        destination: Existing folder; the caller makes the whole atomic.
        architecture: What `read_architecture(folder)` returned.
        precision: `fp32` (onnxruntime's graph and the standard one), `fp16` (onnxruntime's) or
            `int8` (the standard one).
        progress: Called with (weights written, weights in all).

    Raises:
        MissingExtraError: onnx or safetensors is not installed.
        ModelError: The weights don't fit the configuration.
    """
    for module in ("onnx", "safetensors"):
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise MissingExtraError("exporting a model to ONNX", extra="mpnet") from error
    source = folder / "model.safetensors"
    properties = {"framejudge": json.dumps(architecture.as_dict()), "exporter": EXPORTER_VERSION}
    with _Weights(source, architecture) as weights, (destination / DATA_FILE).open("wb") as data:
        store = _Store(data, progress, len(weights.names))
        for builder, name in _BUILDERS[precision]:
            model = builder(architecture, store.add, weights.load).build(folder.name)
            model.graph.initializer.extend(store.taken())
            for key, value in properties.items():
                model.metadata_props.add(key=key, value=str(value))
            (destination / name).write_bytes(model.SerializeToString())


class _Weights:
    """The float32 weights of a safetensors file by their names without the family's prefix."""

    def __init__(self, path: Path, architecture: Architecture) -> None:
        self._path = path
        self._family = architecture.family
        self._shapes = _shapes(architecture)

    def __enter__(self) -> Self:
        import safetensors  # noqa: PLC0415

        try:
            safe_open: Any = safetensors.safe_open
            self._file = safe_open(self._path, framework="numpy")
            self._open = self._file.__enter__()
        except (OSError, safetensors.SafetensorError) as error:
            raise ModelError(f"{self._path} can't be read as safetensors: {error}") from error
        names = set(self._open.keys())
        prefix = f"{self._family}."
        self.names = {name.removeprefix(prefix): name for name in names}
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.__exit__(*exception)

    def load(self, name: str) -> NDArray[np.float32]:
        """Return one weight as float32, checked for its shape."""
        if name not in self.names:
            raise ModelError(f"{self._path}: weight {name!r} is missing for a {self._family} model")
        try:
            array = self._open.get_tensor(self.names[name])
        except (TypeError, ValueError) as error:
            raise ModelError(f"{self._path}: weight {name!r} can't be read: {error}") from error
        expected = self._shapes(name)
        if expected is not None and array.shape != expected:
            raise ModelError(
                f"{self._path}: weight {name!r} has shape {array.shape}, config.json says "
                f"{expected}"
            )
        return np.asarray(array, dtype=np.float32)


def _shapes(arch: Architecture) -> Callable[[str], tuple[int, ...] | None]:
    """Return a function that gives the shape a weight must have; None where it is free."""
    square = (arch.hidden, arch.hidden)

    def shape(name: str) -> tuple[int, ...] | None:
        if name == "embeddings.position_embeddings.weight":
            return (arch.positions, arch.hidden)
        if name == "encoder.relative_attention_bias.weight":
            return (arch.buckets, arch.heads)
        if name.endswith("embeddings.weight"):
            return None
        if name.endswith("bias") or "LayerNorm" in name:
            return (arch.intermediate if ".intermediate." in name else arch.hidden,)
        if ".attention." in name:
            return square
        wide = (arch.intermediate, arch.hidden)
        return wide if ".intermediate." in name else wide[::-1]

    return shape


class _Store:
    """Collects initializers: small ones inside the graph, the rest in the data file, once each."""

    def __init__(
        self, stream: Any, progress: Callable[[int, int], None] | None, total: int
    ) -> None:
        self._stream = stream
        self._progress = progress
        self._total = total
        self._kept: dict[str, Any] = {}
        self._taken: dict[str, Any] = {}

    def add(self, name: str, array: NDArray[Any]) -> str:
        """Store an array for the graph at hand and return its name."""
        if name not in self._kept:
            self._kept[name] = self._write(name, np.asarray(array, order="C"))
            if self._progress is not None:
                self._progress(min(len(self._kept), self._total), self._total)
        self._taken[name] = self._kept[name]
        return name

    def taken(self) -> list[Any]:
        """Return what was asked for since the last call: one graph's initializers."""
        taken = list(self._taken.values())
        self._taken = {}
        return taken

    def _write(self, name: str, array: NDArray[Any]) -> Any:
        """Return an initializer, inline or in the data file."""
        from onnx import TensorProto, helper, numpy_helper  # noqa: PLC0415

        if array.nbytes < _INLINE_BYTES:
            return numpy_helper.from_array(array, name)
        gap = -self._stream.tell() % _PAGE_BYTES
        self._stream.write(bytes(gap))
        offset = self._stream.tell()
        self._stream.write(array.data.cast("B"))
        tensor = TensorProto(
            name=name,
            dims=array.shape,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            data_location=TensorProto.EXTERNAL,
        )
        entries = {"location": DATA_FILE, "offset": offset, "length": array.nbytes}
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=str(value))
        return tensor
