"""One rollout, from its frames to its artifact; what `run` and `loop` share."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from framejudge._files import place, write_atomically
from framejudge.errors import ConfigurationError
from framejudge.frames.rollout import collect_frames
from framejudge.judge import JudgeClient, JudgeOutcome, JudgeRequest, JudgeSettings
from framejudge.judge.cache import JudgeCache
from framejudge.judge.cost import PriceTable
from framejudge.rollout.evidence_checks import first_problem
from framejudge.rollout.options import RolloutOptions
from framejudge.rollout.task import rollout_task
from framejudge.schemas import Evidence, RolloutResult
from framejudge.schemas.limitations import limits
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import artifact_json

__all__ = ["RESULT_FILE", "Evaluator", "result_path", "stub_score"]

RESULT_FILE = "vlm_eval.json"

logger = logging.getLogger("framejudge.rollout")

_LIMITATIONS = ("sampled_frames_only", "one_sample_no_proof")
_STUB_RATIONALE = "Deterministic stub; no model saw this rollout."
_OVERRIDE_RATIONALE = "The score was given by hand; no model was asked."


def result_path(output_path: str) -> Path:
    """Return where a result goes: a .json path as it is, else the usual name in that folder."""
    path = place(output_path)
    return path if path.suffix == ".json" else path / RESULT_FILE


def stub_score(input_path: str, task: str, model: str) -> float:
    """Return a score in [0, 1] that depends on its arguments alone.

    The first 32 bits of the SHA-256 of the three, joined by `|`, over the largest such number.

    >>> stub_score("rollouts/0007", "pick and place the cube", "vlm-eval-stub")
    0.7547
    """
    digest = hashlib.sha256(f"{input_path}|{task}|{model}".encode()).hexdigest()
    return round_score(int(digest[:8], 16) / 0xFFFFFFFF)


@dataclass(slots=True)
class Evaluator:
    """Judges rollouts under the same options."""

    options: RolloutOptions
    settings: JudgeSettings
    rubric: str
    client: JudgeClient | None
    """None for the stub."""
    resume: bool = False
    warn: Callable[[str], None] = logger.warning
    cache: JudgeCache | None = None
    prices: PriceTable | None = None
    reused: int = 0
    cache_hits: int = 0
    spent_usd: float = 0.0
    """Of the calls so far; infinite once one can't be priced."""
    _asking: dict[str, asyncio.Lock] = field(default_factory=dict)

    @classmethod
    def of(cls, options: RolloutOptions, *, resume: bool = False) -> Evaluator:
        """Settle judge, rubric, prices and cache; nothing is read or sent.

        Raises:
            ConfigurationError: an option that can't work.
        """
        settings = options.judge()
        return cls(
            options,
            settings,
            options.rubric_text(),
            None,
            resume=resume,
            cache=JudgeCache() if options.cache and settings.backend != "stub" else None,
            prices=options.price_table(settings.model),
        )

    @property
    def is_spent(self) -> bool:
        """Whether the cost limit is reached."""
        limit = self.options.max_cost
        return limit is not None and self.spent_usd >= limit

    async def evaluate(
        self, input_path: Path, output: Path, *, task: str | None = None
    ) -> RolloutResult:
        """Judge one rollout and write its artifact.

        Args:
            input_path: the rollout.
            output: the artifact's file.
            task: instead of the options' one.

        Raises:
            JudgeError: no verdict; nothing is written.
            DataError, ImageError, VideoError: frames that can't be read.
        """
        told = self.options.task if task is None else task
        if self.client is None:
            score = stub_score(str(input_path), told, self.settings.model)
            return await asyncio.to_thread(
                self._without_call, input_path, output, told, score, _STUB_RATIONALE, "no_call_stub"
            )
        request = await asyncio.to_thread(self.request, input_path, told)
        earlier = self._earlier(output, request) if self.resume else None
        if earlier is None:
            outcome, is_stored = await self._ask(self.client, request)
            result = self.judged(request, input_path, output, outcome, is_stored=is_stored)
        else:
            self.reused += 1
            result = earlier
        await asyncio.to_thread(self._write, result, output)
        return result

    def request(self, input_path: Path, task: str) -> JudgeRequest:
        """Read a rollout's frames and make the request for them."""
        collected = collect_frames(
            input_path,
            frame_selection=self.options.frame_selection,
            max_frames=self.options.max_frames,
            max_side_px=self.options.max_side_px,
            frame_format=self.options.frame_format,
        )
        for warning in collected.warnings:
            self.warn(warning)
        return JudgeRequest(
            settings=self.settings,
            task=rollout_task(input_path, task),
            rubric=self.rubric,
            frame_selection=self.options.frame_selection,
            max_frames=self.options.max_frames,
            frames=collected.frames,
        )

    def override(self, input_path: Path, output: Path, score: float) -> RolloutResult:
        """Write a result with a score that was given by hand."""
        if not 0 <= score <= 1:
            raise ConfigurationError(f"score must be from 0 to 1, got {score}")
        return self._without_call(
            input_path,
            output,
            self.options.task,
            round_score(score),
            _OVERRIDE_RATIONALE,
            "no_call_override",
        )

    def _without_call(
        self, input_path: Path, output: Path, task: str, score: float, rationale: str, limit: str
    ) -> RolloutResult:
        result = self._result(
            input_path,
            output,
            score,
            task=task,
            frame_count=0,
            rationale=rationale,
            served_model=None,
            served_model_match_enforced=False,
            provider_success=None,
            **limits(*_LIMITATIONS, limit),
            evidence=None,
        )
        self._write(result, output)
        return result

    async def _ask(self, client: JudgeClient, request: JudgeRequest) -> tuple[JudgeOutcome, bool]:
        """Ask, or take a stored answer; the same question is not asked twice at once either."""
        if self.cache is None:
            return await client.ask(request), False
        async with self._asking.setdefault(request.manifest.sha256(), asyncio.Lock()):
            stored = await asyncio.to_thread(self.cache.get, request)
            if stored is not None:
                self.cache_hits += 1
                return stored, True
            outcome = await client.ask(request)
            await asyncio.to_thread(self.cache.put, request, outcome)
            return outcome, False

    def _cost_usd(self, outcome: JudgeOutcome, *, is_stored: bool) -> float | None:
        if self.prices is None:
            return None
        if is_stored:
            return 0.0
        cost = self.prices.cost_usd(self.settings.model, outcome.evidence.provider.usage)
        self.spent_usd += math.inf if cost is None else cost
        return cost

    def judged(
        self,
        request: JudgeRequest,
        input_path: Path,
        output: Path,
        outcome: JudgeOutcome,
        *,
        is_stored: bool,
    ) -> RolloutResult:
        """Return the result of an answered request; nothing is written.

        Args:
            request: what was asked.
            input_path: the rollout.
            output: where it will be written.
            outcome: the verdict and its evidence.
            is_stored: it is an earlier call's.
        """
        return self._result(
            input_path,
            output,
            round_score(outcome.verdict.score),
            task=request.task,
            frame_count=len(request.frames),
            rationale=outcome.verdict.rationale,
            served_model=outcome.evidence.provider.returned_model,
            served_model_match_enforced=self.settings.enforces_model,
            provider_success=outcome.verdict.success,
            **limits(*_LIMITATIONS, *(["stored_answer"] if is_stored else [])),
            evidence=outcome.evidence,
            cache_hit=is_stored,
            cost_usd=self._cost_usd(outcome, is_stored=is_stored),
        )

    def _result(
        self,
        input_path: Path,
        output: Path,
        score: float,
        *,
        provider_success: bool | None,
        evidence: Evidence | None,
        **fields: Any,
    ) -> RolloutResult:
        """What every result says; its gate is the rounded score's, whatever the judge thinks."""
        passed = score >= self.options.success_threshold
        return RolloutResult(
            status="passed" if passed else "needs_iteration",
            backend=self.settings.backend,
            input_path=str(input_path),
            output_path=self.options.output_path,
            result_uri=str(output),
            rubric=self.rubric,
            model=self.settings.model,
            score=score,
            success_threshold=self.options.success_threshold,
            passed=passed,
            generated_at=datetime.now(UTC).isoformat(),
            frame_selection=self.options.frame_selection,
            provider_success=provider_success,
            provider_success_matches_score_gate=(
                None if provider_success is None else provider_success == passed
            ),
            provider_call_made=evidence is not None,
            evidence=evidence,
            **fields,
        )

    def _earlier(self, output: Path, request: JudgeRequest) -> RolloutResult | None:
        """A finished artifact of the very same request, gated by today's threshold."""
        try:
            found = RolloutResult.model_validate(json.loads(output.read_text(encoding="utf-8")))
        except (OSError, ValueError, ValidationError):
            return None
        if (
            found.evidence is None
            or first_problem(found.model_dump(mode="json")) is not None
            or found.backend != self.settings.backend
            or found.evidence.request.request_manifest_sha256 != request.manifest.sha256()
        ):
            return None
        passed = found.score >= self.options.success_threshold
        return found.model_copy(
            update={
                "status": "passed" if passed else "needs_iteration",
                "passed": passed,
                "success_threshold": self.options.success_threshold,
                "provider_success_matches_score_gate": found.provider_success == passed,
            }
        )

    def _write(self, result: RolloutResult, output: Path) -> None:
        write_atomically(output, artifact_json(result).encode())
