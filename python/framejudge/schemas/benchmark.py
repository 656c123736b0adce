"""The report of a benchmark: every configuration, its confusion matrix, and every case.

Fields that older reports do not have are None, and stay unset: `model_dump(exclude_unset=True)`
gives back what was read. What framejudge adds is additive.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from framejudge.schemas.rollout import Backend, Evidence, FrameSelection

__all__ = [
    "DATASET_SCHEMA",
    "REPORT_SCHEMA",
    "BenchmarkCase",
    "BenchmarkConfig",
    "BenchmarkMetrics",
    "BenchmarkReport",
    "BenchmarkSweep",
    "Comparison",
    "ConfigResult",
    "ConfusionMatrix",
    "JudgeStatistics",
    "Predictions",
    "Reliability",
    "Repeatability",
    "ThresholdProposal",
]

DATASET_SCHEMA = "npa_vlm_eval_benchmark_v1"
REPORT_SCHEMA = "npa_vlm_eval_benchmark_report_v2"

Interval = tuple[float, float]


class _Record(BaseModel):
    # Reports of others may hold more; nothing of it is lost.
    model_config = ConfigDict(extra="allow")


class Predictions(_Record):
    """How the items of one label were judged."""

    predicted_positive: int
    predicted_negative: int


class ConfusionMatrix(_Record):
    """Items by label and by prediction."""

    actual_positive: Predictions
    actual_negative: Predictions


class BenchmarkMetrics(_Record):
    """One configuration's counts and rates; a rate of nothing is None."""

    total: int
    correct: int
    agreement: float
    """The same number as `accuracy`."""
    accuracy: float
    precision: float | None
    recall: float | None
    f1: float | None
    true_positives: int
    true_negatives: int
    false_positives: int
    false_negatives: int
    confusion_matrix: ConfusionMatrix | None = None
    false_positive_rate: float | None = None
    false_negative_rate: float | None = None
    false_positive_item_ids: list[str] | None = None
    """In the dataset's order."""
    false_negative_item_ids: list[str] | None = None
    specificity: float | None = None
    balanced_accuracy: float | None = None
    """Half of the sum of the rounded recall and specificity."""
    intervals: dict[str, Interval | None] | None = None
    """Wilson's, at 95 %, of each share; additive."""


class BenchmarkConfig(_Record):
    """What was compared."""

    backend: Backend
    model: str
    """The effective one."""
    rubric_name: str
    rubric: str
    success_threshold: float
    frame_selection: FrameSelection
    max_frames: int


class BenchmarkCase(_Record):
    """One item under one configuration."""

    item_id: str
    rollout: str
    expected_label: bool
    predicted_label: bool
    score: float
    status: Literal["passed", "needs_iteration"]
    passed: bool
    task: str
    rationale: str
    frame_count: int
    score_source: str
    """"fixture", or the backend."""
    evidence: Evidence | None
    provider_success: bool | None = None
    provider_success_matches_score_gate: bool | None = None
    requested_model: str | None = None
    served_model: str | None = None
    served_model_match_enforced: bool = False
    cache_hit: bool = False
    """The stored evidence of an earlier identical call; additive."""


class Repeatability(_Record):
    """What several answers to the same items have in common; additive."""

    n_repeats: int
    scores: dict[str, list[float]]
    """By item, in the order of the calls."""
    spread: dict[str, float]
    """Largest less smallest score, by item."""
    fleiss_kappa: float | None
    """Of passing or not."""
    krippendorff_alpha: float | None
    """Of the scores."""


class ConfigResult(_Record):
    """A configuration, where it ranks, and all its cases."""

    rank: int
    config: BenchmarkConfig
    metrics: BenchmarkMetrics
    results: list[BenchmarkCase]
    repeatability: Repeatability | None = None


class Reliability(_Record):
    """What share of items is a pass in a range of scores."""

    low: float
    high: float
    n: int
    mean_score: float | None
    share_of_passes: float | None


class ThresholdProposal(_Record):
    """A threshold found on these items; see `propose_threshold`."""

    threshold: float
    balanced_accuracy: float
    """On the items it was chosen on."""
    left_out_balanced_accuracy: float | None
    """Each item judged by a threshold chosen without it."""


class JudgeStatistics(_Record):
    """What a model's scores under a rubric say, whatever the threshold; additive."""

    model: str
    rubric_name: str
    n: int
    roc_auc: float | None
    roc_auc_interval: Interval | None
    """95 %, by bootstrap."""
    brier_score: float | None
    reliability: list[Reliability]
    threshold_proposal: ThresholdProposal | None = None
    usage: dict[str, int] = Field(default_factory=dict)
    """Tokens, summed over the calls that were made."""


class Comparison(_Record):
    """The two best configurations on the same items; additive."""

    first_rank: int = 1
    second_rank: int = 2
    only_first_correct: int
    only_second_correct: int
    p_value: float
    """McNemar's exact test."""


class BenchmarkSweep(_Record):
    """What was varied, and what was the same for all."""

    backend: Backend
    models: list[str]
    rubrics: list[str]
    thresholds: list[float]
    frame_selection: FrameSelection
    max_frames: int
    fixture_scores: bool
    structural_checks: dict[str, dict[str, Any]] | None = None
    """By item; only where the dataset has any."""
    repeats: int = 1


class BenchmarkReport(_Record):
    """All configurations of a sweep, best first."""

    status: Literal["completed"] = "completed"
    schema_version: str = "npa_vlm_eval_benchmark_report_v1"
    """Reports that name none are of the first version."""
    dataset_path: str
    dataset_format: str | None = None
    dataset_evidence_scope: Literal["unspecified", "illustrative_only"] | None = None
    dataset_limitations: list[str] | None = None
    item_count: int
    generated_at: str
    sweep: BenchmarkSweep
    best_config: ConfigResult
    ranked_configs: list[ConfigResult]
    independent_human_label_calibration_established: Literal[False] = False
    limitations: list[str] | None = None
    limitation_ids: list[str] | None = None
    judges: list[JudgeStatistics] | None = None
    comparison: Comparison | None = None
    written_uri: str | None = None
