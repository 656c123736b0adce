# The extension's stub; tests/unit/test_core_stub.py compares it with the extension.

from typing import Literal, TypeAlias, TypedDict, overload

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
