"""Running: one background response while this process makes it, and everybody who follows it.

It is the sink of its turn: what a streaming client would be sent is kept as numbered frames, in memory for followers of
this process and in the store for all others. The stream never waits for anybody.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import structlog

from agentic_proxy.engine.turn import SHUTDOWN
from translators.events import TERMINALS, Json
from translators.failure import Failure

if TYPE_CHECKING:
    from agentic_proxy.engine.delivery import Sink
    from agentic_proxy.store.base import Store

DONE = b"data: [DONE]\n\n"
KEEPALIVE = b"event: keepalive\n"
DELTA = b".delta"

log = structlog.get_logger("agentic_proxy.background")


def kind_of(frame: bytes) -> bytes:
    """The event name of an SSE frame."""
    return frame[7 : frame.index(b"\n")] if frame.startswith(b"event: ") else b""


def frame_of(kind: str, data: bytes) -> bytes:
    """An SSE frame."""
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)


class Running:
    """``limit`` is in bytes of kept frames: beyond it deltas are not kept any more, for the events that end an item
    repeat its whole text.

    ``response`` is the Response object as it stands; ``done`` says that it will not change, ``unkept`` that the store
    did not take its end.
    """

    def __init__(self, limit: int) -> None:
        self.started = True
        self.response: Json = {}
        self.done = self.unkept = False
        self.task: asyncio.Task[None] | None = None
        self._stoppable = True
        self._store: Store | None = None
        self._limit = limit
        self._size = 0
        self._next = 0
        self._frames: list[tuple[int, bytes]] = []
        self._pending: list[tuple[int, bytes]] = []
        self._flushing: asyncio.Task[None] | None = None
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def id(self) -> str:
        """The response's public id."""
        return str(self.response["id"])

    def keep_in(self, store: Store) -> None:
        """From now on events are stored too."""
        self._store = store

    async def start(self) -> None:
        """There is no head to send."""

    async def write(self, data: bytes) -> None:
        """Keep the frames of these bytes; they come in order and count up by one."""
        for part in data.split(b"\n\n"):
            if part and part != b"data: [DONE]":
                self._keep(part + b"\n\n")
        self._flush()
        self._wake()

    def _keep(self, frame: bytes) -> None:
        number = self._next
        self._next += 1
        if self._size + len(frame) > self._limit and kind_of(frame).endswith(DELTA):
            return
        self._size += len(frame)
        self._frames.append((number, frame))
        if self._store is not None and not frame.startswith(KEEPALIVE):
            self._pending.append((number, frame.partition(b"\ndata: ")[2][:-2]))

    def stop(self, reason: str) -> None:
        """Cancel the turn with this message: once, and only while it is made. A second cancellation would interrupt the
        ending that the first one causes, a late one what is still to be stored."""
        if self._stoppable and self.task is not None:
            self._stoppable = False
            self.task.cancel(reason)

    async def finish(self, response: Json) -> None:
        """The turn ended: what is still to be stored is stored, then followers learn of the end."""
        self._stoppable = False
        self.response = response
        while self._flushing is not None:
            await asyncio.wait([self._flushing])
        self.done = True
        self._wake()

    async def follow(self, sink: Sink, after: int) -> None:
        """Send the events behind number ``after`` to ``sink`` as they come, to the end. Old fillers are left out.

        Raises ConnectionError when that client is gone; the response goes on. With a server that stops the response
        ends too, which is still told.
        """
        place, fresh = 0, len(self._frames)
        while True:
            frames = self._frames
            if place < len(frames):
                ready = [
                    frame
                    for index, (number, frame) in enumerate(frames[place:], place)
                    if number > after and (index >= fresh or not frame.startswith(KEEPALIVE))
                ]
                place = len(frames)
                if ready:
                    await send(sink, b"".join(ready) + ending(ready[-1]))
            elif self.done:
                await send(sink, b"")
                return
            else:
                await self._more()

    async def _more(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError as cancelled:
            task = asyncio.current_task()
            if SHUTDOWN not in cancelled.args or task is None:
                raise
            task.uncancel()

    def _wake(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)
        self._waiting.clear()

    def _flush(self) -> None:
        if self._pending and self._flushing is None:
            self._flushing = asyncio.get_running_loop().create_task(self._write_pending())

    async def _write_pending(self) -> None:
        """Store what has come; while that is written, more comes."""
        assert self._store is not None
        try:
            while self._pending:
                events, self._pending = self._pending, []
                await self._store.append_events(self.id, events)
        except Failure as failure:
            log.warning("events_not_kept", response_id=self.id, code=failure.code)
            self._store, self._pending = None, []
        finally:
            self._flushing = None


async def send(sink: Sink, data: bytes) -> None:
    """Write bytes behind the response head. It is begun no earlier: until then a fault has an answer of its own."""
    if not sink.started:
        await sink.start()
    if data:
        await sink.write(data)


def ending(frame: bytes) -> bytes:
    """What follows a frame: ``[DONE]`` after a terminal event that is no failure."""
    kind = kind_of(frame).decode()
    return DONE if kind in TERMINALS and kind != "response.failed" else b""
