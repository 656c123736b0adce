"""What a sweep's scores become: configurations, ranks, statistics and limitations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from framejudge.metrics.agreement import (
    brier_score,
    mcnemar,
    reliability_table,
    roc_auc,
    roc_auc_interval,
)
from framejudge.rollout.calibration.confusion import (
    metrics_of,
    propose_threshold,
    ranked,
    repeatability_of,
)
from framejudge.rollout.calibration.dataset import BenchmarkDataset, BenchmarkItem
from framejudge.rollout.options import RolloutOptions
from framejudge.schemas import Evidence
from framejudge.schemas.benchmark import (
    REPORT_SCHEMA,
    BenchmarkCase,
    BenchmarkConfig,
    BenchmarkReport,
    BenchmarkSweep,
    Comparison,
    ConfigResult,
    JudgeStatistics,
    Reliability,
)
from framejudge.schemas.limitations import limits
from framejudge.schemas.rollout import Backend

__all__ = ["Scored", "make_report"]

Scores = Mapping[tuple[str, str, str], Sequence["Scored"]]


@dataclass(frozen=True, slots=True)
class Scored:
    """One answer to one item."""

    score: float
    """Rounded."""
    rationale: str
    source: str
    task: str
    frame_count: int = 0
    evidence: Evidence | None = None
    provider_success: bool | None = None
    model_enforced: bool = False
    cache_hit: bool = False


def make_report(
    dataset: BenchmarkDataset,
    *,
    options: RolloutOptions,
    backend: Backend,
    models: Sequence[str],
    rubrics: Mapping[str, str],
    thresholds: Sequence[float],
    scored: Scores,
    repeats: int,
    use_fixture_scores: bool,
    structural: dict[str, dict[str, Any]],
    written_uri: str,
) -> BenchmarkReport:
    """Compare every score with every threshold; without any, with the one that is found.

    Args:
        dataset: the items.
        options: what all configurations share.
        backend: theirs.
        models: effective names.
        rubrics: texts by name.
        thresholds: to compare with; empty for one that is found for each model and rubric.
        scored: the answers by model, rubric and item.
        repeats: answers to each.
        use_fixture_scores: as it was asked for.
        structural: results of structural checks by item.
        written_uri: where the report goes.
    """
    judges, results = [], []
    for model in models:
        for name, rubric in rubrics.items():
            rows = {item.item_id: scored[model, name, item.item_id] for item in dataset.items}
            judge = _statistics(dataset, model, name, rows, propose=not thresholds)
            judges.append(judge)
            found = judge.threshold_proposal
            for threshold in thresholds or ([found.threshold] if found else []):
                config = BenchmarkConfig(
                    backend=backend,
                    model=model,
                    rubric_name=name,
                    rubric=rubric,
                    success_threshold=threshold,
                    frame_selection=options.frame_selection,
                    max_frames=options.max_frames,
                )
                results.append(_config_result(dataset, config, rows, repeats))
    configs = ranked(results)
    tested = sorted({result.config.success_threshold for result in configs})
    sweep: dict[str, Any] = {"structural_checks": structural} if structural else {}
    extra: dict[str, Any] = {}
    if len(configs) > 1:
        extra["comparison"] = _comparison(configs[0], configs[1])
    return BenchmarkReport(
        schema_version=REPORT_SCHEMA,
        dataset_path=dataset.path,
        dataset_format=dataset.format,
        dataset_evidence_scope=dataset.evidence_scope,
        dataset_limitations=list(dataset.limitations),
        item_count=len(dataset.items),
        generated_at=datetime.now(UTC).isoformat(),
        sweep=BenchmarkSweep(
            backend=backend,
            models=list(models),
            rubrics=list(rubrics),
            thresholds=list(thresholds) or tested,
            frame_selection=options.frame_selection,
            max_frames=options.max_frames,
            fixture_scores=use_fixture_scores,
            repeats=repeats,
            **sweep,
        ),
        best_config=configs[0],
        ranked_configs=configs,
        judges=judges,
        written_uri=written_uri,
        **limits(*_limits(scored, repeats, is_auto=not thresholds)),
        **extra,
    )


def _limits(scored: Scores, repeats: int, *, is_auto: bool) -> list[str]:
    sources = {answer.source for answers in scored.values() for answer in answers}
    return [
        "caller_labels",
        "one_dataset",
        "one_call_per_item",
        *(["some_fixture_scores"] if "fixture" in sources else []),
        *(["some_stub_scores"] if "stub" in sources else []),
        *(["threshold_from_same_items"] if is_auto else []),
        *(["repeats_first_counts"] if repeats > 1 else []),
    ]


def _statistics(
    dataset: BenchmarkDataset,
    model: str,
    rubric_name: str,
    rows: Mapping[str, Sequence[Scored]],
    *,
    propose: bool,
) -> JudgeStatistics:
    labels = [item.expected for item in dataset.items]
    scores = [rows[item.item_id][0].score for item in dataset.items]
    usage: Counter[str] = Counter()
    for answer in (answer for answers in rows.values() for answer in answers):
        if answer.evidence is not None and not answer.cache_hit:
            usage.update(_token_counts(answer.evidence))
    return JudgeStatistics(
        model=model,
        rubric_name=rubric_name,
        n=len(scores),
        roc_auc=roc_auc(labels, scores),
        roc_auc_interval=roc_auc_interval(labels, scores),
        brier_score=brier_score(labels, scores),
        reliability=[Reliability(**row._asdict()) for row in reliability_table(labels, scores)],
        threshold_proposal=propose_threshold(labels, scores) if propose else None,
        usage=dict(usage),
    )


def _token_counts(evidence: Evidence) -> dict[str, int]:
    usage = evidence.provider.usage or {}
    return {
        key: value
        for key, value in usage.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }


def _config_result(
    dataset: BenchmarkDataset,
    config: BenchmarkConfig,
    rows: Mapping[str, Sequence[Scored]],
    repeats: int,
) -> ConfigResult:
    cases = [_case(item, rows[item.item_id][0], config) for item in dataset.items]
    scores = {name: [answer.score for answer in answers] for name, answers in rows.items()}
    repeated = repeatability_of(scores, config.success_threshold, repeats)
    return ConfigResult(
        rank=0,
        config=config,
        metrics=metrics_of(cases),
        results=cases,
        **({} if repeated is None else {"repeatability": repeated}),
    )


def _case(item: BenchmarkItem, answer: Scored, config: BenchmarkConfig) -> BenchmarkCase:
    passed = answer.score >= config.success_threshold
    success = answer.provider_success
    provider = answer.evidence.provider if answer.evidence else None
    return BenchmarkCase(
        item_id=item.item_id,
        rollout=item.rollout,
        expected_label=item.expected,
        predicted_label=passed,
        score=answer.score,
        status="passed" if passed else "needs_iteration",
        passed=passed,
        task=answer.task,
        rationale=answer.rationale,
        frame_count=answer.frame_count,
        score_source=answer.source,
        evidence=answer.evidence,
        provider_success=success,
        provider_success_matches_score_gate=None if success is None else success == passed,
        requested_model=config.model,
        served_model=provider.returned_model if provider else None,
        served_model_match_enforced=answer.model_enforced,
        cache_hit=answer.cache_hit,
    )


def _comparison(first: ConfigResult, second: ConfigResult) -> Comparison:
    right = [
        [case.predicted_label == case.expected_label for case in result.results]
        for result in (first, second)
    ]
    return Comparison(
        only_first_correct=sum(a and not b for a, b in zip(*right, strict=True)),
        only_second_correct=sum(b and not a for a, b in zip(*right, strict=True)),
        p_value=mcnemar(*right),
    )
