"""Is there a CUDA device, and can onnxruntime use it? Asked without a line on stderr.

NOTE [quiet probe]: onnxruntime lists its CUDA provider whether or not a device or CUDA is there,
logs the failure to load it as an error, and goes on with the CPU. So the driver is asked for its
devices first, then the provider's library is loaded by hand: what is missing comes back as text.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from pathlib import Path

__all__ = ["device_count", "preload", "problem"]

_PROVIDER = "CUDAExecutionProvider"


@functools.cache
def device_count() -> int:
    """Return the number of CUDA devices the driver offers; 0 where there is no driver."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    return count.value


@functools.cache
def problem() -> str | None:
    """Say why onnxruntime can't use a CUDA device here, or None; see NOTE [quiet probe]."""
    from framejudge.encoder.runtime_onnx import load_onnxruntime  # noqa: PLC0415

    if not device_count():
        return "the driver offers no CUDA device"
    onnxruntime = load_onnxruntime()
    if _PROVIDER not in onnxruntime.get_available_providers():
        return f"onnxruntime {onnxruntime.__version__} was built without {_PROVIDER}"
    preload()
    folder = Path(onnxruntime.__file__).parent / "capi"
    try:
        for name in ("shared", "cuda"):
            library = folder / f"libonnxruntime_providers_{name}.so"
            if library.is_file():
                ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        return f"{error}; CUDA and cuDNN come with: python3 -m pip install 'framejudge[gpu]'"
    return None


def preload() -> None:
    """Load the CUDA and cuDNN libraries of the extra gpu, where they are installed."""
    from framejudge.encoder.runtime_onnx import load_onnxruntime  # noqa: PLC0415

    onnxruntime = load_onnxruntime()
    if hasattr(onnxruntime, "preload_dlls"):
        import contextlib  # noqa: PLC0415
        import io  # noqa: PLC0415

        # It prints what it doesn't find; `problem` says it.
        with contextlib.redirect_stdout(io.StringIO()):
            onnxruntime.preload_dlls()
