"""One write per call, one wait for all lanes, and an end to waiting."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.server.websocket.sink import FrameSink, Outgoing
from support.engines import eventually


class Socket:
    """A request, its protocol, its writer and its transport in one. All waiters share one future, as in aiohttp."""

    def __init__(self) -> None:
        self.transport: Socket | None = self
        self.protocol = self.writer = self
        self.writing_paused = False
        self.writes: list[bytes] = []
        self.aborted = False
        self.drains = 0
        self._waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True

    async def drain(self) -> None:
        self.drains += 1
        await self._waiter

    def resume(self, error: BaseException | None = None) -> None:
        self.writing_paused = False
        if error is None:
            self._waiter.set_result(None)
        else:
            self._waiter.set_exception(error)


@pytest.fixture
async def socket() -> Socket:
    return Socket()


def outgoing(socket: Any, stall: float = 5.0) -> Outgoing:
    return Outgoing(socket, stall)


async def test_events_leave_in_one_write_and_no_events_in_none(socket: Socket) -> None:
    sink = FrameSink(outgoing(socket), None)
    await sink.start()
    await sink.write(b'event: a\ndata: {"a":1}\n\nevent: b\ndata: {"b":2}\n\n')
    await sink.write(b"data: [DONE]\n\n")
    await sink.send(b"{}")
    assert sink.started
    assert socket.writes == [b'\x81\x07{"a":1}\x81\x07{"b":2}', b"\x81\x02{}"]


async def test_a_full_buffer_is_waited_for(socket: Socket) -> None:
    socket.writing_paused = True
    task = asyncio.create_task(outgoing(socket).send(b"x"))
    await eventually(lambda: socket.drains == 1)
    assert not task.done()
    socket.resume()
    await task
    assert socket.writes == [b"x"]


async def test_a_lane_that_is_cancelled_while_it_waits_does_not_cancel_the_others(socket: Socket) -> None:
    socket.writing_paused = True
    out = outgoing(socket)
    first, second = (asyncio.create_task(out.send(data)) for data in (b"1", b"2"))
    await eventually(lambda: socket.drains == 1)
    first.cancel()
    await asyncio.wait({first})
    assert (first.cancelled(), second.done()) == (True, False)
    socket.resume()
    await second


async def test_a_client_that_reads_nothing_until_the_deadline_is_dropped(socket: Socket) -> None:
    socket.writing_paused = True
    with pytest.raises(ConnectionResetError, match=r"read nothing for 0\.01 seconds"):
        await outgoing(socket, 0.01).send(b"x")
    assert socket.aborted
    socket.resume()


@pytest.mark.parametrize("lost", [True, False])
async def test_a_client_that_leaves_while_it_is_waited_for_is_gone(socket: Socket, lost: bool) -> None:
    socket.writing_paused = True
    task = asyncio.create_task(outgoing(socket).send(b"x"))
    await eventually(lambda: socket.drains == 1)
    socket.aborted = True
    socket.resume(ConnectionResetError("lost") if lost else None)
    with pytest.raises(ConnectionResetError):
        await task


async def test_nothing_is_written_to_a_client_that_is_gone(socket: Socket) -> None:
    for gone in (True, False):
        socket.aborted = gone
        socket.transport = socket if gone else None
        with pytest.raises(ConnectionResetError):
            await outgoing(socket).send(b"x")
    assert socket.writes == []
