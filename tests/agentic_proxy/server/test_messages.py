"""``/v1/messages`` and the root. What both formats share is in test_exchange.py."""

from __future__ import annotations

import orjson
import pytest

from agentic_proxy.config.model import Config, Server
from agentic_proxy.config.secrets import Secret
from support.http_server import running

HI = b'{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}'


async def test_errors_come_in_anthropics_envelope_with_the_id_of_the_request() -> None:
    async with running() as server:
        answer = await server.post(b'{"model":"m"}', path="/v1/messages")
    made = orjson.loads(answer.body)
    assert answer.status == 400
    assert (made["type"], made["error"]["type"]) == ("error", "invalid_request_error")
    assert made["request_id"] == answer.headers["request-id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/v1/messages/count_tokens", "/v1/messages/count_tokens?beta=true"])
async def test_tokens_are_counted_without_a_turn(path: str) -> None:
    async with running() as server:
        answer = await server.post(HI, "anthropic-beta: effort-2025-11-24,novel-1", path=path)
        assert (server.engine.requests, server.engine.counting.betas) == ([], [("effort-2025-11-24",)])
    assert (answer.status, orjson.loads(answer.body)) == (200, {"input_tokens": 7})


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_somebody_is_there(method: str) -> None:
    async with running() as server:
        assert (await server.get("/", method=method)).status == 200


@pytest.mark.parametrize("header", ["x-api-key: k1", "Authorization: Bearer k1"])
async def test_either_header_shows_the_key(header: str) -> None:
    async with running(Config(server=Server(api_keys=(Secret("k1"),)))) as server:
        assert (await server.post(HI, header, path="/v1/messages")).status == 200
        refused = await server.post(HI, path="/v1/messages")
    assert (refused.status, orjson.loads(refused.body)["error"]["type"]) == (401, "authentication_error")


async def test_known_betas_reach_the_engine() -> None:
    async with running() as server:
        await server.post(HI, "anthropic-beta: effort-2025-11-24,novel-1", path="/v1/messages")
        assert server.engine.requests[0].betas == ("effort-2025-11-24",)
