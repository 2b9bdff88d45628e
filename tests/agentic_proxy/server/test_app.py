"""The route table, and what every answer carries."""

from __future__ import annotations

from typing import Any

import aiohttp
import orjson
import pytest
import structlog

from support.http_server import running
from translators.failure import Failure


def error(answer: Any) -> dict[str, Any]:
    found = orjson.loads(answer.body)["error"]
    assert list(found) == ["message", "type", "code", "param"]
    return dict(found)


@pytest.mark.parametrize(
    ("method", "path", "status", "code", "allow"),
    [
        ("GET", "/v1", 404, "not_found", None),
        ("GET", "/v1/response", 404, "not_found", None),
        ("POST", "/responses", 404, "not_found", None),
        ("GET", "/v1/responses/", 404, "not_found", None),
        ("GET", "/v1/models/", 404, "not_found", None),
        ("GET", "/v1/responses", 405, "method_not_allowed", "POST"),
        ("DELETE", "/v1/responses", 405, "method_not_allowed", "POST"),
        ("PUT", "/v1/models", 405, "method_not_allowed", "GET, HEAD"),
        ("DELETE", "/v1/models/a/b", 405, "method_not_allowed", "GET, HEAD"),
        ("POST", "/health", 405, "method_not_allowed", "GET, HEAD"),
        ("OPTIONS", "/ready", 405, "method_not_allowed", "GET, HEAD"),
    ],
)
async def test_what_is_not_there_is_a_json_error(
    method: str, path: str, status: int, code: str, allow: str | None
) -> None:
    async with running() as server:
        answer = await server.get(path, method=method)
        assert (answer.status, error(answer)["code"], answer.headers.get("allow")) == (status, code, allow)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-should-retry"] == "false"


async def test_every_answer_has_its_own_request_id_and_no_version() -> None:
    async with running() as server:
        answers = [await server.get("/health"), await server.get("/nothing"), await server.post(b"{}")]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3
    assert {answer.headers["server"] for answer in answers} == {"agentic-proxy"}


async def test_a_query_does_not_change_the_route() -> None:
    async with running() as server:
        assert (await server.get("/health?x=/v1/responses")).status == 200


async def test_a_failure_of_the_engine_is_its_status_code_and_retry_hints() -> None:
    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        raise Failure("rate_limit_exceeded", "Slow down.", retry_after=1.2)

    async with running(turn=turn) as server:
        for stream in (b"true", b"false"):
            answer = await server.post(b'{"model":"m","input":"hi","stream":%s}' % stream)
            assert answer.status == 429
            assert answer.headers["retry-after"] == "2"
            assert "x-should-retry" not in answer.headers
            assert error(answer) == {
                "message": "Slow down.", "type": "rate_limit_error", "code": "rate_limit_exceeded", "param": None
            }


@pytest.mark.parametrize("kind", [ValueError, ConnectionResetError])
async def test_a_bug_before_the_head_is_a_500_that_names_its_log_line(kind: type[Exception]) -> None:
    # Made here: an exception keeps what it was raised through, and pytest keeps its parameters to the end of the run.
    exc = kind("secret text of something that is not the client")

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        raise exc

    with structlog.testing.capture_logs() as lines:
        async with running(turn=turn) as server:
            answer = await server.post(b'{"model":"m","input":"hi","stream":true}')
    rid = answer.headers["x-request-id"]
    assert (answer.status, error(answer)["code"], rid in error(answer)["message"]) == (500, "internal_error", True)
    assert b"secret text" not in answer.body
    assert [(line["event"], line["request_id"], line["exc_info"]) for line in lines] == [("internal_error", rid, exc)]


@pytest.mark.parametrize(
    ("exc", "event"), [(ValueError("bug"), "internal_error"), (Failure("store_failed", "Gone."), "stream_broke")]
)
async def test_what_breaks_after_the_head_closes_the_connection_without_an_end_of_the_body(
    exc: Exception, event: str
) -> None:
    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        await sink.start()
        await sink.write(b"data: 1\n\n")
        raise exc

    with structlog.testing.capture_logs() as lines:
        async with running(turn=turn) as server, aiohttp.ClientSession() as session:
            request = {"model": "m", "input": "hi", "stream": True}
            async with session.post(server.url + "/v1/responses", json=request) as response:
                with pytest.raises(aiohttp.ClientPayloadError):
                    await response.read()
    assert lines[-1]["event"] == event
