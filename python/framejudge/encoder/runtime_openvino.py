"""The exported graph in OpenVINO, on the CPU; the extra openvino.

NOTE [precision is always said]: where a CPU has bfloat16 instructions OpenVINO computes float32
graphs in bfloat16 unless it is told otherwise. The hint is set for every precision, and the
compiled model is asked afterwards whether it was taken.

NOTE [whole vectors]: the softmax sums a row of attention in vectors of 16 values, and a text of 20
tokens is summed in another order alone than beside one of 40. The last bit that differs grows, over
twelve layers of rounding to int8, to 0.01 of a cosine. With every batch as long as a multiple of
16, the same text gives the same bits in any batch; tokens are packed, so this costs no product.
"""

from __future__ import annotations

import functools
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from framejudge.encoder.export import STANDARD_FILE
from framejudge.encoder.graph import OUTPUTS
from framejudge.encoder.graph_int8 import GROUP
from framejudge.errors import ConfigurationError, MissingExtraError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from framejudge.encoder.ratings import Choice
    from framejudge.encoder.weights import ExportedModel

__all__ = ["OpenVino", "cpu_has_bfloat16", "load_openvino"]

_HINTS = {"fp32": "f32", "bf16": "bf16", "int8": "f32"}
"""Precision of everything but products with int8 weights, which are in int8 under any hint."""
_LANES = 16
"""See NOTE [whole vectors]."""

_SHAPES = 128
"""Shapes whose kernels are kept; every batch has its own, and each costs memory for good."""


class OpenVino:
    """A model compiled by OpenVINO; calls from several threads may overlap.

    Args:
        exported: The verified model; its graph of standard operators is read.
        choice: The precision.
        threads: Threads of the model.

    Raises:
        MissingExtraError: OpenVINO is not installed.
        ConfigurationError: OpenVINO does not run the model as it was chosen.
    """

    def __init__(self, exported: ExportedModel, choice: Choice, threads: int) -> None:
        openvino = load_openvino()
        hint = _HINTS[choice.precision]
        settings = {
            "INFERENCE_PRECISION_HINT": hint,
            "INFERENCE_NUM_THREADS": threads,
            "PERFORMANCE_HINT": "LATENCY",
            "ENABLE_CPU_PINNING": False,
            "CPU_RUNTIME_CACHE_CAPACITY": _SHAPES,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP if choice.precision == "int8" else 0,
        }
        path = exported.path.with_name(STANDARD_FILE)
        self._compiled = openvino.Core().compile_model(str(path), "CPU", settings)
        self.devices = list(self._compiled.get_property("EXECUTION_DEVICES"))
        """Devices that really run the model."""
        taken = self._compiled.get_property("INFERENCE_PRECISION_HINT")
        self.precision = str(taken.get_type_name() if hasattr(taken, "get_type_name") else taken)
        """Precision that was really taken, in OpenVINO's spelling."""
        if self.precision != hint or self.devices != ["CPU"]:
            raise ConfigurationError(
                f"OpenVINO runs {self.precision} on {', '.join(self.devices)} instead of {hint} "
                "on the CPU"
            )
        self._version = str(openvino.__version__)
        self._requests: deque[Any] = deque()

    def run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], output: str
    ) -> NDArray[np.float32]:
        """Run the model on (n, length) token ids and their mask, and return (n, d) float32."""
        # What is written where the mask is 0 is never read.
        pad = ((0, 0), (0, -ids.shape[1] % _LANES))
        ids, mask = np.pad(ids, pad), np.pad(mask, pad)
        try:
            request = self._requests.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
        try:
            request.infer({0: ids, 1: mask})
            tensor = request.get_output_tensor(OUTPUTS.index(output))
            return np.array(tensor.data, dtype=np.float32)
        finally:
            self._requests.append(request)

    def details(self) -> dict[str, object]:
        """Return what `Encoder.info()` tells of this engine."""
        return {
            "providers": self.devices,
            "inference_precision": self.precision,
            "openvino": self._version,
        }


def load_openvino() -> Any:
    """Import OpenVINO.

    Raises:
        MissingExtraError: It is not installed.
    """
    try:
        import openvino  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError("the OpenVINO engine", extra="openvino") from error
    return openvino


@functools.cache
def cpu_has_bfloat16() -> bool:
    """Tell whether OpenVINO finds bfloat16 instructions on this CPU."""
    offered = load_openvino().Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    return "BF16" in offered
