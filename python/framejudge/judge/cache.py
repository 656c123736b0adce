"""Answers of judges, kept so that the very same request is paid for once.

A stored answer is read again by today's rules: it is the provider's response that is kept, and the
verdict is parsed from it. Only answers that were accepted are kept.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from framejudge._byte_store import ByteStore
from framejudge._files import cache_root
from framejudge.errors import JudgeReplyError
from framejudge.judge.client import JudgeOutcome
from framejudge.judge.parsing import read_completion
from framejudge.judge.request import JudgeRequest, text_sha256
from framejudge.schemas import Evidence

__all__ = ["DEFAULT_MAX_BYTES", "JudgeCache", "default_path"]

DEFAULT_MAX_BYTES = 256 * 1024 * 1024


def default_path() -> Path:
    """Return where answers are kept unless another place is named."""
    return cache_root() / "judge" / "answers.sqlite"


class JudgeCache:
    """Accepted answers by request; safe from several processes, bounded."""

    def __init__(self, path: Path | None = None, *, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        """Take a path; nothing is opened yet.

        Args:
            path: the file; default: in framejudge's cache folder.
            max_bytes: bound on the file; the longest unused answers are dropped first.
        """
        self.store = ByteStore(
            path or default_path(), max_bytes=max_bytes, log="framejudge.judge.cache"
        )

    def get(self, request: JudgeRequest, *, repeat: int = 0) -> JudgeOutcome | None:
        """Return the stored answer to the very same request, or None."""
        (found,) = self.store.get_many([_key(request, repeat)])
        if found is None:
            return None
        try:
            evidence = Evidence.model_validate_json(found)
            raw = evidence.provider.raw_response
            backend = request.settings.backend
            if backend == "stub" or evidence.provider.raw_response_sha256 != text_sha256(raw):
                return None
            completion = read_completion(
                raw, backend=backend, requested_model=request.settings.model
            )
        except (ValidationError, JudgeReplyError, ValueError):
            return None
        same = evidence.request.request_manifest_sha256 == request.manifest.sha256()
        return JudgeOutcome(verdict=completion.verdict, evidence=evidence) if same else None

    def put(self, request: JudgeRequest, outcome: JudgeOutcome, *, repeat: int = 0) -> None:
        """Keep an accepted answer."""
        self.store.put_many([(_key(request, repeat), outcome.evidence.model_dump_json().encode())])


def _key(request: JudgeRequest, repeat: int) -> bytes:
    parts = {
        "manifest": request.manifest.sha256(),
        "endpoint": text_sha256(request.settings.url),
        "repeat": repeat,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
