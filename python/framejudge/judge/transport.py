"""HTTP to a judge: one pooled client, retries, deadlines. The only module that imports httpx."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Self

import httpx
import stamina

from framejudge.errors import JudgeAuthError, JudgeTransportError
from framejudge.schemas import Attempt

__all__ = ["Answer", "Transport", "decoded"]

_CONNECT_TIMEOUT_S = 5.0
_MAX_RESPONSE_BYTES = 8 << 20
_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
_REFUSED_KEY = frozenset({401, 403})
_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A response and the attempts that led to it; its status is 2xx unless asked for otherwise."""

    status_code: int
    text: str
    content: bytes
    """What `text` was decoded from."""
    request_id: str | None
    latency_s: float
    requested_at: str
    attempts: tuple[Attempt, ...]


logger = logging.getLogger("framejudge.judge")


class _Retry(Exception):  # noqa: N818 - a signal between two attempts
    def __init__(
        self, error: JudgeTransportError, wait_s: float | None, *, until_ready: bool = False
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.wait_s = wait_s
        self.until_ready = until_ready


class Transport:
    """A pool of connections to one address; use it as an asynchronous context manager."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str = "",
        timeout_s: float = 120.0,
        concurrency: int = 1,
        max_attempts: int = 5,
        deadline_s: float | None = None,
        ready_timeout_s: float = 0.0,
    ) -> None:
        """Make a client; nothing is sent yet.

        Args:
            url: of chat completions.
            api_key: sent as a bearer token unless empty.
            timeout_s: of one attempt.
            concurrency: connections at once.
            max_attempts: attempts of one call, the first among them.
            deadline_s: of one call with all its attempts; None for three times `timeout_s`.
            ready_timeout_s: how long a server may take to accept its first connection.
        """
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._url = url
        self._key = api_key
        self._timeout_s = timeout_s
        self._max_attempts = max_attempts
        self._deadline_s = 3 * timeout_s if deadline_s is None else deadline_s
        self._ready_by = time.monotonic() + ready_timeout_s
        self._has_answered = ready_timeout_s <= 0
        self._has_told = False
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(timeout_s, connect=min(_CONNECT_TIMEOUT_S, timeout_s)),
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
            follow_redirects=False,  # the key is for this address alone
        )

    async def __aenter__(self) -> Self:
        """Open the pool."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close every connection."""
        await self._client.aclose()

    async def post(self, body: Mapping[str, Any]) -> Answer:
        """Send one request until it is answered, refused for good, or too late.

        Raises:
            JudgeAuthError: status 401 or 403.
            JudgeTransportError: no connection, another error status, or none before the deadline.
        """
        return await self._send("POST", self._url, body)

    async def post_once(self, content: bytes) -> Answer:
        """Send exactly these bytes exactly once, and return the answer whatever its status.

        Args:
            content: the request's JSON.

        Raises:
            JudgeTransportError: no whole answer: no connection, cut off, too long or too late.
                The message names no address.
        """
        started_at = datetime.now(UTC).isoformat()
        start = time.perf_counter()
        headers = {"Content-Type": "application/json"}
        try:
            async with (
                asyncio.timeout(self._deadline_s),
                self._client.stream(
                    "POST", self._url, content=content, headers=headers
                ) as response,
            ):
                received = await _content_of(response)
        except TimeoutError:
            raise JudgeTransportError(f"no answer within {self._deadline_s:g} s") from None
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise JudgeTransportError(self._without_key(_kind(error))) from None
        latency_s = round(time.perf_counter() - start, 6)
        status = response.status_code
        attempt = Attempt(
            number=1,
            started_at=started_at,
            latency_s=latency_s,
            status_code=status,
            error=None if response.is_success else f"HTTP {status}",
        )
        return Answer(
            status_code=status,
            text=decoded(received),
            content=received,
            request_id=_request_id(response.headers),
            latency_s=latency_s,
            requested_at=started_at,
            attempts=(attempt,),
        )

    async def get(self, url: str) -> Answer:
        """Read another of the server's addresses; as `post` in everything else."""
        return await self._send("GET", url, None)

    async def _send(self, method: str, url: str, body: Mapping[str, Any] | None) -> Answer:
        attempts: list[Attempt] = []
        try:
            async with asyncio.timeout(self._deadline_s + self._time_to_be_ready()):
                return await self._send_until_answered(method, url, body, attempts)
        except TimeoutError:
            seen = f"; the last: {attempts[-1].error}" if attempts else ""
            raise JudgeTransportError(
                f"no answer within {self._deadline_s:g} s and {len(attempts)} attempt(s){seen}"
            ) from None

    async def _send_until_answered(
        self, method: str, url: str, body: Mapping[str, Any] | None, attempts: list[Attempt]
    ) -> Answer:
        def wait_or_stop(error: Exception) -> bool | float:
            if not isinstance(error, _Retry):
                return False
            if len(attempts) >= self._max_attempts and not error.until_ready:
                return False
            return True if error.wait_s is None else error.wait_s

        waited_from = time.monotonic()
        try:
            async for attempt in stamina.retry_context(
                on=wait_or_stop,
                attempts=None,
                timeout=None,
                wait_initial=0.5,
                wait_max=15.0,
                wait_jitter=0.5,
            ):
                with attempt:
                    waited_s = time.monotonic() - waited_from if attempts else 0.0
                    try:
                        return await self._send_once(method, url, body, attempts, waited_s)
                    finally:
                        waited_from = time.monotonic()
        except _Retry as error:
            raise error.error from None
        raise AssertionError  # stamina either returns, or raises what the last attempt raised

    async def _send_once(
        self,
        method: str,
        url: str,
        body: Mapping[str, Any] | None,
        attempts: list[Attempt],
        waited_s: float,
    ) -> Answer:
        started_at = datetime.now(UTC).isoformat()
        start = time.perf_counter()
        status: int | None = None
        problem: str | None = None
        try:
            async with self._client.stream(method, url, json=body) as response:
                status = response.status_code
                content = await _content_of(response)
            text = decoded(content)
            if response.is_success:
                self._has_answered = True
                latency_s = round(time.perf_counter() - start, 6)
                attempts.append(
                    Attempt(
                        number=len(attempts) + 1,
                        started_at=started_at,
                        latency_s=latency_s,
                        status_code=status,
                        error=None,
                        waited_s=round(waited_s, 6),
                    )
                )
                return Answer(
                    status_code=status,
                    text=text,
                    content=content,
                    request_id=_request_id(response.headers),
                    latency_s=latency_s,
                    requested_at=started_at,
                    attempts=tuple(attempts),
                )
            problem = f"HTTP {status}: {self._without_key(text[:_SHOWN])}"
            raise self._status_error(status, problem, response.headers)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            problem = f"{url}: no connection ({_kind(error)})"
            raise self._connection_error(problem) from None
        except httpx.RequestError as error:
            problem = f"{url}: {_kind(error)}"
            raise _Retry(JudgeTransportError(problem), None) from None
        except httpx.InvalidURL as error:
            problem = f"{url}: {error}"
            raise JudgeTransportError(problem) from None
        except JudgeTransportError as error:
            problem = problem or str(error)
            raise
        finally:
            if problem is not None:
                attempts.append(
                    Attempt(
                        number=len(attempts) + 1,
                        started_at=started_at,
                        latency_s=round(time.perf_counter() - start, 6),
                        status_code=status,
                        error=problem,
                        waited_s=round(waited_s, 6),
                    )
                )

    def _status_error(self, status: int, problem: str, headers: httpx.Headers) -> Exception:
        error = (JudgeAuthError if status in _REFUSED_KEY else JudgeTransportError)(problem)
        error.status_code = status
        return _Retry(error, _retry_after_s(headers)) if status in _RETRIED else error

    def _connection_error(self, problem: str) -> Exception:
        """A server that is being started refuses connections until it is ready."""
        left_s = self._ready_by - time.monotonic()
        is_starting = not self._has_answered and left_s > 0
        if is_starting and not self._has_told:
            self._has_told = True
            logger.warning("%s; waiting for it to start, at most %.0f s", problem, left_s)
        return _Retry(JudgeTransportError(problem), None, until_ready=is_starting)

    def _time_to_be_ready(self) -> float:
        return 0.0 if self._has_answered else max(0.0, self._ready_by - time.monotonic())

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


async def _content_of(response: httpx.Response) -> bytes:
    """Read a body of bounded size."""
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > _MAX_RESPONSE_BYTES:
            raise JudgeTransportError(
                f"HTTP {response.status_code}: a response of over {_MAX_RESPONSE_BYTES} bytes"
            )
        parts.append(part)
    return b"".join(parts)


def decoded(content: bytes) -> str:
    """Return a response's text: JSON is UTF-8 whatever the header says; other bytes are U+FFFD."""
    return content.decode("utf-8", "replace")


def _retry_after_s(headers: httpx.Headers) -> float | None:
    """How long the server asks to wait: seconds, or a date."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, TypeError):
            return None
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124 - NaN


def _request_id(headers: httpx.Headers) -> str | None:
    names = ("x-request-id", "x-nebius-request-id", "request-id")
    return next((headers[name] for name in names if headers.get(name)), None)


def _kind(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
