"""An MCP server over HTTP that keeps sessions, as the protocol's versions up to 2025-11-25 have them, and loses them.

async with SessionServer() as server:
    ...                          # server.url, server.calls
    server.forget()
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

from aiohttp import web

Json = dict[str, Any]


class SessionServer:
    """One tool, ``add``, that says in which session it was called. ``said``: with these words a forgotten session is
    refused, otherwise without any; ``refusal``: the status with which everything is refused. Calls that ``began`` end
    when ``gate`` is set."""

    def __init__(self, said: str | None = None, *, refusal: int | None = None) -> None:
        self.calls = 0
        self.gate = asyncio.Event()
        self.gate.set()
        self.began = asyncio.Event()
        self.refused = asyncio.Event()
        self.url = ""
        self._said = said
        self._refusal = refusal
        self._session = 1

    def forget(self) -> None:
        """As a server does that was started again."""
        self._session += 1

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._handle))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/mcp"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        if self._refusal is not None:
            return web.Response(status=self._refusal)
        if request.method != "POST":
            return web.Response(status=405)
        asked: Json = await request.json()
        session = f"session {self._session}"
        if "id" not in asked:
            return web.Response(status=202)
        if asked["method"] == "initialize":
            return self._answer(asked, _hello(), **{"Mcp-Session-Id": session})
        if "Mcp-Session-Id" not in request.headers:
            return web.Response(status=400)
        if request.headers["Mcp-Session-Id"] != session:
            self.refused.set()
            error = {"code": -32600, "message": self._said}
            body = {"jsonrpc": "2.0", "id": None, "error": error}
            return web.json_response(body, status=404) if self._said is not None else web.Response(status=404)
        if asked["method"] == "tools/call":
            self.calls += 1
            self.began.set()
            await self.gate.wait()
            return self._answer(asked, {"content": [{"type": "text", "text": session}]})
        return self._answer(asked, {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]})

    def _answer(self, asked: Json, result: Json, **headers: str) -> web.Response:
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": result}, headers=headers)


def _hello() -> Json:
    return {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "sessions", "version": "1"},
    }
