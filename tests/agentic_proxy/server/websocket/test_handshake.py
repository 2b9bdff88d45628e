"""A handshake is answered, or refused in words of our own."""

from __future__ import annotations

import json
import logging

import pytest
import structlog

from support.http_server import running
from support.turns import Say
from support.websocket import HANDSHAKE as GOOD
from support.websocket import final_text, played, served


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (GOOD, 101),
        ((GOOD[0].replace("Upgrade", "keep-alive, upgrade"), *GOOD[1:]), 101),
        (("Connection: keep-alive", *GOOD[1:]), 400),
        ((*GOOD[:2], "Sec-WebSocket-Version: 12", GOOD[3]), 400),
        ((*GOOD[:2], GOOD[3]), 400),
        (GOOD[:3], 400),
        ((*GOOD[:3], "Sec-WebSocket-Key: SECRET"), 400),
        ((*GOOD[:3], "Sec-WebSocket-Key: \u00e9"), 400),
        ((), 405),
    ],
    ids=repr,
)
async def test_a_handshake_is_answered_or_refused_as_json(headers: tuple[str, ...], status: int) -> None:
    async with running() as server:
        answer = await server.get("/v1/responses", *headers)
        assert answer.status == status
        assert answer.headers["server"] == "agentic-proxy"
        assert "x-request-id" in answer.headers
        assert b"SECRET" not in answer.raw
        if status != 101:
            assert set(json.loads(answer.body)["error"]) == {"message", "type", "code", "param"}


async def test_a_key_among_the_subprotocols_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines:
        async with served(played(Say("ok"))) as (server, _):
            protocols = ("realtime", "openai-insecure-api-key.sk-secret-of-a-test")
            async with server.client(protocols=protocols) as client:
                assert final_text(await client.turn(input="hi")) == "ok"
    assert "sk-secret" not in str(lines) + "".join(record.getMessage() for record in caplog.records if
                                                   record.name != "aiohttp.client")  # fmt: skip
