"""Upstreams that are gone without a word: no FIN, no RST, as after a machine's sleep or a change of networks."""

from __future__ import annotations

import asyncio
import ctypes
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from agentic_proxy.executors import sockets
from agentic_proxy.executors.base import Transport
from agentic_proxy.executors.direct import DirectTransport
from agentic_proxy.executors.proxied import ProxiedTransport
from support.raw_upstream import LIMIT, OK, chunk, read_request
from translators.failure import Failure

SO_ATTACH_FILTER = 26
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)
"""The packet filter ``ret 0`` of Linux: the kernel throws away whatever arrives, and so acknowledges nothing."""
QUICK = {"TCP_KEEPIDLE": 1, "TCP_KEEPALIVE": 1, "TCP_KEEPINTVL": 1, "TCP_KEEPCNT": 1}


def vanish(sock: socket.socket) -> None:
    """From now on nothing reaches this socket."""
    program = ctypes.create_string_buffer(DROP_ALL)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(program)))


@asynccontextmanager
async def vanishing() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """The URL of an upstream that begins a stream and vanishes in the middle of it, once the event is set."""
    read, over = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader, 1)
        writer.write(OK + chunk(b"data: {}\n\n"))
        await writer.drain()
        await read.wait()
        vanish(writer.get_extra_info("socket"))
        await over.wait()
        writer.transport.abort()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/responses", read
        over.set()


@pytest.mark.parametrize("make", [DirectTransport, ProxiedTransport])
async def test_a_stream_ends_soon_when_the_network_below_it_has_gone(
    make: type[DirectTransport | ProxiedTransport], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = [(level, name, QUICK.get(name, value)) for level, name, value in sockets._OPTIONS]
    monkeypatch.setattr(sockets, "_OPTIONS", options)
    transport: Transport = make(LIMIT)
    async with vanishing() as (url, read):
        response = await transport.post(url, {}, b"{}")
        assert await response.read_some() == b"data: {}\n\n"
        read.set()
        with pytest.raises(Failure) as caught:
            async with asyncio.timeout(LIMIT):
                await response.read_some()
        assert caught.value.code == "upstream_closed"
        response.close()
        await transport.close()
