"""An MCP server made with the official package: over stdio when run as a script, over streamable HTTP in a test's own
loop.

    async with HttpMcpServer() as server:
        ...                          # server.url, server.headers, server.cancelled
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any, Self

import uvicorn
from mcp import types
from mcp.server import MCPServer


def make_server(probe: HttpMcpServer | None = None) -> MCPServer[Any]:
    """A server with a good tool, one that fails, one that breaks, a picture, and one that never answers."""
    server: MCPServer[Any] = MCPServer("scripted", log_level="CRITICAL")

    @server.tool(annotations=types.ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> str:
        """Adds two integers."""
        if probe is not None:
            probe.added.append((a, b))
        return str(a + b)

    @server.tool(structured_output=False)
    def fail(why: str) -> str:
        """Always fails."""
        raise ValueError(why)

    @server.tool(structured_output=False)
    def picture() -> list[types.ContentBlock]:
        """A text and a picture."""
        image = types.ImageContent(type="image", data="AAAA", mime_type="image/png")
        return [types.TextContent(type="text", text="Here:"), image]

    @server.tool(structured_output=False)
    async def hang() -> str:
        """Never answers."""
        if probe is not None:
            probe.hanging.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if probe is not None:
                probe.cancelled.set()
            raise
        return ""

    return server


class HttpMcpServer:
    """The server on a free loopback port. ``headers`` keeps those of every request, names in lower case;
    ``added`` what ``add`` was called with."""

    def __init__(self) -> None:
        self.headers: list[dict[str, str]] = []
        self.added: list[tuple[int, int]] = []
        self.hanging = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.url = ""

    async def __aenter__(self) -> Self:
        inner = make_server(self).streamable_http_app()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http":
                self.headers.append({name.decode(): value.decode() for name, value in scope["headers"]})
            await inner(scope, receive, send)

        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", lifespan="on", ws="none")
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup()
        self._task = asyncio.create_task(self._server.main_loop())
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}/mcp"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._server.force_exit = True
        await self._task
        await self._server.shutdown()


if __name__ == "__main__":
    make_server().run("stdio")
