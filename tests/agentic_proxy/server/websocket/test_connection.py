"""The life of one connection apart from what its clients say."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentic_proxy.server.websocket import connection
from support.http_server import FakeEngine
from support.raw_upstream import OK, STALL, chunk
from support.turns import Say
from support.websocket import (
    DEADLINE,
    HANDSHAKE,
    PATH,
    Served,
    connected,
    final_text,
    gate,
    gated,
    masked,
    played,
    raw_socket,
    served,
    within,
)
from support.wires import responses_frames

HANGING = (OK, chunk(b"".join(list(responses_frames({"model": "m"}, (Say("half"),), None))[:5])), STALL)


async def test_the_handshakes_answer_has_our_name_and_an_id() -> None:
    async with served(played(Say("ok"))) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        lines = [f"GET {PATH}?x=1 HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *HANDSHAKE, "", ""]
        writer.write("\r\n".join(lines).encode())
        head = (await within(DEADLINE, reader.readuntil(b"\r\n\r\n"))).lower()
        assert head.startswith(b"http/1.1 101 ")
        assert (b"server: agentic-proxy\r\n" in head, b"x-request-id: req_" in head, b"aiohttp" in head) == (
            True, True, False
        )  # fmt: skip
        writer.close()
        await writer.wait_closed()


def beat(server: Served, every: float, patience: float) -> Any:
    """From now on the one open socket pings so often, and waits so long for each answer, in seconds. The socket."""
    (mine,) = server.app.sockets._open
    socket: Any = mine._socket
    assert socket._heartbeat == connection.HEARTBEAT
    socket._cancel_heartbeat()
    socket._heartbeat, socket._pong_heartbeat = every, patience
    socket._reset_heartbeat()
    return socket


async def test_a_peer_that_answers_no_ping_is_gone_and_its_upstream_is_closed() -> None:
    async with served(HANGING) as (server, upstream):
        reader, writer = await raw_socket(server)
        writer.write(masked(json.dumps({"type": "response.create", "model": "m", "input": "hi"}).encode()))
        await upstream.until(lambda up: len(up.requests) == 1)
        beat(server, 0.05, 0.05)
        await within(DEADLINE, reader.read(-1))
        await upstream.until(lambda up: not up.open)
        writer.close()
        await writer.wait_closed()


async def test_a_peer_that_answers_pings_stays_while_nothing_else_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(gated("ok")) as (client, server, upstream):
        opened = gate(upstream)
        await client.create(input="hi")
        await client.until("response.output_text.delta")
        reading = asyncio.create_task(client.until("response.completed"))  # aiohttp answers pings while it reads
        socket = beat(server, 0.05, 10 * DEADLINE)  # the second ping comes only after the answer to the first one
        pings = 0
        send = socket._writer.send_frame

        async def counted(message: bytes, opcode: Any, compress: int | None = None) -> None:
            nonlocal pings
            pings += 1
            await send(message, opcode, compress)
            if pings == 3:
                opened.set()

        monkeypatch.setattr(socket._writer, "send_frame", counted)
        assert final_text(await within(DEADLINE, reading)) == "ok"
        assert pings >= 3


async def test_a_bug_of_the_engine_is_one_error_frame_and_the_socket_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> dict[str, Any]:
        raise ZeroDivisionError("a bug of a test")

    async with connected(played(Say("ok"))) as (client, server, _):
        with monkeypatch.context() as patch:
            patch.setattr(server.engine, "run", FakeEngine(server.engine.config, broken).run)
            (frame,) = await client.turn(input="hi", stream_id="a")
        assert (frame["status"], frame["error"]["code"], frame["stream_id"]) == (500, "internal_error", "a")
        assert "bug of a test" not in str(frame)
        assert final_text(await client.turn(input="hi", stream_id="a")) == "ok"
