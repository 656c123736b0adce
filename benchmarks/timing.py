"""What the scripts share: interleaved timing, and the record of a run."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Contenders = Mapping[str, Callable[[], object]]

OURS = "framejudge"
PAUSE_S = 0.15


@dataclass(frozen=True)
class Timing:
    """Times of one contender in seconds."""

    median: float
    best: float
    samples: int


def busy_seconds() -> float:
    """Return the CPU time that this machine has spent on anything but waiting."""
    user, nice, system, _, _, *interrupts = map(
        int, Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:9]
    )
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def wait_until_idle() -> None:
    for _ in range(5):
        before = busy_seconds()
        time.sleep(PAUSE_S)
        if busy_seconds() - before < PAUSE_S / 5:
            return


def interleave(contenders: Contenders, *, rounds: int = 7) -> dict[str, Timing]:
    """Time each contender once a round, so that what disturbs the machine disturbs all.

    The caller has called each once: nothing here is the first call.

    Before each there is a pause until the machine is idle, or five pauses at most: the threads of
    some libraries spin for tens of milliseconds after their work, at the cost of whoever is next.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, call in contenders.items():
            wait_until_idle()
            start = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - start)
    return {
        name: Timing(statistics.median(values), min(values), len(values))
        for name, values in seconds.items()
    }


def repeat(call: Callable[[], object], number: int) -> Callable[[], None]:
    """Call it many times, for what is too short for the clock."""

    def many() -> None:
        for _ in range(number):
            call()

    return many


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the installed version of each distribution."""
    return {name: metadata.version(name) for name in distributions}


def machine() -> dict[str, Any]:
    """Return what a reader needs to know of the machine."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return {
        "cpu": model,
        "cpus": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def write_json(path: Path, record: Mapping[str, Any]) -> None:
    """Write a run's record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
