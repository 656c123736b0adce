"""The promotion gate: does a stored result, with its evidence, let a checkpoint through?"""

from __future__ import annotations

import hashlib
import math
import os
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from framejudge._files import place, write_atomically
from framejudge.errors import ConfigurationError
from framejudge.judge.parsing import strict_json
from framejudge.rollout.evidence_checks import first_problem, problems
from framejudge.schemas.numbers import round_score
from framejudge.schemas.rollout import artifact_json, canonical_sha256

__all__ = ["DECISION_SCHEMA", "GateDecision", "VerifyReport", "promotion_gate", "verify_evidence"]

DECISION_SCHEMA = "npa.sim2real.threshold_decision.v1"
DEFAULT_THRESHOLD = 0.5

_COSMOS = "cosmos_evaluator.json"
# Only where the first is absent is the next looked at.
_NAMES = (_COSMOS, "vlm_eval.json", "vlm_eval_stub.json")


class GateDecision(BaseModel):
    """Promote, or go back to training; and why not."""

    model_config = ConfigDict(extra="forbid")

    schema_version: str = DECISION_SCHEMA
    decision: Literal["promote_checkpoint", "loop_back"]
    score: float | None
    threshold: float
    report_status: str | None
    hard_checks_passed: bool
    """The report's `passed` is literally true."""
    report_path: str
    report_sha256: str | None
    gate_id: str
    """A hash of the decision and the report."""
    reason: str | None = None
    evidence_reason: str | None = None
    """Which check of the evidence failed first."""


class VerifyReport(BaseModel):
    """Every check of a result's evidence."""

    model_config = ConfigDict(extra="forbid")

    path: str
    ok: bool
    checks: dict[str, str | None]
    """Check to the reason why it fails; None where it holds."""


def promotion_gate(
    report: str | Path,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    decision_path: str | Path | None = None,
) -> GateDecision:
    """Decide whether a report promotes a checkpoint; a bad report is a reason, not an error.

    Args:
        report: a .json file, or a folder, in which cosmos_evaluator.json, vlm_eval.json and the
            older vlm_eval_stub.json are looked for. Only the absence of one leads to the next.
        threshold: the least score, in [0, 1]. Default 0.5.
        decision_path: where to write the decision.

    Raises:
        ConfigurationError: a threshold out of range.

    >>> promotion_gate("/nowhere/vlm_eval.json").decision
    'loop_back'
    """
    if not 0 <= threshold <= 1:
        raise ConfigurationError(f"threshold must be from 0 to 1, got {threshold}")
    path = _report_file(place(report))
    content, absence = _content(path)
    found = _decide(path, content, absence, threshold)
    sha256 = None if content is None else hashlib.sha256(content).hexdigest()
    decision = GateDecision(
        **found,
        threshold=threshold,
        report_path=str(path),
        report_sha256=sha256,
        gate_id=canonical_sha256(
            {"decision": found["decision"], "report_sha256": sha256, "threshold": threshold}
        ),
    )
    if decision_path is not None:
        write_atomically(place(decision_path), artifact_json(decision).encode())
    return decision


