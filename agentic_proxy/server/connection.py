"""One client connection: aiohttp's HTTP/1.1 protocol, made silent about what it could not parse.

aiohttp answers and logs a malformed request with the offending bytes in it, which may hold a credential. Here such a
request gets one fixed answer and one log line with the kind of error. Slow request heads and idle sockets end with
aiohttp's keep-alive timer, which runs from the connect and from each answer until a complete head has arrived.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from agentic_proxy.server.errors import failure_response, request_id
from translators.failure import Failure

KEEPALIVE = 75.0
"""Seconds without a complete request head after which a connection is closed."""
LINGER = 2.0
"""Seconds that the rest of a refused body is still read, so that the client sees the answer instead of a reset."""
LINE_LIMIT = 16 << 10
FIELD_LIMIT = 32 << 10
"""Bytes of the request line and of one header field: Codex sends its turn metadata as a header."""

_log = structlog.get_logger("agentic_proxy.server")


class Connection(web.RequestHandler):
    """aiohttp's protocol with our answers to what never became a request."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer a request that could not be parsed (400) or whose handler broke outside of our own net (500)."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer was already begun")
        rid = request_id()
        if isinstance(exc, HttpProcessingError):
            _log.info("malformed_request", request_id=rid, error=type(exc).__name__)
            failure = Failure("invalid_request_error", "This is not a well-formed HTTP/1.1 request.", status=400)
        else:
            _log.error("request_broke", request_id=rid, error=type(exc).__name__)
            failure = Failure("internal_error", f"The proxy could not answer this request ({rid}).")
        return failure_response(failure, rid, close=True)

    def close(self) -> None:
        """Take no further request. A WebSocket goes on reading: it ends with its own closing handshake."""
        if not self._upgraded:
            super().close()

    def log_exception(self, *args: Any, **kw: Any) -> None:
        """aiohttp's own log lines carry the exception, whose text may quote the request: keep only its kind."""
        exc = kw.get("exc_info")
        _log.error("connection_broke", error=type(exc).__name__)

    def log_debug(self, *args: Any, **kw: Any) -> None:
        """aiohttp's notes about leaving clients: of no use to anybody."""


class HttpServer(web.Server):
    """Makes a ``Connection`` per accepted socket and knows which requests are being answered.

    ``handler`` gets every well-formed request; it is cancelled when its client leaves.
    """

    def __init__(
        self,
        handler: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
        *,
        keepalive: float = KEEPALIVE,
        linger: float = LINGER,
    ) -> None:
        super().__init__(
            self._answer,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=keepalive,
            lingering_time=linger,
            max_line_size=LINE_LIMIT,
            max_field_size=FIELD_LIMIT,
        )
        self._handler = handler
        self._active: dict[asyncio.Task[Any], Any] = {}

    def __call__(self) -> web.RequestHandler:
        return Connection(self, loop=self._loop, **self._kwargs)

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._active[task] = request.protocol
        try:
            return await self._handler(request)
        finally:
            del self._active[task]

    async def drain(self, seconds: float, grace: float = 2.0) -> None:
        """Take no further request, let the running ones finish for ``seconds``, then cancel them (with the message
        ``server_shutdown``) and close every connection after at most ``grace`` seconds more."""
        busy = set(self._active.values())
        for connection in self.connections:
            connection.close()
            if connection not in busy:
                connection.force_close()
        if self._active:
            _, left = await asyncio.wait(self._active, timeout=seconds)
            for task in left:
                task.cancel("server_shutdown")
            if left:
                await asyncio.wait(left, timeout=grace)
        await self.shutdown(grace)
