"""A judge that is slow, busy, broken or refuses: over real HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from starlette.responses import RedirectResponse, Response, StreamingResponse

import judge_server
from framejudge.errors import (
    ConfigurationError,
    JudgeAuthError,
    JudgeReplyError,
    JudgeTransportError,
)
from framejudge.judge import JudgeClient, JudgeRequest, resolve_judge
from framejudge.schemas import FrameEvidence, SubmittedFrame

completion, GOOD = judge_server.completion, judge_server.GOOD

KEY = "sk-not-for-any-log"


@pytest.fixture
def server():
    with judge_server.JudgeServer() as running:
        yield running


def frame():
    evidence = FrameEvidence(
        label="a.png",
        media_type="image/png",
        sha256="0" * 64,
        byte_count=3,
        width=1,
        height=1,
        source_kind="image-sequence",
        source_index=0,
        source_count=1,
        source_timestamp_s=None,
    )
    return SubmittedFrame(data=b"png", evidence=evidence)


def settings(server, monkeypatch, **options):
    monkeypatch.setenv("VLM_EVAL_API_KEY", KEY)
    given = {"backend": "api", "model": "judge", "endpoint_url": server.url, "timeout_s": 5}
    return resolve_judge(**given | options)


def request(of):
    return JudgeRequest(
        settings=of,
        task="place the cube",
        rubric="strict",
        frame_selection="final",
        max_frames=1,
        frames=(frame(),),
    )


def ask(of, times=1, **options):
    async def run():
        async with JudgeClient(of, concurrency=8, **options) as client:
            asked = [client.ask(request(of)) for _ in range(times)]
            return await asyncio.gather(*asked, return_exceptions=True)

    return asyncio.run(run())


def failure(of, **options):
    (error,) = ask(of, **options)
    assert isinstance(error, Exception), error
    assert KEY not in str(error)
    return error


def busy_until(count, status=503, **headers):
    def answer(number, body):
        if number < count:
            return Response("busy", status, headers=headers)
        return completion(model=body["model"])

    return answer


def test_the_request_is_the_documented_one(server, monkeypatch):
    of = settings(server, monkeypatch)
    (outcome,) = ask(of)
    (body,) = server.requests
    assert body["model"] == "judge"
    assert body["temperature"] == 0
    assert body["response_format"] == {"type": "json_object"}
    assert "max_tokens" not in body
    (message,) = body["messages"]
    prompt, label, image = message["content"]
    assert message["role"] == "user"
    assert prompt["text"] == request(of).prompt
    assert label == {"type": "text", "text": "Frame 1"}
    assert image["image_url"]["url"] == "data:image/png;base64,cG5n"
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    evidence = outcome.evidence
    assert evidence.request.request_manifest_sha256 == evidence.request.request_manifest.sha256()
    assert evidence.provider.usage == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
    }
    assert [attempt.status_code for attempt in evidence.attempts] == [200]
    assert KEY not in evidence.model_dump_json()
    assert server.url not in evidence.model_dump_json()
    assert KEY not in repr(of)


def test_a_keyless_local_server_gets_no_key(server, monkeypatch):
    monkeypatch.delenv("VLM_EVAL_API_KEY", raising=False)
    of = resolve_judge(endpoint_url=server.url, model="judge")
    assert ask(of)[0].verdict.success
    assert "authorization" not in server.headers[0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 504])
def test_a_passing_trouble_is_tried_again_and_recorded(server, monkeypatch, status):
    server.answer = busy_until(1, status)
    (outcome,) = ask(settings(server, monkeypatch))
    assert [a.status_code for a in outcome.evidence.attempts] == [status, 200]
    assert outcome.evidence.attempts[0].error.startswith(f"HTTP {status}: busy")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_lasting_refusal_is_not_tried_again(server, monkeypatch, status):
    server.answer = busy_until(99, status)
    error = failure(settings(server, monkeypatch))
    assert isinstance(error, JudgeTransportError)
    assert isinstance(error, JudgeAuthError) == (status in {401, 403})
    assert str(status) in str(error)
    assert len(server.requests) == 1


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_honoured_in_both_forms(server, monkeypatch, form):
    later = datetime.now(UTC) + timedelta(seconds=3)
    value = "2" if form == "seconds" else format_datetime(later, usegmt=True)
    server.answer = busy_until(1, 429, **{"Retry-After": value})
    (outcome,) = ask(settings(server, monkeypatch))
    assert outcome.evidence.attempts[1].waited_s > 1.5


def test_it_gives_up_after_its_attempts(server, monkeypatch):
    server.answer = busy_until(99, 429, **{"Retry-After": "0"})
    error = failure(settings(server, monkeypatch), max_attempts=3)
    assert "HTTP 429" in str(error)
    assert len(server.requests) == 3


def test_a_deadline_holds_whatever_the_server_asks_for(server, monkeypatch):
    server.answer = busy_until(99, 429, **{"Retry-After": "3600"})
    start = time.monotonic()
    error = failure(settings(server, monkeypatch), deadline_s=0.5)
    assert time.monotonic() - start < 10
    assert "no answer within 0.5 s" in str(error)
    assert "HTTP 429" in str(error)


def test_several_refused_keys_stop_the_calls_that_wait(server, monkeypatch):
    server.answer = busy_until(999, 401)
    errors = ask(settings(server, monkeypatch), times=40)
    assert all(isinstance(error, JudgeAuthError) for error in errors)
    assert len(server.requests) < 40
    assert "not sent" in str(errors[-1])


def test_a_server_that_is_being_started_is_waited_for(server, monkeypatch, caplog):
    monkeypatch.delenv("VLM_EVAL_API_KEY", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    of = resolve_judge(endpoint_url=f"http://127.0.0.1:{port}", model="judge")

    async def run():
        async with JudgeClient(of) as client:
            asked = asyncio.create_task(client.ask(request(of)))
            await asyncio.sleep(0.3)
            listener = await asyncio.start_server(answer_once, "127.0.0.1", port)
            async with listener:
                return await asked

    async def answer_once(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        text = judge_server.json.dumps(completion()).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        await writer.drain()
        writer.close()

    outcome = asyncio.run(run())
    assert outcome.verdict.success
    assert [record.message for record in caplog.records if "waiting" in record.message] != []
    assert "no connection" in outcome.evidence.attempts[0].error


@pytest.mark.parametrize("trouble", ["drop", "reset", "truncate"])
def test_a_connection_that_breaks_is_tried_again(trouble, monkeypatch):
    monkeypatch.delenv("VLM_EVAL_API_KEY", raising=False)
    text = judge_server.json.dumps(completion()).encode()
    seen = []

    async def answer(reader, writer):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        seen.append(trouble)
        is_first = len(seen) == 1
        if is_first and trouble == "reset":
            linger = struct.pack("ii", 1, 0)  # close() sends RST
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        if not is_first or trouble == "truncate":
            claimed = len(text)
            sent = text[: len(text) // 2] if is_first else text
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % claimed + sent)
            await writer.drain()
        writer.close()

    async def run():
        listener = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with listener:
            port = listener.sockets[0].getsockname()[1]
            of = resolve_judge(endpoint_url=f"http://127.0.0.1:{port}", model="judge")
            async with JudgeClient(of) as client:
                return await client.ask(request(of))

    attempts = asyncio.run(run()).evidence.attempts
    assert len(attempts) == 2
    assert attempts[0].error
    assert attempts[1].error is None


def test_no_server_at_all_is_an_error_that_names_the_address(monkeypatch):
    monkeypatch.setenv("FRAMEJUDGE_VLM_READY_TIMEOUT_S", "0.2")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    of = resolve_judge(endpoint_url=f"http://127.0.0.1:{port}/v1", model="judge")
    error = failure(of, max_attempts=2)
    assert f"127.0.0.1:{port}" in str(error)


def test_a_redirect_is_not_followed_with_the_key(server, monkeypatch):
    server.answer = lambda _number, _body: RedirectResponse("http://127.0.0.1:1/elsewhere", 307)
    assert "HTTP 307" in str(failure(settings(server, monkeypatch)))


def test_a_huge_response_is_refused_not_read_into_memory(server, monkeypatch):
    async def endless():
        for _ in range(1000):
            yield b"x" * 100_000

    server.answer = lambda _number, _body: StreamingResponse(endless())
    assert "over" in str(failure(settings(server, monkeypatch)))


def test_a_slow_response_ends_with_the_timeout(server, monkeypatch):
    async def slow(_number, _body):
        await asyncio.sleep(30)

    server.answer = slow
    error = failure(settings(server, monkeypatch, timeout_s=0.3), max_attempts=2)
    assert isinstance(error, JudgeTransportError)


def test_an_error_body_that_echoes_the_key_is_shown_without_it(server, monkeypatch):
    server.answer = lambda _number, _body: Response(f"bad key {KEY}", 403)
    assert "bad key [key]" in str(failure(settings(server, monkeypatch)))


@pytest.mark.parametrize("charset", ["bogus", "hex", "unicode_escape", "latin-1"])
def test_json_is_utf_8_whatever_the_header_says(server, monkeypatch, charset):
    body = json.dumps(completion(GOOD | {"rationale": "ü\\ud"}), ensure_ascii=False)
    headers = {"content-type": f"application/json; charset={charset}"}
    server.answer = lambda _n, _b: Response(body.encode(), headers=headers)
    (outcome,) = ask(settings(server, monkeypatch))
    assert outcome.evidence.provider.raw_response == body
    assert outcome.verdict.rationale == "ü\\ud"


def test_a_body_that_is_not_coded_as_it_says_is_tried_again(server, monkeypatch):
    torn = Response("junk", headers={"content-encoding": "gzip"})
    server.answer = lambda n, body: completion(model=body["model"]) if n else torn
    (outcome,) = ask(settings(server, monkeypatch))
    assert [attempt.status_code for attempt in outcome.evidence.attempts] == [200, 200]
    assert "DecodingError" in outcome.evidence.attempts[0].error


def test_bytes_that_are_no_utf_8_are_kept_as_decoded_text(server, monkeypatch):
    text = judge_server.json.dumps(completion()).encode().replace(b"shows", b"sh\xffws")
    server.answer = lambda _number, _body: Response(text, media_type="application/json")
    (outcome,) = ask(settings(server, monkeypatch))
    assert "sh\ufffdws" in outcome.verdict.rationale


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (completion(model="other"), "another model answered"),
        (completion(finish="length"), "finish_reason must be 'stop', got 'length'"),
        (completion(finish="content_filter"), "got 'content_filter'"),
        (completion("```json\n{}"), "not one JSON object"),
        ({"error": {"message": "overloaded"}}, "no choices"),
    ],
)
def test_an_answer_that_is_no_verdict_is_not_asked_for_again(server, monkeypatch, answer, message):
    server.answer = lambda _number, _body: answer
    error = failure(settings(server, monkeypatch))
    assert isinstance(error, JudgeReplyError)
    assert message in str(error)
    assert len(server.requests) == 1


def test_no_more_calls_than_allowed_run_at_once(server, monkeypatch):
    async def later(_number, body):
        await asyncio.sleep(0.05)
        return completion(model=body["model"])

    server.answer = later
    outcomes = ask(settings(server, monkeypatch), times=24)
    assert all(outcome.verdict.success for outcome in outcomes)
    assert 1 < server.most_at_once <= 8


def test_an_answer_that_could_not_be_written_again_is_rejected(server, monkeypatch):
    usage = {}
    for _ in range(300):
        usage = {"deeper": usage}
    server.answer = lambda _n, _b: {**judge_server.completion(), "usage": usage}
    error = failure(settings(server, monkeypatch))
    assert isinstance(error, JudgeReplyError)
    assert str(error) == "the response nests deeper than 64"


def test_what_may_be_the_key_itself_is_not_shown():
    with pytest.raises(ConfigurationError) as caught:
        resolve_judge(backend="api", api_key_env="sk-the-key-by-mistake")
    assert "sk-" not in str(caught.value)
