"""The life of the whole server, and how another configuration takes over from the one in force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import aiohttp
import pytest

from agentic_proxy.config.model import Config, Limits, Provider, Server, Timeouts
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine.engine import Engine
from agentic_proxy.server import serving
from support.engines import PATIENT, SMALL, eventually, provider
from support.http_server import DEADLINE, FakeEngine, running
from support.loopback import loopbacks
from support.raw_upstream import RawUpstream
from support.turns import Json, Say
from support.websocket import Served, final_text, gate, gated, kinds, played, sent, served, texts
from support.websocket import serving as served_by


@pytest.mark.parametrize("host", loopbacks())
async def test_serving_takes_a_free_port_says_where_and_ends_when_told(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = Config(server=Server(host=host, port=0), timeouts=Timeouts(drain=1))
    engine = FakeEngine(config)

    async def create(wanted: Config) -> FakeEngine:
        assert wanted is config
        return engine

    monkeypatch.setattr(serving.Engine, "create", create)
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    task = asyncio.create_task(serving.serve(config, on_ready=address.set_result, stop=stop))
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        url = await address
        async with session.get(url + "/health") as response:
            assert (response.status, await response.json()) == (200, {"status": "ok"})
        stop.set()
        await task
        assert engine.closed
        with pytest.raises(aiohttp.ClientConnectorError):
            await session.get(url + "/health")


async def test_an_address_in_use_is_an_error_and_the_engine_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running() as other:
        config = Config(server=Server(port=other.port))
        engine = FakeEngine(config)

        async def create(wanted: Config) -> FakeEngine:
            return engine

        monkeypatch.setattr(serving.Engine, "create", create)
        with pytest.raises(OSError, match="address already in use"):
            await serving.serve(config, on_ready=lambda url: None, stop=asyncio.Event())
        assert engine.closed


def leading_to(upstream: RawUpstream, **changes: Any) -> Config:
    """A configuration with this upstream as the one provider."""
    return replace(
        Config(providers=(provider("up", upstream.url, "responses"),), timeouts=PATIENT, limits=SMALL), **changes
    )


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def ask(server: Served, *, headers: dict[str, str] | None = None, **fields: Any) -> tuple[int, Json]:
    """One request that is answered whole."""
    body = {"model": "m", "input": "hi", **fields}
    async with server.session.post(server.url + "/v1/responses", json=body, headers=headers) as answer:
        return answer.status, await answer.json()


def text_of(response: Json) -> str:
    return str(response["output"][0]["content"][0]["text"])


async def test_a_stream_goes_on_while_new_requests_go_where_the_new_configuration_says() -> None:
    async with served(gated("from the old one")) as (server, old), RawUpstream(played(Say("from the new one"))) as new:
        opened = gate(old)
        body = {"model": "m", "input": "hi", "stream": True}
        async with server.session.post(server.url + "/v1/responses", json=body) as stream:
            await stream.content.readuntil(b"event: response.output_text.delta")
            server.app.follow(leading_to(new))
            status, response = await ask(server)
            assert (status, text_of(response)) == (200, "from the new one")
            assert len(old.open) == 1
            opened.set()
            rest = await stream.read()
        assert b"event: response.completed" in rest
        assert rest.endswith(b"data: [DONE]\n\n")
        await old.until(lambda seen: not seen.open)
        assert (len(old.requests), len(new.requests)) == (1, 1)


async def test_a_websocket_goes_on_with_the_new_configuration_and_remembers_what_it_knew() -> None:
    async with served(played(Say("from the old one"))) as (server, old), RawUpstream(played(Say("new"))) as new:
        async with server.client() as client:
            first = await client.turn(input="one", store=False)
            assert final_text(first) == "from the old one"
            server.app.follow(leading_to(new))
            await old.until(lambda seen: not seen.open)
            second = await client.turn(input="two", store=False, previous_response_id=first[-1]["response"]["id"])
            assert final_text(second) == "new"
        assert texts(sent(new)["input"]) == ["user: one", "assistant: from the old one", "user: two"]


async def test_a_websockets_running_turn_ends_where_it_began_and_the_one_behind_it_is_made_anew() -> None:
    async with served(gated("from the old one")) as (server, old), RawUpstream(played(Say("new"))) as new:
        opened = gate(old)
        async with server.client() as client:
            await client.create(input="one")
            await client.create(input="two")
            await client.until("response.output_text.delta")
            server.app.follow(leading_to(new))
            opened.set()
            assert kinds(await client.until("response.completed"))[-1] == "response.completed"
            assert final_text(await client.until("response.completed")) == "new"
        assert (len(old.requests), len(new.requests)) == (1, 1)


async def test_a_key_that_was_taken_away_opens_nothing_any_more_not_even_on_an_open_websocket() -> None:
    async with RawUpstream(played(Say("hello"))) as upstream:
        keyed = [
            leading_to(upstream, server=Server(api_keys=(Secret(key),))) for key in ("the-first-key", "the-second-key")
        ]
        async with served_by(*keyed[0].providers) as server:
            server.app.follow(keyed[0])
            old, new = bearer("the-first-key"), bearer("the-second-key")
            assert [(await ask(server, headers=each))[0] for each in (old, new)] == [200, 401]
            async with server.client(headers=old) as client, server.client(headers=old) as idle:
                assert final_text(await client.turn(input="hi")) == "hello"
                server.app.follow(keyed[1])
                assert [(await ask(server, headers=each))[0] for each in (old, new)] == [401, 200]
                refused = await client.turn(input="hi")
                assert (kinds(refused), refused[0]["status"]) == (["error"], 401)
                server.app.follow(keyed[0])
                assert final_text(await client.turn(input="hi")) == "hello"
                assert final_text(await idle.turn(input="hi")) == "hello"


async def test_limits_models_and_readiness_are_those_of_the_new_configuration() -> None:
    async with served(played(Say("hello"))) as (server, upstream):
        async def seen(path: str) -> tuple[int, Json]:
            async with server.session.get(server.url + path) as answer:
                return answer.status, await answer.json()

        renamed = replace(provider("other", upstream.url, "responses"))
        server.app.follow(leading_to(upstream, providers=(renamed,), limits=Limits(body=64)))
        assert (await ask(server, input="x" * 100))[0] == 400
        assert [each["id"] for each in (await seen("/v1/models"))[1]["data"]] == ["other/m", "m"]
        assert (await seen("/ready"))[1]["providers"] == {"other": True}
        server.app.follow(leading_to(upstream, providers=()))
        assert ((await seen("/ready"))[0], (await seen("/health"))[0]) == (503, 200)


async def test_websockets_can_be_switched_off_for_new_connections() -> None:
    async with served(played(Say("hello"))) as (server, upstream), server.client() as client:
        server.app.follow(leading_to(upstream, server=Server(websocket=False)))
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with server.client():
                pass
        assert refused.value.status == 426
        assert final_text(await client.turn(input="hi")) == "hello"


async def test_when_no_engine_can_be_made_of_it_the_old_configuration_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    async with served(played(Say("hello"))) as (server, upstream):
        before = server.app.generation

        def broken(self: Engine, config: Config) -> Engine:
            raise ValueError("no")

        with monkeypatch.context() as patch, pytest.raises(ValueError, match="no"):
            patch.setattr(Engine, "successor", broken)
            server.app.follow(leading_to(upstream))
        assert server.app.generation is before
        assert (await ask(server))[0] == 200


async def test_an_engine_that_cannot_be_closed_is_logged_and_hinders_nobody(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with served(played(Say("hello"))) as (server, upstream):
        logged: list[str] = []
        monkeypatch.setattr(serving._log, "error", lambda event, **_: logged.append(event), raising=False)

        async def broken() -> None:
            raise OSError("no")

        monkeypatch.setattr(server.engine.models, "close", broken)
        server.app.follow(leading_to(upstream))
        await eventually(lambda: bool(logged))
        monkeypatch.undo()
        assert logged == ["engine_not_closed"]
        assert (await ask(server))[0] == 200
        await server.engine.transport.close()


async def test_many_configurations_leave_no_task_and_no_connection_behind() -> None:
    async with served(played(Say("hello"))) as (server, upstream), server.client() as client:
        assert final_text(await client.turn(input="hi")) == "hello"
        await ask(server)
        server.app.follow(leading_to(upstream))
        await upstream.until(lambda seen: not seen.open)
        tasks = len(asyncio.all_tasks())
        for _ in range(20):
            assert (await ask(server))[0] == 200
            assert final_text(await client.turn(input="hi")) == "hello"
            server.app.follow(leading_to(upstream))
        await upstream.until(lambda seen: not seen.open)
        await eventually(lambda: len(asyncio.all_tasks()) <= tasks and not server.app._retiring)


async def test_the_end_waits_for_no_engine_that_somebody_still_holds() -> None:
    async with served(played(Say("hello"))) as (server, upstream):
        with server.engine.holds:
            server.app.follow(leading_to(upstream))
            async with asyncio.timeout(DEADLINE):
                await server.app.close()
            assert not server.app._retiring


async def test_changes_are_asked_for_while_it_serves_and_no_longer(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    stop, seen = asyncio.Event(), asyncio.get_running_loop().create_future()
    ended = asyncio.Event()
    base = Config(server=Server(port=0))

    async def changes(follow: Any) -> None:
        follow(replace(base, providers=(Provider("late", "demo", ""),)))
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(serving.serve(base, on_ready=seen.set_result, stop=stop, changes=changes))
    async with asyncio.timeout(DEADLINE), aiohttp.ClientSession() as session:
        url = await seen
        async with session.get(url + "/ready") as answer:
            assert (await answer.json())["providers"] == {"late": True}
        stop.set()
        await task
    assert ended.is_set()
