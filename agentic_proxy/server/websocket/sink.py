"""Where the turns of a WebSocket connection write: one Outgoing per connection, one FrameSink per response."""

from __future__ import annotations

import asyncio

from aiohttp import web

from agentic_proxy.server.websocket.frames import events_to_frames, text_frame

WRITE_STALL = 60.0
"""Seconds that a client may leave a full socket buffer unread before its connection is dropped."""


class Outgoing:
    """The sending half of a connection, shared by its lanes. ``stall`` is in seconds."""

    def __init__(self, request: web.BaseRequest, stall: float = WRITE_STALL) -> None:
        self._request = request
        self._stall = stall
        self._draining: asyncio.Task[None] | None = None

    async def send(self, frames: bytes) -> None:
        """Send ready frames in one write; waits while the client's socket buffer is full. Raises ConnectionError when
        the client is gone or has read nothing for too long."""
        transport = self._request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("the client closed the connection")
        transport.write(frames)
        if self._request.protocol.writing_paused:
            await self._drained(transport)

    async def _drained(self, transport: asyncio.Transport) -> None:
        # aiohttp has one future for all who wait, and a waiter that is cancelled cancels it for the others: the lanes
        # wait for one task instead.
        if self._draining is None or self._draining.done():
            self._draining = asyncio.get_running_loop().create_task(self._drain())
        done, _ = await asyncio.wait({self._draining}, timeout=self._stall)
        if not done:
            transport.abort()
            raise ConnectionResetError(f"the client read nothing for {self._stall:g} seconds")
        if transport.is_closing():
            raise ConnectionResetError("the client closed the connection")

    async def _drain(self) -> None:
        try:
            await self._request.writer.drain()
        except ConnectionError:
            pass  # the transport is closed then, which is what the lanes look at


class FrameSink:
    """Where one turn writes its events. Satisfies the engine's ``Sink``. The socket is open already: ``start`` sends
    nothing."""

    __slots__ = ("_outgoing", "_stream_id", "started")

    def __init__(self, outgoing: Outgoing, stream_id: str | None) -> None:
        self._outgoing = outgoing
        self._stream_id = stream_id
        self.started = False

    async def start(self) -> None:
        """From now on a fault is an event, not an error frame."""
        self.started = True

    async def write(self, data: bytes) -> None:
        """Send encoded events as text frames, in one write. Raises ConnectionError as ``Outgoing.send`` does."""
        frames = events_to_frames(data, self._stream_id)
        if frames:
            await self._outgoing.send(frames)

    async def send(self, payload: bytes) -> None:
        """Send one JSON text frame as it is."""
        await self._outgoing.send(text_frame(payload))
