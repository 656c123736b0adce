"""What a pipeline asks first: backends, packaged specs, and the command of each stage."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from framejudge.frames.selection import FRAME_SELECTIONS
from framejudge.judge.backends import BACKENDS, DEFAULT_MODEL
from framejudge.rollout.calibration.dataset import packaged_dataset

__all__ = [
    "TOOL_REFS",
    "BackendList",
    "JudgeStatus",
    "WorkflowPaths",
    "list_backends",
    "status",
    "workflow",
]

IMAGE_ENV = "NPA_VLM_IMAGE"
_IMAGE_ENVS = ("FRAMEJUDGE_VLM_IMAGE", IMAGE_ENV)
_FOLDER = Path(__file__).parents[1] / "data" / "workflows"

_SAMPLING = (
    *("--task", "{task}"),
    *("--frame-selection", "{frame_selection}"),
    *("--max-frames", "{max_frames}"),
)
_GATE = ("--success-threshold", "{success_threshold}")
_JSON = ("--output", "json", "--exit-zero")
_HOSTED_KEY = ("--api-key-env", "NEBIUS_TOKEN_FACTORY_KEY")

TOOL_REFS: dict[str, tuple[str, ...]] = {
    "workbench.vlm_eval.run": (
        *("framejudge", "run", "--input-path", "{rollouts_uri}", "--output-path", "{scores_uri}"),
        *("--backend", "{vlm_backend}"),
        *_JSON,
    ),
    "workbench.vlm_eval.loop": (
        *("framejudge", "loop", "--input-path", "{rollouts_uri}", "--output-path", "{scores_uri}"),
        *("--backend", "{vlm_backend}"),
        *_SAMPLING,
        *_GATE,
        *_JSON,
    ),
    "workbench.vlm_eval.judge_against_plan": (
        *("framejudge", "run", "--input-path", "{rollouts_uri}", "--output-path", "{scores_uri}"),
        *("--backend", "{vlm_backend}", "--task-from", "{plan_uri}scene_reasoning.json"),
        *_HOSTED_KEY,
        *_SAMPLING[2:],
        *_GATE,
        *_JSON,
    ),
    "workbench.vlm_eval.benchmark": (
        *("framejudge", "benchmark", "--dataset", "{dataset_uri}", "--output", "{report_uri}"),
        *("--backend", "{vlm_backend}", "--thresholds", "{thresholds}"),
        *("--rubrics", "{rubrics}", "--models", "{models}", "--format", "json"),
    ),
    "workbench.vlm_eval.compare_judges": (
        *("framejudge", "compare-judges", "--input-path", "{rollouts_uri}"),
        *("--output-path", "{scores_uri}", "--primary-model", "{primary_model}"),
        *("--secondary-model", "{secondary_model}"),
        *_SAMPLING,
        *_GATE,
        *_JSON,
    ),
    "workbench.vlm_eval.compare_preference": (
        *("framejudge", "compare-preference", "--baseline-path", "{baseline_uri}"),
        *("--candidate-path", "{candidate_uri}", "--output-path", "{scores_uri}"),
        *("--task", "{task}", "--model", "{model}"),
        *_JSON,
    ),
}
"""The command of each stage; what is in braces is the pipeline's to fill in."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid")


class JudgeStatus(_Record):
    """What is set up; nothing is asked of any server."""

    backend: Literal["self-hosted"] = "self-hosted"
    status: Literal["configured"] = "configured"
    real_vlm_backend: Literal[True] = True
    default_model: str
    default_frame_selection: str
    workflow: str
    loop_workflow: str
    benchmark_workflow: str
    token_factory_workflow: str
    sample_benchmark_dataset: str
    isaac_agency_benchmark_dataset: str


class BackendEntry(_Record):
    """A way to get a score."""

    name: str
    real_backend: bool
    """Whether a model is asked."""
    default: bool


class BackendList(_Record):
    """What may be chosen."""

    backends: list[BackendEntry]
    frame_selections: list[str]
    supported_backends: list[str]


class WorkflowPaths(_Record):
    """Where the packaged specs are, and the image that a self-hosted stage needs."""

    workflow: str
    loop_workflow: str
    benchmark_workflow: str
    token_factory_workflow: str
    image_env: str = IMAGE_ENV
    image: str
    """Empty where none was named: the backends api and stub need none."""


def status() -> JudgeStatus:
    """Say what is set up, without asking any server.

    >>> status().default_frame_selection
    'keyframes'
    """
    paths = workflow()
    return JudgeStatus(
        default_model=DEFAULT_MODEL,
        default_frame_selection="keyframes",
        workflow=paths.workflow,
        loop_workflow=paths.loop_workflow,
        benchmark_workflow=paths.benchmark_workflow,
        token_factory_workflow=paths.token_factory_workflow,
        sample_benchmark_dataset=str(packaged_dataset("sample") / "benchmark.json"),
        isaac_agency_benchmark_dataset=str(packaged_dataset("isaac-agency") / "benchmark.json"),
    )


def list_backends() -> BackendList:
    """List backends and frame selections.

    >>> [entry.name for entry in list_backends().backends if entry.real_backend]
    ['self-hosted', 'api']
    """
    return BackendList(
        backends=[
            BackendEntry(name=name, real_backend=name != "stub", default=name == "self-hosted")
            for name in BACKENDS
        ],
        frame_selections=list(FRAME_SELECTIONS),
        supported_backends=list(BACKENDS),
    )


def workflow(image: str = "") -> WorkflowPaths:
    """Return the paths of the packaged workflow specs.

    Args:
        image: of a self-hosted stage; default: the environment's.

    >>> from pathlib import Path
    >>> Path(workflow().workflow).name
    'vlm-eval-single.yaml'
    """
    named = image.strip() or next(
        (value for name in _IMAGE_ENVS if (value := os.environ.get(name, "").strip())), ""
    )
    spec = {name: str(_FOLDER / f"vlm-eval-{name}.yaml") for name in _SPECS}
    return WorkflowPaths(
        workflow=spec["single"],
        loop_workflow=spec["loop"],
        benchmark_workflow=spec["benchmark"],
        token_factory_workflow=spec["token-factory"],
        image=named,
    )


_SPECS = ("single", "loop", "benchmark", "token-factory")
