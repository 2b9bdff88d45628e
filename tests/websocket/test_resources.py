"""What many sockets cost, and what aborted streams leave behind: little, and nothing."""

from __future__ import annotations

import asyncio
import gc
import json
import os
from pathlib import Path

from agentic_proxy.server.connection import Connection as HttpConnection
from agentic_proxy.server.websocket.connection import Connection
from support.engines import eventually
from support.proxy import provider, running_proxy
from support.raw_upstream import OK, STALL, RawUpstream, chunk
from support.turns import Say
from support.websocket import DEADLINE, HANDSHAKE, PATH, masked, served, within
from support.wires import responses_frames

HANGING = (OK, chunk(b"".join(list(responses_frames({"model": "m"}, (Say("half"),), None))[:5])), STALL)
SOCKETS = 64
PER_SOCKET = 100 << 10
"""Bytes of memory that a socket with a slow stream may cost, the stream included."""


async def resident(pid: int) -> int:
    """Bytes of memory of a process."""
    process = await asyncio.create_subprocess_exec(
        "ps", "-o", "rss=", "-p", str(pid), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return int(output) << 10


async def streaming(url: str) -> asyncio.StreamWriter:
    """A socket on which a response has shown its first text."""
    host = url.removeprefix("http://")
    reader, writer = await asyncio.open_connection(*host.rsplit(":", 1))
    writer.write("\r\n".join([f"GET {PATH} HTTP/1.1", f"Host: {host}", *HANDSHAKE, "", ""]).encode())
    await within(DEADLINE, reader.readuntil(b"\r\n\r\n"))
    request = {"type": "response.create", "model": "m", "input": "hi", "store": False}
    writer.write(masked(json.dumps(request).encode()))
    await within(DEADLINE, reader.readuntil(b"response.output_text.delta"))
    return writer


def connections() -> list[object]:
    """Those in memory; one of an earlier test may be kept by pytest together with the failure of that test."""
    gc.collect()
    return [kept for kept in gc.get_objects() if isinstance(kept, Connection | HttpConnection)]


async def test_a_socket_with_a_slow_stream_costs_less_than_100_kib(tmp_path: Path) -> None:
    async with RawUpstream(HANGING) as upstream:
        config = {"providers": [provider("up", upstream.url, "responses", models=["m"])]}
        async with running_proxy(config, tmp_path) as proxy:
            # The first ones pay for what is loaded and kept once.
            open_ = [await streaming(proxy.url) for _ in range(16)]
            before = await resident(proxy.pid)
            open_ += [await streaming(proxy.url) for _ in range(SOCKETS)]
            each = (await resident(proxy.pid) - before) / SOCKETS
            for writer in open_:
                writer.close()
            await upstream.until(lambda up: not up.open)
        assert each < PER_SOCKET, f"{each / 1024:.0f} KiB"


async def test_aborted_streams_leave_no_task_no_upstream_connection_and_no_descriptor() -> None:
    earlier = connections()
    async with served(HANGING) as (server, upstream):
        async def abort() -> None:
            writer = await streaming(server.url)
            writer.transport.abort()

        async def settled() -> int:
            """Wait until nothing is open any more; the tasks that are left."""
            await upstream.until(lambda up: not up.open)
            await eventually(lambda: not server.app.sockets._open and not server.server.connections)
            return len(asyncio.all_tasks())

        await abort()
        tasks, descriptors = await settled(), len(os.listdir("/dev/fd"))
        for _ in range(10):
            await asyncio.gather(*(abort() for _ in range(20)))
        await settled()
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
        assert [kept for kept in connections() if all(kept is not one for one in earlier)] == []
        await eventually(lambda: len(os.listdir("/dev/fd")) <= descriptors)
        assert len(server.engine.usage.records) == 201
