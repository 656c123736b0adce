"""Which engine, precision and device run the model, and why."""

from __future__ import annotations

import importlib.util
import logging
import re

from framejudge.encoder import cuda
from framejudge.encoder.ratings import (
    ENGINES,
    MAX_AUTO_DEVIATION,
    PRECISIONS,
    RATINGS,
    Choice,
    Rating,
)
from framejudge.errors import ConfigurationError, MissingExtraError

__all__ = ["check_options", "choose"]

_log = logging.getLogger("framejudge.encoder.choice")


def check_options(engine: str, precision: str, device: str) -> None:
    """Refuse what is no engine, precision or device at all.

    Raises:
        ConfigurationError: One of them is unknown; the message lists what is accepted.
    """
    for name, value, accepted in (
        ("engine", engine, ENGINES),
        ("precision", precision, PRECISIONS),
    ):
        if value not in accepted:
            raise ConfigurationError(f"{name} must be one of {', '.join(accepted)}; got {value!r}")
    if not isinstance(device, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", device):
        raise ConfigurationError(f"device must be auto, cpu, cuda or cuda:N; got {device!r}")


def choose(engine: str, precision: str, device: str, *, rated: bool = True) -> Choice:
    """Settle what `auto` leaves open.

    Args:
        engine: One of `ENGINES`.
        precision: One of `PRECISIONS`.
        device: `auto`, `cpu`, `cuda` or `cuda:N`.
        rated: The figures in `RATINGS` were measured on this model.

    Raises:
        ConfigurationError: Nothing runs that combination here; the message lists what does.
        MissingExtraError: The engine asked for is not installed.

    Examples:
        >>> choose("auto", "fp32", "cpu").engine
        'onnxruntime'
    """
    check_options(engine, precision, device)
    place, reasons = _device(device)
    fitting = [
        rating
        for rating in RATINGS
        if place.startswith(rating.device)
        and engine in ("auto", rating.engine)
        and precision in ("auto", rating.precision)
    ]
    if not fitting:
        raise ConfigurationError(_nothing_runs(engine, precision, place))
    if precision != "auto":
        rating = fitting[0]
        _require(rating)
        if engine == "auto":
            reasons.append(f"{rating.engine} is the engine for {precision} on the {rating.device}")
        return _choice(rating, place, reasons, rated=rated)
    for rating in fitting:
        refusal = _refusal(rating, rated=rated)
        if refusal is None or rating.precision == "fp32":
            _require(rating)
            reasons.append(f"{rating.precision} is the fastest of what is left")
            return _choice(rating, place, reasons, rated=rated)
        reasons.append(f"not {rating.precision} on {rating.engine}: {refusal}")
    raise ConfigurationError(_nothing_runs(engine, precision, place))


def _choice(rating: Rating, place: str, reasons: list[str], *, rated: bool) -> Choice:
    why = "; ".join(reasons) or "as asked for"
    deviation = rating.max_deviation if rated else None
    return Choice(rating.engine, rating.precision, place, deviation, why)


def _device(device: str) -> tuple[str, list[str]]:
    """Return `cpu` or `cuda:N`, and what was found out on the way."""
    if device == "cpu":
        return device, []
    if device != "auto":
        problem = cuda.problem()
        if problem is not None:
            raise ConfigurationError(f"device {device!r} can't be used: {problem}")
        return (f"{device}:0" if device == "cuda" else device), []
    count = cuda.device_count()
    if not count:
        return "cpu", ["there is no CUDA device"]
    problem = cuda.problem()
    if problem is not None:
        _log.warning("there is a CUDA device, and the CPU is used instead: %s", problem)
        return "cpu", [f"the CUDA device can't be used: {problem}"]
    return "cuda:0", [f"the first of {count} CUDA devices"]


def _refusal(rating: Rating, *, rated: bool) -> str | None:
    """Say why `auto` does not pick a way to run, or None."""
    if rating.max_deviation is None:
        return "how far it moves a cosine was not measured"
    if rating.max_deviation > MAX_AUTO_DEVIATION:
        return f"it moves a cosine by up to {rating.max_deviation:g}"
    if not rated:
        return "how far it moves a cosine was measured on another model"
    return _unavailable(rating)


def _unavailable(rating: Rating) -> str | None:
    """Say what a way to run lacks on this machine, or None."""
    if rating.engine != "openvino":
        return None
    if importlib.util.find_spec("openvino") is None:
        return "OpenVINO is not installed (the extra openvino)"
    if rating.precision == "bf16":
        from framejudge.encoder.runtime_openvino import cpu_has_bfloat16  # noqa: PLC0415

        if not cpu_has_bfloat16():
            return "this CPU has no bfloat16 instructions"
    return None


def _require(rating: Rating) -> None:
    """Refuse a way to run that this machine does not have."""
    reason = _unavailable(rating)
    if reason is None:
        return
    if importlib.util.find_spec(rating.engine) is None:
        raise MissingExtraError(f"{rating.precision} on {rating.engine}", extra=rating.engine)
    raise ConfigurationError(f"{rating.precision} on {rating.engine} can't be used: {reason}")


def _nothing_runs(engine: str, precision: str, place: str) -> str:
    """List what does run on a device."""
    here = [r for r in RATINGS if place.startswith(r.device)]
    accepted = ", ".join(f"{r.precision} on {r.engine}" for r in here)
    return (
        f"engine={engine!r} and precision={precision!r} do not go together on {place}; "
        f"accepted there: {accepted}"
    )
