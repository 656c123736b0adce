"""The exported graph in onnxruntime, on the CPU or a CUDA device.

NOTE [no telemetry]: from 1.29 on, onnxruntime starts a thread at import that reports to its maker.
It is switched off, because texts' whereabouts are nobody's business, and because a forked child
would hang on that thread when it ends. `ORT_DISABLE_TELEMETRY=0` keeps onnxruntime's own way.

NOTE [no silent fallback]: when a provider can't be loaded, onnxruntime logs it and goes on with the
CPU. The session is asked which providers it has, and another answer than the choice is an error.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from framejudge.encoder.graph import INPUTS
from framejudge.errors import ConfigurationError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from framejudge.encoder.ratings import Choice
    from framejudge.encoder.weights import ExportedModel

__all__ = ["OnnxRuntime", "load_onnxruntime"]

_QUIET = 4
"""onnxruntime's log level for fatal errors alone; what went wrong is said by an exception."""


class OnnxRuntime:
    """An onnxruntime session; calls from several threads may overlap.

    Args:
        exported: The verified model.
        choice: Precision and device.
        threads: Threads of the session on the CPU.

    Raises:
        ConfigurationError: The session does not run on the device that was chosen.
    """

    def __init__(self, exported: ExportedModel, choice: Choice, threads: int) -> None:
        onnxruntime = load_onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # The graph is written as it should run; see graph.py.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        providers = _providers(choice)
        if choice.device != "cpu":
            options.log_severity_level = _QUIET
        self._session = onnxruntime.InferenceSession(
            str(exported.path), options, providers=providers
        )
        wanted = providers[0][0]
        self.providers = list(self._session.get_providers())
        """Execution providers that are really in the session."""
        if self.providers[0] != wanted:
            raise ConfigurationError(
                f"onnxruntime runs on {', '.join(self.providers)} instead of {wanted}: see "
                f"framejudge.encoder.cuda.problem(), or choose device='cpu'"
            )

    def run(
        self, ids: NDArray[np.int64], mask: NDArray[np.int64], output: str
    ) -> NDArray[np.float32]:
        """Run the model on (n, length) token ids and their mask, and return (n, d) float32."""
        feeds = dict(zip(INPUTS, (ids, mask), strict=True))
        result: NDArray[np.float32] = self._session.run([output], feeds)[0]
        return result

    def details(self) -> dict[str, object]:
        """Return what `Encoder.info()` tells of this engine."""
        return {"providers": self.providers}


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


def _providers(choice: Choice) -> list[tuple[str, dict[str, Any]]]:
    """Return onnxruntime's name and options for a device; the CPU takes what is left."""
    cpu: tuple[str, dict[str, Any]] = ("CPUExecutionProvider", {})
    if choice.device == "cpu":
        return [cpu]
    # TF32 would round float32 products to ten bits.
    options = {"device_id": choice.device.removeprefix("cuda:"), "use_tf32": "0"}
    return [("CUDAExecutionProvider", options), cpu]
