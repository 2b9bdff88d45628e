"""What outlives a configuration: state, what was learned, who rests, and responses that are made in the background."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from agentic_proxy.config.model import Config, Limits, Mcp, McpServer, Retention, Store, Tools
from agentic_proxy.engine import engine as engine_module
from agentic_proxy.engine.background import Background
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.server import serving
from support.checkout import ROOT
from support.engines import PATIENT, RecordingSink, body, eventually, provider, run_turn, running_engine
from support.raw_upstream import LIMIT, RawUpstream, Script
from support.turns import Say
from support.websocket import gate, gated, played

UP = provider("up", "http://127.0.0.1:9", "chat")


@asynccontextmanager
async def two_upstreams(*scripts: Script) -> AsyncIterator[tuple[Engine, Config, RawUpstream, RawUpstream]]:
    """An engine on one upstream, and the configuration that leads to another one under the same name."""
    async with (
        RawUpstream(*scripts) as old,
        RawUpstream(played(Say("from the new one"))) as new,
        running_engine(provider("up", old.url, "responses")) as engine,
    ):
        yield engine, replace(engine.config, providers=(provider("up", new.url, "responses"),)), old, new


async def test_a_running_turn_ends_where_it_began_and_new_ones_go_where_the_new_configuration_says() -> None:
    async with two_upstreams(gated("a long answer")) as (engine, config, old, new):
        opened, sink = gate(old), RecordingSink()
        with engine.holds:
            running = asyncio.create_task(run_turn(engine, body(), sink))
            await sink.seen(b"text.delta")
            successor = engine.successor(config)
            retiring = asyncio.create_task(engine.retire())
            outcome = await run_turn(successor, body(), None)
            assert outcome.response is not None
            assert outcome.response["output"][0]["content"][0]["text"] == "from the new one"
            assert not retiring.done()
            opened.set()
            assert (await running).code is None
            assert len(old.open) == 1, "the connection is kept for the next request"
        async with asyncio.timeout(LIMIT):
            await retiring
        await old.until(lambda seen: not seen.open)
        assert (len(old.requests), len(new.requests)) == (1, 1)
        # The engine itself is still closed by the fixture, and with it everything that is shared.
        await successor.retire()


async def test_what_one_configuration_stored_the_next_one_continues() -> None:
    async with two_upstreams(played(Say("from the old one"))) as (engine, config, _, new):
        first = (await run_turn(engine, body(), None)).response
        assert first is not None
        successor = engine.successor(config)
        outcome = await run_turn(successor, body(previous_response_id=first["id"]), None)
        assert outcome.code is None
        assert b"from the old one" in new.requests[0].body
        assert [record.provider for record in successor.usage.records] == ["up", "up"]
        await successor.retire()


@pytest.mark.parametrize("store", [True, False])
async def test_a_background_response_goes_on_and_can_be_looked_at_and_cancelled(store: bool) -> None:
    async with two_upstreams(gated("a long answer")) as (engine, config, old, _):
        gate(old)
        queued = await engine.run(TurnRequest("responses", body(background=True, store=store), False), None)
        successor = engine.successor(config)
        retiring = asyncio.create_task(engine.retire())
        await old.until(lambda seen: bool(seen.requests))
        found = await successor.background.response(queued["id"])
        assert found is not None
        assert orjson.loads(found)["status"] == "in_progress"
        assert not retiring.done()
        gone = orjson.loads(await successor.background.cancel(queued["id"]))
        assert gone["status"] == "cancelled"
        async with asyncio.timeout(LIMIT):
            await retiring
        await successor.retire()


async def test_a_session_stays_with_its_provider_and_cooldowns_are_remembered() -> None:
    async with two_upstreams() as (engine, config, _, _):
        successor = engine.successor(config)
        for name in ("outages", "lessons", "previews", "repeats", "recall", "usage", "store", "key"):
            assert getattr(successor, name) is getattr(engine, name), name
        assert successor.courses._affinity._seats is engine.courses._affinity._seats
        await successor.retire()


async def test_limits_and_retention_are_those_of_the_new_configuration() -> None:
    async with two_upstreams() as (engine, config, _, _):
        config = replace(config, limits=Limits(body=1), store=Store("memory:", Retention(days=1)))
        successor = engine.successor(config)
        assert successor.config.limits.body == 1
        assert engine.shared.store._keeper is not None
        assert engine.shared.store._keeper.retention == Retention(days=1)
        await successor.retire()


async def test_nothing_is_left_of_twenty_configurations() -> None:
    async with RawUpstream(played(Say("hello"))) as upstream:
        config = Config(
            providers=(provider("up", upstream.url, "responses"),), timeouts=PATIENT, store=Store(url="memory:")
        )
        async with running_engine(*config.providers) as engine:
            tasks, before, gone = asyncio.all_tasks(), engine, []
            for _ in range(20):
                successor = before.successor(config)
                assert (await run_turn(successor, body(), None)).code is None
                if before is not engine:
                    gone.append(weakref.ref(before))
                    await before.retire()
                before = successor
            await before.retire()
            await upstream.until(lambda seen: not seen.open)
            await eventually(lambda: asyncio.all_tasks() <= tasks)
            gc.collect()
            assert [ref() for ref in gone] == [None] * 19


async def test_the_programs_of_tools_end_with_the_engine_that_started_them() -> None:
    """An MCP server is a process of its own, and the next configuration may not name it any more."""
    server = McpServer(command=(sys.executable, str(ROOT / "tests" / "support" / "mcp_server.py")))
    async with running_engine(UP, tools=Tools(mcp=Mcp(servers={"s": server}))) as engine:
        session = engine.gateway.mcp.configured("s")
        assert [tool["name"] for tool in await session.tools()] == ["add"]
        (owner,) = [task for task in asyncio.all_tasks() if task.get_name() == "mcp session"]
        successor = engine.successor(replace(engine.config, tools=Tools()))
        await engine.retire()
        assert owner.done()
        await successor.retire()


@pytest.mark.parametrize("where", ["background", "engine", "server"])
async def test_a_start_that_breaks_leaves_no_thread_of_the_store_behind(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def recover(self: Background) -> None:
        raise RuntimeError("broken")

    def broken(*given: object) -> None:
        raise RuntimeError("broken")

    match where:
        case "background":
            monkeypatch.setattr(Background, "recover", recover)
        case "engine":
            monkeypatch.setattr(engine_module, "make_executor", broken)
        case _:
            monkeypatch.setattr(serving, "App", broken)
    before = set(threading.enumerate())
    config = Config(store=Store(url=f"sqlite:///{tmp_path / 'state.db'}"), providers=(UP,))
    with pytest.raises(RuntimeError, match="broken"):
        await serving.serve(config, on_ready=broken, stop=asyncio.Event())
    left = [thread for thread in threading.enumerate() if thread not in before and "connection_worker" in thread.name]
    for thread in left:
        await asyncio.to_thread(thread.join, LIMIT)  # it ends a moment after its connection
    assert not any(thread.is_alive() for thread in left)
