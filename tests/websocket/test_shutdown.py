"""A server that stops: idle sockets close at once, active responses finish, what waits is discarded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from support.proxy import provider, running_proxy
from support.raw_upstream import OK, STALL, RawUpstream, chunk
from support.turns import Say
from support.websocket import DEADLINE, PATH, Client, final_text, gate, gated, kinds, played, served, within
from support.wires import responses_frames

HANGING = (OK, chunk(b"".join(list(responses_frames({"model": "m"}, (Say("half"),), None))[:5])), STALL)


@pytest.mark.requirement("WS20")
async def test_an_idle_socket_is_closed_at_once() -> None:
    async with served(played(Say("ok"))) as (server, _), server.client() as client:
        await client.turn(input="hi")
        draining = asyncio.create_task(server.drain())
        assert await client.closed() == 1001
        await within(DEADLINE, draining)


@pytest.mark.requirement("WS21")
async def test_the_active_response_finishes_what_waits_is_dropped_and_pings_are_answered() -> None:
    async with served(gated("done")) as (server, upstream), server.client(autoping=False) as client:
        opened = gate(upstream)
        await client.create(input="hi")
        await client.until("response.output_text.delta")
        await client.create(input="queued")
        await client.error("{")
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0)  # the drain has begun
        await client.create(input="too late")
        await client.socket.ping(b"alive")
        message = await client.receive()
        assert (message.type, message.data) == (aiohttp.WSMsgType.PONG, b"alive")
        opened.set()
        events = await client.until("response.completed")
        assert kinds(events)[-1] == "response.completed"
        assert await client.closed() == 1001
        await within(DEADLINE, draining)
        assert len(upstream.requests) == 1
        assert server.app.sockets._open == set()


@pytest.mark.requirement("WS24")
async def test_all_active_responses_finish_whatever_their_stream() -> None:
    async with served(gated("done")) as (server, upstream), server.client() as client:
        opened = gate(upstream)
        for name in ("a", "b", "c"):
            await client.create(input="hi", stream_id=name)
        await upstream.until(lambda up: len(up.requests) == 3)
        for name in ("a", "b", "c"):
            await client.create(input="queued", stream_id=name)
        await client.send("{")
        await client.until("error")  # so that all of it has been read
        draining = asyncio.create_task(server.drain())
        await asyncio.sleep(0)
        opened.set()
        ended = [(await client.until("response.completed"))[-1]["stream_id"] for _ in range(3)]
        assert sorted(ended) == ["a", "b", "c"]
        assert await client.closed() == 1001
        await within(DEADLINE, draining)
        assert len(upstream.requests) == 3


async def test_a_response_that_outlasts_the_drain_is_told_so_and_the_socket_closes_properly() -> None:
    async with served(HANGING) as (server, upstream), server.client() as client:
        await client.create(input="hi")
        await client.until("response.output_text.delta")
        draining = asyncio.create_task(server.drain(0.05))
        last = (await client.until("response.failed"))[-1]["response"]["error"]
        assert last == {"code": "server_error", "message": "The proxy was stopped before the response ended."}
        assert await client.closed() == 1001
        await within(DEADLINE, draining)
        await upstream.until(lambda up: not up.open)


async def test_a_client_that_never_answers_the_close_does_not_hold_the_server() -> None:
    async with served(played(Say("ok"))) as (server, _), server.client(autoclose=False) as client:
        await client.turn(input="hi")
        await within(DEADLINE, server.drain())


async def test_the_program_finishes_the_active_response_closes_all_sockets_and_exits_0(tmp_path: Path) -> None:
    async with RawUpstream(gated("done")) as upstream, aiohttp.ClientSession() as session:
        opened = gate(upstream)
        config = {"providers": [provider("up", upstream.url, "responses", models=["m"])]}
        async with running_proxy(config, tmp_path) as proxy:
            idle, active = [Client(await session.ws_connect(proxy.url + PATH)) for _ in range(2)]
            await active.create(input="hi")
            await active.until("response.output_text.delta")
            await active.create(input="queued")

            async def during_the_stop() -> tuple[int | None, str, int | None]:
                code = await idle.closed()
                opened.set()
                return code, final_text(await active.until("response.completed")), await active.closed()

            seen = asyncio.create_task(during_the_stop())
        # running_proxy has sent SIGTERM and seen exit code 0.
        assert await seen == (1001, "done", 1001)
        assert len(upstream.requests) == 1
        assert json.loads(upstream.requests[0].body)["stream"] is True
