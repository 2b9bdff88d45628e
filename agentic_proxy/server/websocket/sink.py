"""FrameSink: where a turn on a WebSocket writes its events."""

from __future__ import annotations

import asyncio

from aiohttp import web

from agentic_proxy.server.websocket.frames import events_to_frames, text_frame

WRITE_STALL = 60.0
"""Seconds that a client may leave a full socket buffer unread before its connection is dropped."""


class FrameSink:
    """Satisfies the engine's ``Sink``. ``stall`` is in seconds. The socket is open already: ``start`` sends nothing."""

    def __init__(self, request: web.BaseRequest, stream_id: str | None, stall: float = WRITE_STALL) -> None:
        self._request = request
        self._stream_id = stream_id
        self._stall = stall
        self.started = False

    async def start(self) -> None:
        """From now on a fault is an event, not an error frame."""
        self.started = True

    async def write(self, data: bytes) -> None:
        """Send encoded events as text frames, in one write. Raises ConnectionError when the client is gone or has read
        nothing for too long."""
        await self._send(events_to_frames(data, self._stream_id))

    async def send(self, payload: bytes) -> None:
        """Send one JSON text frame as it is."""
        await self._send(text_frame(payload))

    async def _send(self, frames: bytes) -> None:
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client closed the connection")
        transport.write(frames)
        if self._request.protocol.writing_paused:
            try:
                async with asyncio.timeout(self._stall):
                    await self._request.writer.drain()
            except TimeoutError:
                transport.abort()
                raise ConnectionResetError(f"the client read nothing for {self._stall:g} seconds") from None
