"""``/v1/responses``: what reaches the engine and what comes back."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import structlog

from agentic_proxy.config.model import Config, Models, Server
from support.http_server import running


async def test_a_blocking_request_gets_the_final_object_as_json() -> None:
    async with running() as server:
        answer = await server.post(b'{"model":"m","input":"hi","unknown":[1]}')
        assert answer.status == 200
        assert answer.headers["content-type"] == "application/json"
        assert orjson.loads(answer.body) == {"id": "resp_1", "object": "response", "model": "m"}
        (request,) = server.engine.requests
        assert (request.client, request.stream) == ("responses", False)
        assert request.body == {"model": "m", "input": "hi", "unknown": [1]}


async def test_a_request_without_a_model_gets_the_default_one() -> None:
    async with running(Config(models=Models(default="kimi/k3"))) as server:
        for body in (b'{"input":"hi"}', b'{"model":null,"input":"hi"}'):
            assert (await server.post(body)).status == 200
        assert [request.body["model"] for request in server.engine.requests] == ["kimi/k3", "kimi/k3"]


@pytest.mark.parametrize(
    ("body", "code", "param"),
    [
        (b'{"input":"hi"}', "invalid_request_error", "model"),
        (b'{"model":"m"}', "invalid_request_error", "input"),
        (b'{"model":"m","input":"hi","stream":"yes"}', "invalid_request_error", "stream"),
        (b"not json", "invalid_request_error", None),
    ],
)
async def test_a_request_of_the_wrong_shape_never_reaches_the_engine(body: bytes, code: str, param: str | None) -> None:
    async with running() as server:
        answer = await server.post(body)
        error = orjson.loads(answer.body)["error"]
        assert (answer.status, error["code"], error["param"]) == (400, code, param)
        assert server.engine.requests == []


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/responses?x=1"])
async def test_a_websocket_handshake_is_426_when_switched_off_so_that_codex_falls_back_at_once(path: str) -> None:
    async with running(Config(server=Server(websocket=False))) as server:
        answer = await server.get(
            path, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        )
        assert (answer.status, answer.headers["connection"], answer.closed) == (426, "close", True)
        assert orjson.loads(answer.body)["error"]["code"] == "websocket_unavailable"


async def test_a_lone_surrogate_in_the_response_is_escaped() -> None:
    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        return {"instructions": request.body["instructions"]}

    async with running(turn=turn) as server:
        answer = await server.post(b'{"model":"m","input":"hi","instructions":"a\\ud83d"}')
        assert answer.body == b'{"instructions":"a\\ud83d"}'


async def test_a_stream_that_the_engine_never_starts_is_our_bug() -> None:
    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        return {}

    with structlog.testing.capture_logs() as lines:
        async with running(turn=turn) as server:
            answer = await server.post(b'{"model":"m","input":"hi","stream":true}')
    assert (answer.status, [line["event"] for line in lines]) == (500, ["internal_error"])
