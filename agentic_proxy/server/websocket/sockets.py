"""Sockets: every open WebSocket connection, so that a server that stops can end them in order."""

from __future__ import annotations

import asyncio

from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.websocket.connection import Connection


class Sockets:
    """Accepts upgrades on ``GET /v1/responses``."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._config = config
        self._engine = engine
        self._open: set[Connection] = set()

    async def accept(self, request: web.BaseRequest) -> web.WebSocketResponse:
        """Serve one upgraded request until it ends."""
        connection = Connection(request, self._config, self._engine)
        self._open.add(connection)
        try:
            return await connection.serve()
        finally:
            self._open.discard(connection)

    async def drain(self, seconds: float) -> None:
        """Close idle connections at once, busy ones when their running responses have ended, at the latest after
        ``seconds``."""
        tasks = [asyncio.ensure_future(connection.drain()) for connection in self._open]
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=seconds)
        if late:
            await asyncio.gather(*(connection.stop() for connection in list(self._open)), return_exceptions=True)
            await asyncio.wait(late, timeout=2.0)
