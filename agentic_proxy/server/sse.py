"""The writer of one event stream: a response head, then ready-framed bytes, one socket write per call."""

from __future__ import annotations

import asyncio
from typing import cast

from aiohttp import web
from aiohttp.http import StreamWriter

from agentic_proxy.server.errors import SERVER

STREAM_HEADERS = (
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-cache"),
    ("X-Accel-Buffering", "no"),
    ("Server", SERVER),
)
WRITE_STALL = 60.0
"""Seconds that a client may leave a full socket buffer unread before its stream is dropped."""


class _Stream(web.StreamResponse):
    # The head waits for the first write and leaves in the same packet; aiohttp's own Response does it this way.
    _send_headers_immediately = False


class SseSink:
    """Where a turn writes its stream. Satisfies the engine's ``Sink``.

    ``stall`` is in seconds. ``response`` is what the handler returns once ``started``.
    """

    __slots__ = ("_request", "_rid", "_stall", "_writer", "response", "started")

    def __init__(self, request: web.BaseRequest, rid: str, stall: float = WRITE_STALL) -> None:
        self._request = request
        self._rid = rid
        self._stall = stall
        self._writer = cast(StreamWriter, request.writer)
        self.started = False
        self.response: web.StreamResponse | None = None

    async def start(self) -> None:
        """Fix the response head (status 200), once; it leaves with the first ``write`` or at the end."""
        self.started = True
        response = self.response = _Stream(headers=STREAM_HEADERS)
        response.headers["x-request-id"] = self._rid
        await response.prepare(self._request)

    async def write(self, data: bytes) -> None:
        """Send framed bytes; waits while the client's socket buffer is full, so that the upstream is not read faster
        than the client reads. Raises ConnectionError when the client is gone or stalled for too long."""
        await self._writer.write(data, drain=False)
        if self._request.protocol.writing_paused:
            await self._drained()

    async def _drained(self) -> None:
        try:
            async with asyncio.timeout(self._stall):
                await self._writer.drain()
        except TimeoutError:
            transport = self._request.transport
            if transport is not None:
                transport.abort()
            raise ConnectionResetError(f"the client read nothing for {self._stall:g} seconds") from None
