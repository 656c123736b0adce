"""A real HTTP server that speaks the chat-completions protocol as the test tells it to."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

GOOD = {"success": True, "score": 0.9, "rationale": "Frame 1 shows it."}


def completion(
    content: Any = None, *, model: str | None = "judge", finish: Any = "stop", **extra: Any
) -> dict[str, Any]:
    """A chat completion; content that is no text is sent as JSON text."""
    content = GOOD if content is None else content
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    if finish is not None:
        choice["finish_reason"] = finish
    usage = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return {"id": "r1", "model": model, "choices": [choice], "usage": usage, **extra}


def accepted(number: int, body: dict[str, Any]) -> dict[str, Any]:
    """The answer of a judge that is content with everything."""
    return completion(model=body["model"])


Answer = Callable[[int, dict[str, Any]], Any]


@dataclass
class JudgeServer:
    """Answers request n with `answer(n, body)`: a dict, a Response, or an awaitable of one."""

    answer: Answer = accepted
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    models: Any = None
    """What its list of models answers; None for a server that has no such list."""
    checks: int = 0
    keep_requests: bool = True
    at_once: int = 0
    most_at_once: int = 0
    url: str = ""
    alone: bool = False
    """Whether nothing answers at its address afterwards."""

    async def handle(self, request: Request) -> Response:
        body = await request.json()
        number = len(self.requests)
        self.requests.append(body if self.keep_requests else {})
        self.headers.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            answer = self.answer(number, body)
            if asyncio.iscoroutine(answer):
                answer = await answer
        finally:
            self.at_once -= 1
        return answer if isinstance(answer, Response) else JSONResponse(answer)

    async def list_models(self, request: Request) -> Response:
        self.checks += 1
        if self.models is None:
            return Response("not found", 404)
        if isinstance(self.models, Response):
            return self.models
        return JSONResponse({"object": "list", "data": [{"id": name} for name in self.models]})

    def __enter__(self) -> Self:
        self._host = _Host() if self.alone else _Host.shared()
        self.url = self._host.add(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._host.remove(self)
        if self.alone:
            self._host.stop()


class _Host:
    """A server for many: to start and to stop one for each test would take longer than the test."""

    _shared: ClassVar[_Host | None] = None

    def __init__(self) -> None:
        self._guests: dict[str, JudgeServer] = {}
        self._count = 0
        routes = [
            Route("/{guest}/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/{guest}/v1/models", self._list, methods=["GET"]),
        ]
        self._socket = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="error", lifespan="off", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )
        self._thread.start()

    @classmethod
    def shared(cls) -> _Host:
        if cls._shared is None:
            cls._shared = cls()
        return cls._shared

    def add(self, guest: JudgeServer) -> str:
        self._count += 1
        name = f"judge-{self._count}"
        self._guests[name] = guest
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/{name}/v1"

    def remove(self, guest: JudgeServer) -> None:
        self._guests = {name: one for name, one in self._guests.items() if one is not guest}

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=20)
        self._socket.close()

    async def _complete(self, request: Request) -> Response:
        guest = self._guests.get(request.path_params["guest"])
        return Response("gone", 410) if guest is None else await guest.handle(request)

    async def _list(self, request: Request) -> Response:
        guest = self._guests.get(request.path_params["guest"])
        return Response("gone", 410) if guest is None else await guest.list_models(request)
