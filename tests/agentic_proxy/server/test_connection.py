"""Connections: what ends them, and how a server that stops leaves its clients."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import orjson
import pytest

from agentic_proxy.server import connection
from support.http_server import DEADLINE, ended, read_answer, running

REQUEST = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = (
    b"POST /v1/responses HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)
BODY = b'{"model":"m","input":"hi","stream":true}'
STREAMED = POST % len(BODY) + BODY


@pytest.mark.parametrize("sent", [b"", b"GET /hea", REQUEST[:40], REQUEST, REQUEST + b"GET /"])
async def test_a_socket_without_a_complete_request_head_is_closed_at_the_limit(sent: bytes) -> None:
    answered = sent.startswith(REQUEST)
    # A request that is to be answered has a second to get there.
    async with running(keepalive=1.0 if answered else 0.1) as server, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        if answered:
            assert (await read_answer(reader)).status == 200
        assert await ended(reader)
        writer.close()


async def test_a_head_that_trickles_in_does_not_move_the_limit() -> None:
    async with running(keepalive=0.2) as server, asyncio.timeout(DEADLINE):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        closed = asyncio.create_task(ended(reader))
        head = iter(b"GET /health HTTP/1.1\r\nX-Slow: " + b"a" * 4000)
        while not closed.done():
            writer.write(bytes([next(head)]))
            await asyncio.wait([closed], timeout=0.01)
        assert await closed
        writer.close()


def test_the_limit_is_75_seconds() -> None:
    assert connection.KEEPALIVE == 75.0


async def test_a_running_turn_outlives_the_limit_for_idle_sockets() -> None:
    async def slow(request: Any, sink: Any) -> dict[str, Any]:
        reached = asyncio.Event()
        asyncio.get_running_loop().call_later(1.2, reached.set)
        await reached.wait()
        return {"id": "late"}

    async with running(turn=slow, keepalive=1.0) as server:
        answer = await server.post(b'{"model":"m","input":"hi"}')
        assert (answer.status, orjson.loads(answer.body)) == (200, {"id": "late"})


async def test_accepted_sockets_send_small_packets_at_once() -> None:
    found: list[int] = []

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        (live,) = server.server.connections
        assert live.transport is not None
        sock = live.transport.get_extra_info("socket")
        found.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        return {}

    async with running(turn=turn) as server:
        await server.post(b'{"model":"m","input":"hi"}')
    assert found == [1]


@pytest.mark.parametrize("begun", [False, True])
async def test_a_client_that_leaves_cancels_its_turn(begun: bool) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        try:
            if begun:
                await sink.start()
                await sink.write(b"data: 1\n\n")
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return {}

    async with running(turn=turn) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(STREAMED)
        await asyncio.wait_for(started.wait(), DEADLINE)
        writer.close()
        await asyncio.wait_for(cancelled.wait(), DEADLINE)


async def test_a_server_that_stops_lets_running_turns_finish_and_closes_idle_sockets_at_once() -> None:
    started, finish = asyncio.Event(), asyncio.Event()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        started.set()
        await finish.wait()
        return {"id": "done"}

    async with running(turn=turn) as server, asyncio.timeout(DEADLINE):
        idle_reader, idle_writer = await asyncio.open_connection("127.0.0.1", server.port)
        idle_writer.write(REQUEST)
        await read_answer(idle_reader)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = b'{"model":"m","input":"hi"}'
        writer.write(POST % len(body) + body)
        await started.wait()
        draining = asyncio.create_task(server.server.drain(DEADLINE))
        assert await idle_reader.read() == b""
        assert not draining.done()
        finish.set()
        assert (await read_answer(reader)).body == b'{"id":"done"}'
        await draining
        assert await reader.read() == b""
        for each in (idle_writer, writer):
            each.close()


async def test_a_turn_that_does_not_finish_in_time_is_answered_503_before_its_head() -> None:
    started = asyncio.Event()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        started.set()
        await asyncio.Event().wait()
        return {}

    async with running(turn=turn) as server, asyncio.timeout(DEADLINE):
        asking = asyncio.create_task(server.post(b'{"model":"m","input":"hi"}'))
        await started.wait()
        await server.server.drain(0.05)
        answer = await asking
        assert (answer.status, orjson.loads(answer.body)["error"]["code"]) == (503, "server_shutdown")
        assert answer.headers["retry-after"] == "1"


async def test_a_turn_that_has_begun_is_cancelled_with_the_reason_so_that_it_can_end_its_stream() -> None:
    started = asyncio.Event()

    async def turn(request: Any, sink: Any) -> dict[str, Any]:
        await sink.start()
        await sink.write(b"data: 1\n\n")
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as reason:
            await sink.write(b"data: " + reason.args[0].encode() + b"\n\n")
        return {}

    async with running(turn=turn) as server, asyncio.timeout(DEADLINE):
        asking = asyncio.create_task(server.post(BODY))
        await started.wait()
        await server.server.drain(0.05)
        assert (await asking).body == b"data: 1\n\ndata: server_shutdown\n\n"
