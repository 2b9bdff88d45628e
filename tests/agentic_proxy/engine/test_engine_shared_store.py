"""Several proxies on one store, and stores that do not accept what they are given."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentic_proxy.config.model import Config, Store
from agentic_proxy.engine.engine import Engine
from agentic_proxy.store.base import ConversationRow
from support.engines import KEEPING, PATIENT, SMALL, RecordingSink, body, provider, run_turn
from support.raw_upstream import RawUpstream
from support.turns import Say
from support.websocket import gate, gated, played, sent, texts
from translators.failure import Failure


@asynccontextmanager
async def engine_on(directory: Path, upstream: RawUpstream) -> AsyncIterator[Engine]:
    config = Config(
        providers=(provider("up", upstream.url, "responses"),), timeouts=PATIENT, limits=SMALL,
        store=Store(f"sqlite:///{directory}/state.db", KEEPING),
    )  # fmt: skip
    engine = await Engine.create(config)
    try:
        yield engine
    finally:
        await engine.close()


@pytest.mark.requirement("R16")
async def test_what_was_started_on_one_proxy_goes_on_on_another(tmp_path: Path) -> None:
    async with (
        RawUpstream(played(Say("hello"))) as upstream,
        engine_on(tmp_path, upstream) as one,
        engine_on(tmp_path, upstream) as two,
    ):
        await one.store.create_conversation(ConversationRow("conv_1", 1, b"{}"), [])
        for number, engine in enumerate((one, two, one, two)):
            outcome = await run_turn(engine, body(input=f"turn {number}", conversation="conv_1"), RecordingSink())
            assert outcome.code is None
        said = [f"user: turn {number // 2}" if number % 2 == 0 else "assistant: hello" for number in range(7)]
        assert texts(sent(upstream)["input"]) == said
        previous: str | None = None
        for number, engine in enumerate((one, two, one, two)):
            outcome = await run_turn(engine, body(input=f"turn {number}", previous_response_id=previous), None)
            assert outcome.response is not None
            previous = outcome.response["id"]
        assert texts(sent(upstream)["input"]) == said


async def test_of_two_proxies_at_once_the_slower_one_loses(tmp_path: Path) -> None:
    async with (
        RawUpstream(gated("slow"), played(Say("quick"))) as upstream,
        engine_on(tmp_path, upstream) as one,
        engine_on(tmp_path, upstream) as two,
    ):
        opened = gate(upstream)
        await one.store.create_conversation(ConversationRow("conv_1", 1, b"{}"), [])
        slow = asyncio.create_task(run_turn(one, body(conversation="conv_1"), RecordingSink()))
        await upstream.until(lambda seen: bool(seen.requests))
        assert (await run_turn(two, body(conversation="conv_1"), None)).status == 200
        opened.set()
        assert (await slow).code == "conversation_locked"
        window = await one.store.conversation_window("conv_1")
        assert window is not None
        assert (len(window.items), window.revision) == (2, 1)


def statement(text: str) -> Callable[[sqlite3.Connection], None]:
    """SQLite's own limits and modes, on the connection that writes."""

    def run(connection: sqlite3.Connection) -> None:
        connection.execute(text)

    return run


@pytest.mark.requirement("R11")
@pytest.mark.parametrize("limit", ["full", "read_only"])
async def test_a_store_that_takes_nothing_more_fails_stored_turns_cleanly_and_no_others(
    limit: str, tmp_path: Path
) -> None:
    async with RawUpstream(played(Say("hello"))) as upstream, engine_on(tmp_path, upstream) as engine:
        first = await run_turn(engine, body(), None)
        assert first.response is not None
        lane = engine.store._writing  # type: ignore[attr-defined]
        text = "PRAGMA query_only = 1"
        if limit == "full":
            pages = await lane.run(lambda connection: connection.execute("PRAGMA page_count").fetchone()[0])
            text = f"PRAGMA max_page_count = {pages}"
        await lane.run(statement(text))
        outcomes = [await run_turn(engine, body(input="x" * 60_000), RecordingSink()) for _ in range(3)]
        streamed = [outcome for outcome in outcomes if outcome.status == 200]
        assert all(outcome.code == "server_error" for outcome in streamed)
        assert all(outcome.failure is None or outcome.failure.code == "store_failed" for outcome in outcomes)
        asked = len(upstream.requests)
        with pytest.raises(Failure) as caught:
            await engine.store.ready()
        assert caught.value.code == "store_failed"
        refused = await run_turn(engine, body(), None)
        assert (refused.status, refused.code) == (500, "store_failed")
        assert len(upstream.requests) == asked, "known to be broken: the upstream is not asked"
        assert (await run_turn(engine, body(store=False), RecordingSink())).code is None
        assert await engine.store.window(first.response["id"]) is not None, "what was stored is still read"
