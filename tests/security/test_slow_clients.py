"""Many clients that never finish a request: they all go at the limit, and nobody else notices them."""

from __future__ import annotations

import asyncio

import pytest

from support.http_server import DEADLINE, ended, running

CLIENTS = 150
HALF_A_HEAD = b"POST /v1/responses HTTP/1.1\r\nHost: local"


@pytest.mark.parametrize("keepalive", [10 * DEADLINE, 0.5])
async def test_half_open_and_idle_sockets_do_not_delay_others_and_are_all_closed(keepalive: float) -> None:
    async with running(keepalive=keepalive) as server, asyncio.timeout(DEADLINE):
        sockets = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(CLIENTS)]
        for _, writer in sockets[::2]:
            writer.write(HALF_A_HEAD)
        ends = [asyncio.create_task(ended(reader)) for reader, _ in sockets]
        assert (await server.get("/health")).status == 200
        if keepalive > DEADLINE:
            assert not any(end.done() for end in ends), "the others are still there, and did not matter"
        else:
            assert await asyncio.gather(*ends) == [True] * CLIENTS
        for _, writer in sockets:
            writer.close()
        await asyncio.gather(*ends)
        assert (await server.get("/health")).status == 200