def verify_evidence(path: str | Path) -> list[VerifyReport]:
    """Recompute every hash of a result, or of each result that a loop's report lists.

    Args:
        path: `vlm_eval.json` or `task_success_report.json`.

    Raises:
        ConfigurationError: a file that is neither.
    """
    file = place(path)
    try:
        record = strict_json(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{file}: can't be read as JSON: {error}") from None
    if not isinstance(record, dict):
        raise ConfigurationError(f"{file}: is no result and no report of results")
    if "rollouts" not in record:
        return [_verified(file, record)]
    try:
        rows = [(str(row["rollout_id"]), place(row["result_uri"])) for row in record["rollouts"]]
    except (KeyError, TypeError):
        raise ConfigurationError(f"{file}: its rollouts have no ids and results") from None
    artifacts = [_artifact(file, name, uri) for name, uri in rows]
    found = [
        VerifyReport(path=str(path), ok=False, checks={"artifact": "can't be read as a result"})
        if result is None
        else _verified(path, result)
        for path, result in artifacts
    ]
    return [_verified_report(file, record, [result for _, result in artifacts]), *found]


def _artifact(file: Path, name: str, uri: Path) -> tuple[Path, dict[str, Any] | None]:
    """A row's result: the one beside the report, so that a moved report is read with its own."""
    beside = file.parent / "rollouts" / name / uri.name
    path = beside if beside.is_file() else uri
    return path, _record(_content(path)[0])


def _verified_report(
    file: Path, record: dict[str, Any], results: list[dict[str, Any] | None]
) -> VerifyReport:
    """Whether the report says what its results say."""
    checks: dict[str, str | None] = {}
    for row, result in zip(record["rollouts"], results, strict=True):
        kept = result or {}
        same = row.get("success") is kept.get("passed") and all(
            row.get(key) == kept.get(key) for key in ("score", "status", "rationale", "frame_count")
        )
        checks[f"row {row['rollout_id']}"] = None if same else "differs from its result"
    scores = [row.get("score") for row in record["rollouts"]]
    numbers = all(isinstance(s, float) and math.isfinite(s) for s in scores) and bool(scores)
    mean = round_score(math.fsum(scores) / len(scores)) if numbers else None
    checks["mean score"] = None if record.get("mean_score") == mean else "is not the rows' mean"
    complete = record.get("status") == "completed" and not record.get("unscored")
    threshold = record.get("success_threshold")
    passed = complete and mean is not None and isinstance(threshold, float) and mean >= threshold
    checks["task success"] = None if record.get("task_success") is passed else "does not follow"
    return VerifyReport(path=str(file), ok=not any(checks.values()), checks=checks)


def _verified(file: Path, record: dict[str, Any]) -> VerifyReport:
    if record.get("evidence") is None:
        checks: dict[str, str | None] = {"evidence": "missing: no call was made"}
    else:
        checks = dict(problems(record))
    ok = not any(checks.values())
    return VerifyReport(path=str(file), ok=ok, checks=checks)


def _report_file(report: Path) -> Path:
    if report.suffix == ".json":
        return report
    # A broken link is present too.
    there = (path for n in _NAMES if _is_there(path := report / n))
    return next(there, report / _NAMES[1])


def _is_there(path: Path) -> bool:
    """Whether there is something of that name, be it a link to nothing."""
    return os.path.lexists(path) if isinstance(path, Path) else path.exists()


def _content(path: Path) -> tuple[bytes | None, str]:
    """A file's bytes, or why there are none."""
    try:
        return path.read_bytes(), ""
    except FileNotFoundError:
        return None, "report_unreadable" if _is_there(path) else "report_missing"
    except OSError:
        return None, "report_unreadable"


def _decide(path: Path, content: bytes | None, absence: str, threshold: float) -> dict[str, Any]:
    record = _record(content)
    score: Any = (record or {}).get("score")
    is_number = isinstance(score, (int, float)) and not isinstance(score, bool)
    known = float(score) if is_number and 0 <= score <= 1 else None
    status = (record or {}).get("status")
    hard = (record or {}).get("passed") is True
    if content is None:
        reason = {"reason": absence}
    elif record is None:
        reason = {"reason": "report_malformed"}
    else:
        reason = {} if path.name == _COSMOS else _vlm_reason(record)
        reason = reason or _score_reason(known, threshold, hard=hard)
    return {
        "decision": "loop_back" if reason else "promote_checkpoint",
        "score": known,
        "report_status": status if isinstance(status, str) else None,
        "hard_checks_passed": hard,
        **reason,
    }


def _record(content: bytes | None) -> dict[str, Any] | None:
    try:
        found = strict_json((content or b"").decode())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _score_reason(score: float | None, threshold: float, *, hard: bool) -> dict[str, str]:
    if score is None:
        return {"reason": "score_invalid"}
    if not hard:
        return {"reason": "hard_checks_failed"}
    return {"reason": "score_below_threshold"} if score < threshold else {}


def _vlm_reason(record: dict[str, Any]) -> dict[str, str]:
    backend = record.get("backend")
    is_dry = "dry_run" in record and record["dry_run"] is not False
    if backend not in ("api", "self-hosted") or is_dry:
        return {"reason": "vlm_non_inference_backend"}
    if record.get("evidence") is None:
        return {"reason": "vlm_provider_evidence_missing"}
    if "provider_call_made" in record and record["provider_call_made"] is not True:
        return {"reason": "vlm_non_inference_backend"}
    problem = first_problem(record)
    if problem is None:
        return {}
    return {"reason": "vlm_provider_evidence_invalid", "evidence_reason": problem}
