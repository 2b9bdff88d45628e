"""Sockets: every open WebSocket connection, so that a server that stops can end them in order."""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from agentic_proxy.server.generation import Generation
from agentic_proxy.server.websocket import handshake
from agentic_proxy.server.websocket.connection import Connection
from agentic_proxy.server.websocket.sink import WRITE_STALL
from translators.failure import Failure


class Sockets:
    """Accepts upgrades on ``GET /v1/responses``. ``current`` gives the newest generation; ``stall`` is the limit in
    seconds for clients that do not read."""

    def __init__(self, current: Callable[[], Generation], *, stall: float = WRITE_STALL) -> None:
        self._current = current
        self._stall = stall
        self._open: set[Connection] = set()
        self._draining = False

    async def accept(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """Serve one upgraded request until it ends. Raises Failure for a handshake that cannot be answered."""
        handshake.check(request)
        if self._draining:
            raise Failure("server_shutdown", "The proxy is shutting down: connect again.", retry_after=1)
        connection = Connection(request, rid, self._current, self._stall)
        self._open.add(connection)
        try:
            return await connection.serve()
        finally:
            self._open.discard(connection)

    def drain(self) -> None:
        """Close idle connections at once, busy ones when their running responses have ended. Whoever waits for their
        requests to end, and cancels those that take too long, is the HTTP server."""
        self._draining = True
        for connection in self._open:
            connection.drain()
