"""Fixtures of the tests that run the real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from agentic_proxy.config.model import McpServer
from agentic_proxy.tools.mcp import McpSession
from support.approvals import Servers
from support.engines import no_pauses as no_pauses
from support.sdk_mcp_server import HttpMcpServer
from translators.gateway.own import OwnTool, Ran


@pytest.fixture
async def local() -> AsyncIterator[Servers]:
    async with HttpMcpServer() as server:
        yield {"local": McpServer(url=server.url)}


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What reached a server: tool and arguments."""
    calls: list[tuple[str, str]] = []
    run = McpSession.run

    async def recorded(self: McpSession, own: OwnTool, arguments: str) -> Ran:
        calls.append((own.tool, arguments))
        return await run(self, own, arguments)

    monkeypatch.setattr(McpSession, "run", recorded)
    return calls
