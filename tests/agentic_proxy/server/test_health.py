"""The probes."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Config, Provider
from agentic_proxy.config.secrets import Secret
from agentic_proxy.routing.candidates import Candidate
from agentic_proxy.routing.models import Target
from support.http_server import running
from translators.failure import Failure

GOOD = Provider("good", "openai-compatible", "http://127.0.0.1:9/v1")
LATER = Provider("later", "anthropic", "http://127.0.0.1:9/v1", available=False)


class Stub:
    provider = GOOD


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_health_is_ok_without_any_provider(method: str) -> None:
    async with running() as server:
        answer = await server.get("/health", method=method)
        assert (answer.status, answer.body) == (200, b'{"status":"ok"}' if method == "GET" else b"")
        assert answer.headers["content-length"] == "15"


@pytest.mark.parametrize(
    ("providers", "made", "status", "body"),
    [
        ((GOOD, LATER), ["good"], 200, {"status": "ready", "providers": {"good": True, "later": False}, "out": []}),
        ((LATER,), [], 503, {"status": "not_ready", "providers": {"later": False}, "out": []}),
        ((), [], 503, {"status": "not_ready", "providers": {}, "out": []}),
    ],
)
async def test_ready_says_which_providers_can_be_called(
    providers: tuple[Provider, ...], made: list[str], status: int, body: dict[str, Any]
) -> None:
    async with running(Config(providers=providers), executors={name: Stub() for name in made}) as server:
        answer = await server.get("/ready")
        assert (answer.status, orjson.loads(answer.body)) == (status, body)


async def test_ready_says_who_is_out_why_and_until_when() -> None:
    provider = Provider(
        "two", "openai-compatible", "http://127.0.0.1:9/v1", api_keys=(Secret("k-one-1"), Secret("k-2"))
    )
    async with running(Config(providers=(provider,)), executors={"two": Stub()}) as server:
        candidate = Candidate(Target(provider, None, "m"), 2)
        server.engine.outages.failed(candidate, Failure("upstream_auth", "No.", upstream_status=401))
        answer = await server.get("/ready")
        (row,) = orjson.loads(answer.body)["out"]
        assert (answer.status, row.pop("until")[-1]) == (200, "Z")
        assert row == {"provider": "two", "key": 2, "model": None, "code": "upstream_auth"}
        assert b"k-two" not in answer.body
