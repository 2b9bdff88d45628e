"""The probes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Provider
from support.http_server import running

GOOD = Provider("good", "openai-compatible", "http://127.0.0.1:9/v1")
LATER = Provider("later", "anthropic", "http://127.0.0.1:9/v1", available=False)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_health_is_ok_without_any_provider(method: str) -> None:
    async with running() as server:
        answer = await server.get("/health", method=method)
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}' if method == "GET" else b"")
        assert answer.headers["content-length"] == "15"


@pytest.mark.parametrize(
    ("providers", "made", "status", "body"),
    [
        ((GOOD, LATER), ["good"], 200, {"status": "ready", "providers": {"good": True, "later": False}}),
        ((LATER,), [], 503, {"status": "not_ready", "providers": {"later": False}}),
        ((), [], 503, {"status": "not_ready", "providers": {}}),
    ],
)
async def test_ready_says_which_providers_can_be_called(
    providers: tuple[Provider, ...], made: list[str], status: int, body: dict[str, Any]
) -> None:
    class Stub:
        provider = GOOD

    async with running(Config(providers=providers), executors={name: Stub() for name in made}) as server:
        answer = await server.get("/ready")
        assert (answer.status, orjson.loads(answer.body)) == (status, body)
