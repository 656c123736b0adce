"""`benchmark`: labelled rollouts judged under several configurations, to choose one honestly.

Each item is asked once for a model and a rubric; the score is compared with every threshold.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from framejudge._files import place, write_atomically
from framejudge.errors import ConfigurationError, DataError, FramejudgeError, InputError
from framejudge.frames.decoding import decode
from framejudge.frames.rollout import CollectedFrames, collect_frames
from framejudge.judge import JudgeClient, JudgeOutcome, JudgeRequest, JudgeSettings
from framejudge.judge.cache import JudgeCache
from framejudge.rollout.calibration.dataset import BenchmarkDataset, BenchmarkItem, load_dataset
from framejudge.rollout.calibration.report import Scored, make_report
from framejudge.rollout.calibration.rubrics import resolve_rubrics
from framejudge.rollout.calibration.structural import FrameFacts
from framejudge.rollout.evaluate import stub_score
from framejudge.rollout.options import RolloutOptions
from framejudge.rollout.task import rollout_task
from framejudge.schemas.benchmark import BenchmarkReport
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import SubmittedFrame, artifact_json

__all__ = ["DEFAULT_THRESHOLDS", "BenchmarkOptions", "benchmark", "benchmark_async", "read_report"]

DEFAULT_THRESHOLDS = (0.5, 0.8, 0.9)
AUTO = "auto"

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class BenchmarkOptions:
    """What a sweep varies, beside what every rollout has; checked before anything is read."""

    rollout: tuple[RolloutOptions, ...]
    """One for each model."""
    thresholds: tuple[float, ...]
    """None for one that is found on the items."""
    rubrics: tuple[str, ...]
    use_fixture_scores: bool
    repeats: int
    concurrency: int

    @classmethod
    def of(
        cls,
        dataset: str,
        output: str,
        *,
        thresholds: Sequence[float] | str,
        rubrics: Sequence[str],
        models: Sequence[str],
        use_fixture_scores: bool,
        repeats: int,
        concurrency: int,
        options: dict[str, Any],
    ) -> BenchmarkOptions:
        """Check everything that can be checked without reading.

        Raises:
            ConfigurationError: the option, what was given and what is accepted.
        """
        names = [models] if isinstance(models, str) else list(models)
        if not names:
            raise ConfigurationError("models: give one at least")
        for name, value in (("repeats", repeats), ("concurrency", concurrency)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ConfigurationError(f"{name} must be a whole number from 1 on, got {value!r}")
        rollout = [
            RolloutOptions.of(dataset or "sample", output, options | {"model": name})
            for name in dict.fromkeys(names)
        ]
        return cls(
            tuple(rollout),
            _checked_thresholds(thresholds),
            (rubrics,) if isinstance(rubrics, str) else tuple(rubrics),
            use_fixture_scores,
            repeats,
            concurrency,
        )


def benchmark(dataset: str, output: str, **options: Any) -> BenchmarkReport:
    """Judge labelled rollouts under every model, rubric and threshold; write the report.

    Args:
        dataset: a manifest, its folder or URL, or "sample" or "isaac-agency".
        output: the report's path.
        **options: thresholds: numbers, or "auto" for one that is found on the items (with what to
                expect of it on others). Default 0.5, 0.8, 0.9.
            rubrics: names of the dataset, "default", `@file`, files or texts. Default "default".
            models: judges. Default: the backend's.
            use_fixture_scores: take scores that the dataset holds; the stub always does.
            repeats: calls for each item. The first counts, the others show the spread. Default 1.
            concurrency: calls at once. Default 1.
            progress: called with how many items are done, and of how many.
            warn: called with each warning.
            and of `RolloutOptions`: task, backend, endpoint_url, api_key_env, frame_selection,
            max_frames, max_side_px, frame_format, timeout_s, cache.

    Returns:
        The report; `best_config` is the first of `ranked_configs`.

    Raises:
        ConfigurationError, DataError: an option or a dataset that can't work, before any frame is
            read or any call is made.
        JudgeError: a case without a verdict, by name; no report is written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     report = benchmark("sample", f"{folder}/report.json", backend="stub")
    >>> report.best_config.config.success_threshold, report.best_config.metrics.accuracy
    (0.8, 1.0)
    """
    return asyncio.run(benchmark_async(dataset, output, **options))


async def benchmark_async(
    dataset: str,
    output: str,
    *,
    thresholds: Sequence[float] | str = DEFAULT_THRESHOLDS,
    rubrics: Sequence[str] = ("default",),
    models: Sequence[str] = ("",),
    use_fixture_scores: bool = False,
    repeats: int = 1,
    concurrency: int = 1,
    progress: Progress | None = None,
    warn: Callable[[str], None] | None = None,
    **options: Any,
) -> BenchmarkReport:
    """Do what `benchmark` does, in a running event loop."""
    settled = BenchmarkOptions.of(
        dataset,
        output,
        thresholds=thresholds,
        rubrics=rubrics,
        models=models,
        use_fixture_scores=use_fixture_scores,
        repeats=repeats,
        concurrency=concurrency,
        options=options,
    )
    found = await asyncio.to_thread(load_dataset, dataset)
    texts = await asyncio.to_thread(
        resolve_rubrics, settled.rubrics, named=found.rubrics, folder=found.folder
    )
    file = place(output)
    settled.rollout[0].check_output(file)
    sweep = _Sweep(settled, found, texts, warn=warn or (lambda _text: None), progress=progress)
    await asyncio.to_thread(sweep.check_structure)
    async with AsyncExitStack() as opened:
        for one in settled.rollout:
            settings = one.judge()
            if any(judge.model == settings.model for judge in sweep.judges):
                continue  # another name for the same
            client = None
            if settings.backend != "stub" and sweep.asks:
                client = await opened.enter_async_context(
                    JudgeClient(settings, concurrency=concurrency)
                )
                await client.check()
            sweep.judges.append(_Judge(settings.model, settings, client))
        await sweep.run()
    report = make_report(
        found,
        options=settled.rollout[0],
        backend=sweep.judges[0].settings.backend,
        models=[judge.model for judge in sweep.judges],
        rubrics=texts,
        thresholds=settled.thresholds,
        scored=sweep.scored,
        repeats=repeats,
        use_fixture_scores=use_fixture_scores,
        structural=sweep.structural,
        written_uri=str(file),
    )
    await asyncio.to_thread(write_atomically, file, artifact_json(report).encode())
    return report


def read_report(path: str) -> BenchmarkReport:
    """Read a report of any version; a field that it does not have is None and stays unset.

    Raises:
        DataError: it can't be read, or is no report.
    """
    try:
        return BenchmarkReport.model_validate(json.loads(place(path).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is no benchmark report: {error}") from None


@dataclass(slots=True)
class _Judge:
    model: str
    settings: JudgeSettings
    client: JudgeClient | None


@dataclass(slots=True)
class _Sweep:
    options: BenchmarkOptions
    dataset: BenchmarkDataset
    rubrics: dict[str, str]
    warn: Callable[[str], None]
    progress: Progress | None
    judges: list[_Judge] = field(default_factory=list)
    scored: dict[tuple[str, str, str], list[Scored]] = field(default_factory=dict)
    """By model, rubric and item, an entry for each repeat."""
    structural: dict[str, dict[str, Any]] = field(default_factory=dict)
    kept: dict[str, CollectedFrames] = field(default_factory=dict)
    """Frames by rollout: those of several items, and those that a structural check has seen."""
    reading: dict[str, asyncio.Lock] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    """How many items there are of each rollout."""
    cache: JudgeCache | None = None
    stopped: bool = False

    @property
    def common(self) -> RolloutOptions:
        return self.options.rollout[0]

    @property
    def asks(self) -> bool:
        """Whether any item needs a call."""
        return any(not self._has_fixture(item) for item in self.dataset.items)

    def _has_fixture(self, item: BenchmarkItem) -> bool:
        allowed = self.options.use_fixture_scores or self.common.backend == "stub"
        return allowed and item.fixture_score is not None

    def check_structure(self) -> None:
        """Measure what can be measured without a model; a label that it refutes ends the sweep."""
        for item in self.dataset.items:
            check = item.structural_check
            if check is None:
                continue
            where = f"dataset: item {item.item_id!r}"
            problem = check.requirement_problem(self.common.frame_selection, self.common.max_frames)
            if problem:
                raise DataError(f"{where}: {problem}")
            if str(item.path) not in self.kept:
                self.kept[str(item.path)] = self._collect(item)
            try:
                result = check.result([_facts(f) for f in self.kept[str(item.path)].frames])
            except InputError as error:
                raise DataError(f"{where}: structural_check: {error}") from None
            self.structural[item.item_id] = result
            if result["verdict"] != ("pass" if item.expected else "fail"):
                raise DataError(
                    f"{where}: is expected to {'pass' if item.expected else 'fail'}, and its "
                    f"structural check says {result['verdict']}: {result['reason']}"
                )

    async def run(self) -> None:
        """Judge all items; at the first failure no new call starts."""
        if self.common.cache and self.common.backend != "stub":
            self.cache = JudgeCache()
        self.uses = Counter(str(item.path) for item in self.dataset.items)
        waiting = iter(self.dataset.items)
        done = 0
        total = len(self.dataset.items)

        async def work() -> None:
            nonlocal done
            for item in waiting:
                if self.stopped:
                    return
                try:
                    await self._judge(item)
                except BaseException:
                    self.stopped = True
                    raise
                done += 1
                if self.progress is not None:
                    self.progress(done, total)

        workers = [work() for _ in range(min(self.options.concurrency, total))]
        # Calls in flight finish, so that what was paid for is kept for the next run.
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _judge(self, item: BenchmarkItem) -> None:
        collected: CollectedFrames | None = None
        for judge in self.judges:
            for name, rubric in self.rubrics.items():
                case = f"item {item.item_id!r}, model {judge.model!r}, rubric {name!r}"
                try:
                    if judge.client is not None and not self._has_fixture(item):
                        if collected is None:
                            collected = await self._frames(item)
                        answers = await self._ask(judge, judge.client, item, rubric, collected)
                    else:
                        answers = [self._without_call(item, judge)] * self.options.repeats
                except FramejudgeError as error:
                    raise _named(error, case) from error
                self.scored[judge.model, name, item.item_id] = answers

    def _without_call(self, item: BenchmarkItem, judge: _Judge) -> Scored:
        task = item.task or self.common.task
        if self._has_fixture(item) and item.fixture_score is not None:
            return Scored(
                round_score(item.fixture_score), "recorded in the dataset", "fixture", task
            )
        score = stub_score(item.rollout, task, judge.model)
        return Scored(score, "Deterministic stub; no model saw this rollout.", "stub", task)

    async def _ask(
        self,
        judge: _Judge,
        client: JudgeClient,
        item: BenchmarkItem,
        rubric: str,
        collected: CollectedFrames,
    ) -> list[Scored]:
        request = JudgeRequest(
            settings=judge.settings,
            task=await asyncio.to_thread(rollout_task, item.path, item.task or self.common.task),
            rubric=rubric,
            frame_selection=self.common.frame_selection,
            max_frames=self.common.max_frames,
            frames=collected.frames,
        )
        answers = []
        for repeat in range(self.options.repeats):
            outcome, is_stored = await self._answer(client, request, repeat)
            answers.append(
                Scored(
                    round_score(outcome.verdict.score),
                    outcome.verdict.rationale,
                    self.common.backend,
                    request.task,
                    frame_count=len(request.frames),
                    evidence=outcome.evidence,
                    provider_success=outcome.verdict.success,
                    model_enforced=judge.settings.enforces_model,
                    cache_hit=is_stored,
                )
            )
        return answers

    async def _answer(
        self, client: JudgeClient, request: JudgeRequest, repeat: int
    ) -> tuple[JudgeOutcome, bool]:
        if self.cache is None:
            return await client.ask(request), False
        stored = await asyncio.to_thread(self.cache.get, request, repeat=repeat)
        if stored is not None:
            return stored, True
        outcome = await client.ask(request)
        await asyncio.to_thread(self.cache.put, request, outcome, repeat=repeat)
        return outcome, False

    async def _frames(self, item: BenchmarkItem) -> CollectedFrames:
        path = str(item.path)
        async with self.reading.setdefault(path, asyncio.Lock()):
            found = self.kept.get(path)
            if found is None:
                found = await asyncio.to_thread(self._collect, item)
                if self.uses[path] > 1:
                    self.kept[path] = found
        return found

    def _collect(self, item: BenchmarkItem) -> CollectedFrames:
        found = collect_frames(
            item.path,
            frame_selection=self.common.frame_selection,
            max_frames=self.common.max_frames,
            max_side_px=self.common.max_side_px,
            frame_format=self.common.frame_format,
        )
        for text in found.warnings:
            self.warn(text)
        return found


def _checked_thresholds(given: Sequence[float] | str) -> tuple[float, ...]:
    if isinstance(given, str):
        if given.strip().lower() != AUTO:
            raise ConfigurationError(f"thresholds must be numbers or 'auto', got {given!r}")
        return ()
    for value in given:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:
            raise ConfigurationError(f"thresholds must be from 0 to 1, got {value!r}")
    if not given:
        raise ConfigurationError("thresholds: give one at least, or 'auto'")
    return tuple(dict.fromkeys(float(value) for value in given))


def _facts(frame: SubmittedFrame) -> FrameFacts:
    rgb = decode(frame.data)
    return FrameFacts(
        label=frame.evidence.label,
        rgb=np.asarray(rgb),
        png_sha256=frame.evidence.sha256,
        rgb_sha256=frame.evidence.decoded_rgb_sha256 or "",
    )


def _named(error: FramejudgeError, case: str) -> FramejudgeError:
    """The same error, with the case that it happened in before its text."""
    named = type(error)(f"{case}: {error}")
    named.__dict__.update(error.__dict__)
    return named
