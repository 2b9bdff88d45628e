"""A client that leaves, or does not read: the upstream hears of it, and nothing stays behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from agentic_proxy.config.model import Limits
from support.engines import eventually, kept
from support.raw_upstream import OK, STALL, Step, chunk
from support.turns import Say
from support.websocket import DEADLINE, Client, connected, masked, raw_socket, served, within
from support.wires import responses_frames

OPENING = b"".join(list(responses_frames({"model": "m"}, (Say("half"),), None))[:5])
HANGING = (OK, chunk(OPENING), STALL)
ASK = masked(json.dumps({"type": "response.create", "model": "m", "input": "hi"}).encode())
DELTA = (
    b'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":5,'
    b'"item_id":"msg_1","output_index":0,"content_index":0,"delta":"' + b"x" * 900 + b'","logprobs":[]}\n\n'
)


class Flood:
    """A script that never ends; ``sent`` counts its bytes."""

    def __init__(self) -> None:
        self.sent = 0
        self._piece = chunk(DELTA * 64)

    def __iter__(self) -> Iterator[Step]:
        yield OK + chunk(OPENING)
        while True:
            self.sent += len(self._piece)
            yield self._piece


async def begun(client: Client, **fields: Any) -> None:
    await client.create(input="hi", **fields)
    await client.until("response.output_text.delta")


@pytest.mark.requirement("WS25")
@pytest.mark.requirement("WS22")
@pytest.mark.parametrize("politely", [True, False])
async def test_a_client_that_leaves_cancels_its_upstream_within_a_second_and_drops_what_waits(politely: bool) -> None:
    async with served(HANGING) as (server, upstream), server.client() as client:
        await begun(client)
        await begun(client, stream_id="a")
        await client.create(input="queued")
        await client.create(input="queued", stream_id="a")
        await client.error("{")  # so that all of it has been read
        if politely:
            await client.socket.close()
        else:
            client.socket._conn.transport.abort()  # type: ignore[union-attr]
        await upstream.until(lambda up: not up.open)
        assert len(upstream.requests) == 2
        await eventually(lambda: len(server.engine.usage.records) == 2)
        assert {record.code for record in server.engine.usage.records} == {"client_gone"}
        assert await kept(server.engine) == {}


async def test_a_client_that_leaves_before_the_upstream_answered_cancels_it_too() -> None:
    async with served((OK, STALL)) as (server, upstream), server.client() as client:
        await client.create(input="hi")
        await upstream.until(lambda up: len(up.requests) == 1)
        await client.socket.close()
        await upstream.until(lambda up: not up.open)


async def test_a_slow_reader_stops_the_upstream_and_is_dropped_after_the_deadline() -> None:
    flood = Flood()
    async with served(flood, stall=0.3, limits=Limits()) as (server, upstream):  # type: ignore[arg-type]
        reader, writer = await raw_socket(server, receive_buffer=4096)
        writer.write(ASK)
        await upstream.until(lambda up: len(up.requests) == 1)
        # Kernel buffers on the way (upstream to proxy, proxy to client) take some megabytes; then everything stands.
        await upstream.until(lambda up: not up.open)
        assert flood.sent < 32 << 20
        assert [record.code for record in server.engine.usage.records] == ["client_gone"]
        with contextlib.suppress(ConnectionResetError):
            while await within(DEADLINE, reader.read(1 << 16)):
                pass
        writer.close()


async def test_a_slow_reader_that_reads_again_in_time_loses_nothing() -> None:
    events = [
        f'event: response.output_text.delta\ndata: {{"type":"response.output_text.delta",'
        f'"sequence_number":{number + 5},"item_id":"msg_1","output_index":0,"content_index":0,'.encode()
        + b'"delta":"' + b"x" * 900 + b'","logprobs":[]}\n\n'
        for number in range(12_000)
    ]
    steps = [chunk(b"".join(events[at : at + 200])) for at in range(0, len(events), 200)]
    async with served((OK, chunk(OPENING), *steps, STALL), limits=Limits()) as (server, upstream):
        reader, writer = await raw_socket(server, receive_buffer=4096)
        writer.write(ASK)
        await upstream.until(lambda up: len(up.requests) == 1)
        (connection,) = server.app.sockets._open
        await eventually(lambda: connection._request.protocol.writing_paused)
        numbers = []
        while len(numbers) < len(events) + 5:
            numbers.append(json.loads(await within(DEADLINE, _payload(reader)))["sequence_number"])
        assert numbers == list(range(len(events) + 5))
        writer.close()
        await writer.wait_closed()


async def _payload(reader: asyncio.StreamReader) -> bytes:
    """The payload of the server's next frame."""
    _, size = await reader.readexactly(2)
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2))
    elif size == 127:
        size = int.from_bytes(await reader.readexactly(8))
    return await reader.readexactly(size)


async def test_a_socket_that_is_left_by_many_clients_in_every_state_serves_the_next() -> None:
    async with connected((OK, STALL)) as (client, server, upstream):
        for number in range(20):
            async with server.client() as other:
                for stream in ("a", "b", "a"):
                    await other.create(input="hi", stream_id=stream)
                if number % 2:
                    await upstream.until(lambda up: bool(up.open))
        await upstream.until(lambda up: not up.open)
        assert len(server.app.sockets._open) == 1
        assert (await client.error("{"))["status"] == 400
