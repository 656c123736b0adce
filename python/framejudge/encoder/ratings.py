"""What can run the model, and what each does to a pair's cosine.

NOTE [what auto may pick]: `RATINGS` is the list of what can run, lowest precision first,
with the largest change of a pair's cosine that was measured against float32 (models/README.md says
on what). `auto` picks the first whose figure is known, at most 0.01, and measured on this very
model; anything else is the caller's decision.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["ENGINES", "MAX_AUTO_DEVIATION", "PRECISIONS", "RATINGS", "Choice", "Rating"]

ENGINES = ("auto", "onnxruntime", "openvino")
PRECISIONS = ("auto", "fp32", "bf16", "fp16", "int8")
MAX_AUTO_DEVIATION = 0.01
"""Largest documented change of a cosine that `auto` accepts."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One way to run the model, and what it does to a pair's cosine."""

    device: str
    """`cpu` or `cuda`."""
    precision: str
    engine: str
    max_deviation: float | None
    """Largest change of a cosine against float32 on the CPU; None: not measured."""


RATINGS = (
    Rating("cuda", "fp16", "onnxruntime", None),
    Rating("cuda", "fp32", "onnxruntime", None),
    Rating("cpu", "int8", "openvino", 0.017),
    Rating("cpu", "bf16", "openvino", 0.0056),
    Rating("cpu", "fp32", "onnxruntime", 2e-6),
    Rating("cpu", "fp32", "openvino", 2e-6),
)
"""See NOTE [what auto may pick]."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs, and why."""

    engine: str
    precision: str
    device: str
    max_deviation: float | None
    """Largest measured change of a pair's cosine against float32; None: not on this model."""
    why: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON can hold them."""
        return asdict(self)
