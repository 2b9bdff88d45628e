"""Which connections are open, and that no other opens while the server stops."""

from __future__ import annotations

import aiohttp
import pytest

from support.engines import eventually
from support.turns import Say
from support.websocket import final_text, gate, gated, played, served


async def test_a_connection_is_known_while_it_is_open() -> None:
    async with served(played(Say("ok"))) as (server, _):
        async with server.client() as first, server.client():
            assert final_text(await first.turn(input="hi")) == "ok"
            assert len(server.app.sockets._open) == 2
        await eventually(lambda: server.app.sockets._open == set())


async def test_no_socket_opens_while_the_server_stops() -> None:
    async with served(gated("done")) as (server, upstream), server.client() as client:
        opened = gate(upstream)
        await client.create(input="hi")
        await client.until("response.output_text.delta")
        server.app.sockets.drain()
        server.app.sockets.drain()
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with server.client():
                pass
        assert (refused.value.status, refused.value.headers["Retry-After"]) == (503, "1")  # type: ignore[index]
        opened.set()
        assert final_text(await client.until("response.completed")) == "done"
        assert await client.closed() == 1001
        await eventually(lambda: server.app.sockets._open == set())
