"""Serving: the application of the configuration in force, and the engines before it whose last turns still run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import structlog
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server.app import App
from agentic_proxy.server.connection import KEEPALIVE, LINGER, HttpServer
from agentic_proxy.server.generation import Generation
from agentic_proxy.server.websocket.sink import WRITE_STALL
from agentic_proxy.server.websocket.sockets import Sockets

Changes: TypeAlias = Callable[[Callable[[Config], None]], Coroutine[Any, Any, None]]
"""Runs while the server serves and hands it a configuration whenever there is a new one."""
BACKLOG = 1024

_log = structlog.get_logger("agentic_proxy.server")


class Serving:
    """Handles requests with the newest configuration. WebSocket connections outlive it and ask for it turn by turn."""

    def __init__(self, config: Config, engine: Engine, *, stall: float = WRITE_STALL) -> None:
        self.generation = Generation.of(config, engine)
        self.sockets = Sockets(lambda: self.generation, stall=stall)
        self._app = App(self.generation, self.sockets)
        self._retiring: set[asyncio.Task[None]] = set()

    def __call__(self, request: web.BaseRequest) -> Awaitable[web.StreamResponse]:
        """The answer to one request."""
        return self._app(request)

    def follow(self, config: Config) -> None:
        """From now on serve with ``config``, whose store and address must be the same. What runs goes on with what it
        began with, and an engine is closed when nothing runs on it any more."""
        before = self.generation.engine
        generation = Generation.of(config, before.successor(config))
        self._app = App(generation, self.sockets)
        self.generation = generation
        task = asyncio.get_running_loop().create_task(before.retire())
        self._retiring.add(task)
        task.add_done_callback(self._retired)

    def _retired(self, task: asyncio.Task[None]) -> None:
        self._retiring.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("engine_not_closed", exc_info=error)

    async def close(self) -> None:
        """Close every engine. Nothing is waited for: turns must have ended or been cancelled before."""
        for task in (retiring := list(self._retiring)):
            task.cancel()
        await asyncio.gather(*retiring, return_exceptions=True)
        await self.generation.engine.close()


def build(config: Config, engine: Engine, *, keepalive: float = KEEPALIVE, linger: float = LINGER) -> HttpServer:
    """The server as a protocol factory for ``loop.create_server``. Needs a running loop.

    ``keepalive`` is the limit in seconds for idle sockets and for request heads that do not arrive, ``linger`` for
    reading on after a body was refused.
    """
    return HttpServer(Serving(config, engine), keepalive=keepalive, linger=linger)


async def serve(
    config: Config, *, on_ready: Callable[[str], None], stop: asyncio.Event, changes: Changes | None = None
) -> None:
    """Serve until ``stop`` is set; then accept nothing more, let running requests finish for ``timeouts.drain``
    seconds, cancel the rest, close the engine and return.

    ``on_ready`` gets ``http://HOST:PORT`` once connections are accepted (port 0 has become a free one); from then on
    ``changes`` runs. Raises OSError when the address cannot be bound.
    """
    engine = await Engine.create(config)
    try:
        serving = Serving(config, engine)
    except BaseException:
        await engine.close()
        raise
    try:
        server = HttpServer(serving, keepalive=KEEPALIVE, linger=LINGER)
        listener = await asyncio.get_running_loop().create_server(
            server, config.server.host, config.server.port, backlog=BACKLOG
        )
        changing: asyncio.Task[None] | None = None
        try:
            host, port = listener.sockets[0].getsockname()[:2]
            on_ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")
            if changes is not None:
                changing = asyncio.get_running_loop().create_task(changes(serving.follow))
                changing.add_done_callback(_ended)
            await stop.wait()
        finally:
            listener.close()
            if changing is not None:
                changing.cancel()
                await asyncio.wait([changing])
            serving.sockets.drain()
            seconds = serving.generation.config.timeouts.drain
            await asyncio.gather(server.drain(seconds), serving.generation.engine.drain(seconds))
    finally:
        await serving.close()


def _ended(changing: asyncio.Task[None]) -> None:
    if not changing.cancelled():
        _log.error("reloading_ended", exc_info=changing.exception(), effect="the configuration stays as it is")
