"""Many clients that never finish a request: they all go at the limit, and nobody else notices them."""

from __future__ import annotations

import asyncio
import time

from support.http_server import ended, running

CLIENTS = 150
HALF_A_HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: local"


async def test_half_open_and_idle_sockets_do_not_delay_others_and_are_all_closed() -> None:
    async with running(keepalive=0.5) as server, asyncio.timeout(10):
        sockets = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(CLIENTS)]
        for _, writer in sockets[::2]:
            writer.write(HALF_A_HEAD)
        begin = time.monotonic()
        assert (await server.get("/health")).status == 200
        assert time.monotonic() - begin < 0.25
        assert await asyncio.gather(*(ended(reader) for reader, _ in sockets)) == [True] * CLIENTS
        for _, writer in sockets:
            writer.close()
        assert (await server.get("/health")).status == 200
