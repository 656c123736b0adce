"""Asks a judge, and keeps evidence of what was asked and answered."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass
from typing import Self

from framejudge.errors import (
    ConfigurationError,
    JudgeAuthError,
    JudgeReplyError,
    JudgeTransportError,
)
from framejudge.judge.backends import JudgeSettings
from framejudge.judge.parsing import ParsedVerdict, read_completion
from framejudge.judge.request import JudgeRequest, text_sha256
from framejudge.judge.transport import Answer, Transport
from framejudge.schemas import Evidence, ProviderEvidence

__all__ = ["JudgeClient", "JudgeOutcome"]

_AUTH_ERRORS_TO_STOP = 3
_NAMES_SHOWN = 8

logger = logging.getLogger("framejudge.judge")


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOutcome:
    """An accepted verdict and its evidence."""

    verdict: ParsedVerdict
    evidence: Evidence


class JudgeClient:
    """One judge, many questions, a bounded number at once; an asynchronous context manager."""

    def __init__(
        self,
        settings: JudgeSettings,
        *,
        concurrency: int = 1,
        max_attempts: int = 5,
        deadline_s: float | None = None,
    ) -> None:
        """Take a judge that `resolve_judge` has settled.

        Args:
            settings: which judge.
            concurrency: questions at once.
            max_attempts: attempts of one question, the first among them.
            deadline_s: of one question with all its attempts; default three times the timeout.
        """
        self.settings = settings
        self._slots = asyncio.Semaphore(concurrency)
        self._auth_errors = 0
        self._transport = Transport(
            settings.url,
            api_key=settings.api_key,
            timeout_s=settings.timeout_s,
            concurrency=concurrency,
            max_attempts=max_attempts,
            deadline_s=deadline_s,
            ready_timeout_s=settings.ready_timeout_s if settings.backend == "self-hosted" else 0.0,
        )

    async def __aenter__(self) -> Self:
        """Open the pool of connections."""
        await self._transport.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        """Close it."""
        await self._transport.__aexit__(*error)

    async def check(self) -> None:
        """Ask the server for its models, before anything is read or decoded for it.

        A self-hosted server is waited for. One that lists no models is not asked further, and a
        self-hosted one may serve a model under another name: that is a warning.

        Raises:
            JudgeTransportError: there is no server; `JudgeAuthError` if it refuses the key.
            ConfigurationError: a hosted one does not have the model.
        """
        try:
            answer = await self._transport.get(self.settings.models_url)
        except JudgeTransportError as error:
            if isinstance(error, JudgeAuthError) or error.status_code is None:
                raise
            return
        names = _model_names(answer.text)
        if not names or self.settings.model in names:
            return
        shown = ", ".join(names[:_NAMES_SHOWN]) + (" ..." if len(names) > _NAMES_SHOWN else "")
        told = f"{self.settings.model!r} is none of the server's models: {shown}"
        if self.settings.enforces_model:
            raise ConfigurationError(f"model: {told}")
        logger.warning("%s; it is asked for all the same", told)

    async def ask(self, request: JudgeRequest) -> JudgeOutcome:
        """Put one question and read the answer strictly.

        Raises:
            JudgeTransportError: no usable answer; `JudgeAuthError` if the key was refused, also
                without a call once it was refused several times in a row.
            JudgeReplyError: an answer that is no completed, well-formed verdict.
        """
        async with self._slots:
            if self._auth_errors >= _AUTH_ERRORS_TO_STOP:
                raise JudgeAuthError(
                    f"not sent: the key was refused {self._auth_errors} times in a row"
                )
            try:
                answer = await self._transport.post(request.body())
            except JudgeAuthError:
                self._auth_errors += 1
                raise
            self._auth_errors = 0
        return self._read(request, answer)

    def _read(self, request: JudgeRequest, answer: Answer) -> JudgeOutcome:
        backend = self.settings.backend
        if backend == "stub":
            raise JudgeReplyError("the stub is no judge and can't be asked")
        if self.settings.api_key and self.settings.api_key in answer.text:
            raise JudgeReplyError("the response repeats the API key; it is not kept")
        completion = read_completion(
            answer.text, backend=backend, requested_model=self.settings.model
        )
        provider = ProviderEvidence(
            provider_request_id=completion.provider_request_id or answer.request_id,
            returned_model=completion.returned_model,
            finish_reason=completion.finish_reason,
            latency_s=answer.latency_s,
            status_code=answer.status_code,
            usage=completion.usage,
            raw_response=answer.text,
            raw_response_sha256=text_sha256(answer.text),
            parser_version=completion.verdict.parser_version,
        )
        evidence = Evidence(
            request=request.evidence(answer.requested_at),
            provider=provider,
            attempts=list(answer.attempts),
            prompt_version=request.prompt_version,
        )
        return JudgeOutcome(verdict=completion.verdict, evidence=evidence)


def _model_names(body: str) -> list[str]:
    """The ids of a list of models; none where the answer is something else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return []
    entries = found.get("data") if isinstance(found, dict) else None
    ids = [entry.get("id") for entry in entries or () if isinstance(entry, dict)]
    return [name for name in ids if isinstance(name, str)]
