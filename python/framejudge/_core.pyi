# The extension's stub; tests/unit/test_core_stub.py compares it with the extension.

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict, overload

import numpy as np
from numpy.typing import NDArray

# uint16 holds bfloat16.
_Element: TypeAlias = np.float32 | np.float16 | np.uint16
_Vector: TypeAlias = np.ndarray[tuple[int], np.dtype[_Element]]
# An array whose number of dimensions isn't known to the type checker counts as one of these.
_Matrix: TypeAlias = np.ndarray[tuple[int, int], np.dtype[_Element]]
_Accumulate: TypeAlias = Literal["float32", "float64"]

class _BuildInfo(TypedDict):
    version: str
    compiler: str
    compiler_flags: str
    build_type: str
    cpp_standard: int
    pybind11: str
    isa: str
    isa_supported: list[str]
    jpeg: str
    jpeg_simd: bool
    inflate: str
    webp: str | None
    threads: int
    threads_source: Literal["affinity", "cgroup quota", "FRAMEJUDGE_THREADS", "set_threads"]

__version__: str

def build_info() -> _BuildInfo: ...
def isa_tiers() -> list[str]: ...
def threads() -> int: ...
def set_threads(count: int) -> None: ...
def _set_isa(name: str) -> None: ...
@overload
def paired(
    a: _Matrix, b: _Matrix, *, accumulate: _Accumulate = "float32"
) -> NDArray[np.float32]: ...
@overload
def paired(a: _Vector, b: _Vector, *, accumulate: _Accumulate = "float32") -> float: ...
def matrix(
    a: _Matrix,
    b: _Matrix,
    *,
    accumulate: _Accumulate = "float32",
    out: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]: ...
def top_k(
    a: _Matrix, b: _Matrix, k: int, *, accumulate: _Accumulate = "float32"
) -> tuple[NDArray[np.float32], NDArray[np.int64]]: ...

# Pictures. Encoded ones are anything with a buffer of bytes.
_Encoded: TypeAlias = bytes | bytearray | memoryview | NDArray[np.uint8]
_Pixels: TypeAlias = NDArray[np.uint8]
_Side: TypeAlias = tuple[int, int]
_Filter: TypeAlias = Literal["area", "bilinear", "bicubic", "lanczos"]

class DecodeLimits:
    def __init__(
        self, max_pixels: int, max_bytes: int, max_scans: int, time_budget_s: float
    ) -> None: ...

class DecodePlan:
    def __init__(
        self,
        mode: str,
        orient: bool,
        partial: bool,
        background: tuple[int, int, int],
        size: _Side | None,
        max_side_px: int | None,
        filter: str,  # noqa: A002
        limits: DecodeLimits,
    ) -> None: ...

def probe_bytes(data: _Encoded, limits: DecodeLimits) -> dict[str, Any]: ...

# The pixels, or a pair of them and the report.
def decode_bytes(data: _Encoded, plan: DecodePlan, with_report: bool) -> Any: ...
def decode_many(
    items: list[_Encoded], plan: DecodePlan, with_report: bool, threads: int | None
) -> list[tuple[_Pixels | Exception, dict[str, Any] | None]]: ...
def fit_pixels(array: _Pixels, plan: DecodePlan) -> _Pixels: ...
def find_jpeg_frames(data: _Encoded) -> list[tuple[int, int, bool]]: ...
def pixel_pool() -> dict[str, int]: ...
def clear_pixel_pool() -> None: ...
def encode_jpeg(array: _Pixels, *, quality: int = 90) -> bytes: ...
def encode_png(array: _Pixels, *, level: int = 5) -> bytes: ...
def resize(
    array: _Pixels,
    *,
    size: _Side | None = None,
    max_side_px: int | None = None,
    filter: _Filter = "area",  # noqa: A002
) -> _Pixels: ...

class TensorOptions:
    def __init__(
        self,
        *,
        size: _Side,
        fit: str,
        filter: str,  # noqa: A002
        pad_color: Sequence[int],
        mean: object,
        std: object,
        dtype: str,
        orient: bool,
        partial: bool,
        background: Sequence[int],
        limits: DecodeLimits,
    ) -> None: ...

def to_tensor(
    arrays: object,
    *,
    mean: object,
    std: object,
    dtype: Literal["float32", "float16"] = "float32",
    layout: Literal["NCHW", "NHWC"] = "NCHW",
    out: object = None,
) -> NDArray[Any]: ...
def decode_to_tensor(
    items: list[Any], options: TensorOptions, threads: int | None, out: object
) -> tuple[NDArray[Any], list[tuple[dict[str, Any], Exception | None]]]: ...

hash_version: int

def picture_hash(picture: object, algorithm: str, limits: DecodeLimits) -> tuple[bytes, int]: ...
def hamming(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.uint32]: ...
def find_duplicates(hashes: NDArray[np.uint8], max_distance: int) -> NDArray[np.int64]: ...
def sha256(arg0: object) -> bytes: ...
def xxh3_128(arg0: object) -> bytes: ...
def yuv_formats() -> tuple[str, ...]: ...
def yuv_to_array(
    planes: Sequence[object],
    strides: Sequence[int],
    *,
    frame_size: _Side,
    format: str,  # noqa: A002
    matrix: str,
    full_range: bool,
    rotation: int = 0,
    mode: str = "rgb",
    size: _Side | None = None,
    filter: str = "area",  # noqa: A002
) -> _Pixels: ...
