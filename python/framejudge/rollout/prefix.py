"""`loop`: every rollout under a folder, and the gate on their mean."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from framejudge._files import place, write_atomically
from framejudge.errors import (
    ConfigurationError,
    DataError,
    FramejudgeError,
    IncompleteLoopError,
    JudgeReplyError,
)
from framejudge.frames.rollout import natural_key
from framejudge.judge import JudgeClient
from framejudge.metrics.stats import rounded_share, wilson_interval
from framejudge.rollout.evaluate import RESULT_FILE, Evaluator
from framejudge.rollout.options import RolloutOptions
from framejudge.schemas import LoopReport, LoopRow, RolloutResult
from framejudge.schemas.limitations import limits
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import artifact_json

__all__ = ["REPORT_FILE", "loop", "loop_async", "report_path", "rollouts_under"]

logger = logging.getLogger("framejudge.rollout")

REPORT_FILE = "task_success_report.json"

_LIMITATIONS = ("mean_is_no_rate", "loop_sampled_frames", "scores_no_proof")
_NOT_STARTED = "not started: an earlier verdict was rejected"
_SPENT = "not started: max_cost is reached"

Progress = Callable[[int, int], None]


def report_path(output_path: str) -> Path:
    """Return where the report goes: a .json path as it is, else the usual name in that folder."""
    path = place(output_path)
    return path if path.suffix == ".json" else path / REPORT_FILE


def loop(input_path: str, output_path: str, **options: Any) -> LoopReport:
    """Judge every folder under one as a rollout; write each result, then the report.

    Args:
        input_path: a folder of rollouts; one without folders in it is a single rollout.
        output_path: a folder for the report and `rollouts/<id>/vlm_eval.json`, or the report's
            path, ending in .json.
        **options: the fields of `RolloutOptions`, and
            concurrency: rollouts at once. Default 1.
            resume: reuse finished results of the very same request. Default False.
            overwrite: replace an earlier report. Default False.
            allow_unscored: write a report, marked incomplete, where some have no score.
            min_pass_rate: a second gate, on the share of rollouts that pass alone; None for none.
            progress: called with how many rollouts are done, and of how many.

    Returns:
        The report. `task_success` is `mean_score >= success_threshold`, where all were scored.

    Raises:
        ConfigurationError: an option that can't work, or an earlier report in the way.
        IncompleteLoopError: some rollouts have no score; what was scored is kept, and no report
            is written. At the first rejected verdict no new call starts.

    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         (pathlib.Path(folder) / "in" / name).mkdir(parents=True)
    ...     report = loop(f"{folder}/in", f"{folder}/out", backend="stub", task="place the cube")
    >>> report.total_rollouts, report.status
    (2, 'completed')
    """
    return asyncio.run(loop_async(input_path, output_path, **options))


async def loop_async(
    input_path: str,
    output_path: str,
    *,
    concurrency: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    allow_unscored: bool = False,
    min_pass_rate: float | None = None,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    **options: Any,
) -> LoopReport:
    """Do what `loop` does, in a running event loop."""
    start = time.monotonic()
    settled = RolloutOptions.of(input_path, output_path, options)
    if isinstance(concurrency, bool) or concurrency < 1:
        raise ConfigurationError(f"concurrency must be at least 1, got {concurrency!r}")
    if min_pass_rate is not None and not 0 <= min_pass_rate <= 1:
        raise ConfigurationError(f"min_pass_rate must be from 0 to 1, got {min_pass_rate}")
    evaluator = await asyncio.to_thread(Evaluator.of, settled, resume=resume)
    report_file = report_path(settled.output_path)
    if not (resume or overwrite) and await asyncio.to_thread(report_file.exists):
        raise ConfigurationError(
            f"{report_file}: exists; choose another output, or resume or overwrite it"
        )
    settled.check_output(report_file)
    rollouts = await asyncio.to_thread(
        rollouts_under, place(settled.input_path), without=report_file.parent
    )
    if warn is not None:
        evaluator.warn = warn
    results = report_file.parent / "rollouts"
    done = _Done(progress=progress, total=len(rollouts))
    if evaluator.settings.backend == "stub":
        await _judge_all(evaluator, rollouts, results, concurrency, done)
    else:
        async with JudgeClient(evaluator.settings, concurrency=concurrency) as client:
            await client.check()
            evaluator.client = client
            await _judge_all(evaluator, rollouts, results, concurrency, done)
    unscored = {name: done.reasons[name] for name in rollouts if name in done.reasons}
    if unscored and not allow_unscored:
        first, why = next(iter(unscored.items()))
        counted = Counter(reason == _NOT_STARTED for reason in unscored.values())
        raise IncompleteLoopError(
            f"{len(done.results)} of {len(rollouts)} rollouts scored, no report written; "
            f"{first}: {why}" + (f"; {counted[True]} not started" if counted[True] else ""),
            unscored=unscored,
            n_scored=len(done.results),
        )
    scored = [done.results[name] for name in rollouts if name in done.results]
    report = _report(settled, evaluator, report_file, scored, unscored, min_pass_rate)
    report.latency_s = round(time.monotonic() - start, 3)
    await asyncio.to_thread(write_atomically, report_file, artifact_json(report).encode())
    return report


@dataclass(slots=True)
class _Done:
    """What became of each rollout so far."""

    total: int
    progress: Progress | None
    results: dict[str, RolloutResult] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def note(self) -> None:
        if self.progress is not None:
            self.progress(len(self.results) + len(self.reasons), self.total)


def rollouts_under(folder: Path, *, without: Path) -> dict[str, Path]:
    """The rollouts by id, in natural order; hidden folders are none, nor is the output's."""
    if not folder.exists():
        raise DataError(f"{folder}: does not exist")
    if not folder.is_dir():
        return {folder.name: folder}
    output = without.resolve()
    names = [
        path.name
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and path.resolve() != output
    ]
    if not names:
        return {folder.resolve().name: folder}
    return {name: folder / name for name in sorted(names, key=natural_key)}


async def _judge_all(
    evaluator: Evaluator, rollouts: dict[str, Path], results: Path, concurrency: int, done: _Done
) -> None:
    stopped = asyncio.Event()
    waiting = iter(rollouts.items())

    async def work() -> None:
        # A worker takes the next rollout when it is free: frames of few are in memory at once.
        for name, path in waiting:
            if stopped.is_set() or evaluator.is_spent:
                done.reasons[name] = _NOT_STARTED if stopped.is_set() else _SPENT
                continue
            try:
                output = results / name / RESULT_FILE
                done.results[name] = await evaluator.evaluate(path, output)
            except JudgeReplyError as error:
                done.reasons[name] = str(error)
                stopped.set()
            except (FramejudgeError, OSError) as error:
                done.reasons[name] = str(error)
            except Exception as error:
                # One rollout's bug costs the others nothing, and calls in flight are kept.
                logger.exception("rollout %s", name)
                done.reasons[name] = f"{type(error).__name__}: {error}"
            done.note()

    async with asyncio.TaskGroup() as group:
        for _ in range(min(concurrency, len(rollouts))):
            group.create_task(work())


def _report(
    options: RolloutOptions,
    evaluator: Evaluator,
    report_file: Path,
    scored: list[RolloutResult],
    unscored: dict[str, str],
    min_pass_rate: float | None,
) -> LoopReport:
    n_scored = len(scored)
    n_passed = sum(result.passed for result in scored)
    mean = round_score(math.fsum(result.score for result in scored) / n_scored) if scored else None
    pass_rate = rounded_share(n_passed, n_scored) if scored else None
    complete = not unscored and n_scored > 0
    stub = ["no_calls_stub"] if evaluator.settings.backend == "stub" else []
    return LoopReport(
        status="completed" if complete else "incomplete",
        model=evaluator.settings.model,
        frame_selection=options.frame_selection,
        success_threshold=options.success_threshold,
        output_dir=str(report_file.parent),
        total_rollouts=n_scored + len(unscored),
        passed_rollouts=n_passed,
        success_rate=pass_rate,
        mean_score=mean,
        task_success=complete and mean is not None and mean >= options.success_threshold,
        **limits(*_LIMITATIONS, *stub),
        rollouts=[_row(result) for result in scored],
        latency_s=0.0,
        n_scored=n_scored,
        n_total=n_scored + len(unscored),
        n_reused=evaluator.reused,
        unscored=[{"rollout_id": name, "reason": why} for name, why in unscored.items()],
        min_pass_rate=min_pass_rate,
        pass_rate_interval=wilson_interval(n_passed, n_scored, 0.95) if scored else None,
        pass_rate_gate=(
            None
            if min_pass_rate is None
            else complete and pass_rate is not None and pass_rate >= min_pass_rate
        ),
        usage=_tokens(scored),
        n_cache_hits=evaluator.cache_hits,
        cost_usd=(
            evaluator.spent_usd
            if evaluator.prices is not None and math.isfinite(evaluator.spent_usd)
            else None
        ),
    )


def _row(result: RolloutResult) -> LoopRow:
    return LoopRow(
        rollout_id=place(result.result_uri).parent.name,
        success=result.passed,
        score=result.score,
        rationale=result.rationale,
        status=result.status,
        frame_count=result.frame_count,
        result_uri=result.result_uri,
        requested_model=result.model,
        served_model=result.served_model,
        served_model_match_enforced=result.served_model_match_enforced,
        cache_hit=result.cache_hit,
    )


def _tokens(scored: list[RolloutResult]) -> dict[str, int]:
    """The whole numbers of every provider's usage, summed."""
    total: Counter[str] = Counter()
    for result in scored:
        asked = result.evidence is not None and not result.cache_hit
        usage = result.evidence.provider.usage if asked and result.evidence else None
        for key, value in (usage or {}).items():
            if isinstance(value, int) and not isinstance(value, bool):
                total[key] += value
    return dict(total)
