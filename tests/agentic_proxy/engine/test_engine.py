"""What all turns share: executors of available providers, notes logged once, and an end that closes everything."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from agentic_proxy.config.model import Config
from agentic_proxy.engine import engine as module
from agentic_proxy.engine.engine import Engine
from agentic_proxy.routing.models import Target
from agentic_proxy.store.open import open_plainly
from agentic_proxy.store.sqlite import SqliteStore
from agentic_proxy.usage.base import UsageRecord
from support.breaks import WHOLE, whole
from support.engines import RecordingSink, body, one_upstream, provider, run_turn, running_engine
from support.raw_upstream import RawUpstream
from translators.events import Note
from translators.failure import Failure

UP = provider("up", "http://127.0.0.1:9", "chat")


async def test_only_providers_that_can_be_called_get_an_executor() -> None:
    other = replace(UP, name="later", type="kimi", available=False)
    engine = await Engine.create(Config(providers=(UP, other)))
    assert list(engine.executors) == ["up"]
    await engine.close()


async def test_what_a_route_leaves_out_is_logged_once_per_model_and_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        module.log, "info", lambda event, **more: logged.append((event, more["model"], more["rule"])), raising=False
    )
    async with running_engine(UP) as engine:
        one, two = Target(UP, None, "one"), Target(UP, None, "two")
        for target in (one, one, two):
            engine.note_once(target, [Note("a", "tools[0]"), Note("b", "x"), Note("a", "tools[1]")])
    assert logged == [("left_out", model, rule) for model in ("one", "two") for rule in ("a", "b")]


async def test_a_usage_record_says_who_answered_and_what_it_cost() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        sink = RecordingSink()
        outcome = await run_turn(engine, body(model="up/m", tools=[{"type": "file_search"}]), sink)
        (record,) = engine.usage.records
    assert outcome.response is not None
    assert (record.response_id, record.client_format, record.model) == (outcome.response["id"], "responses", "up/m")
    assert (record.provider, record.upstream_model, record.code) == ("up", "m", None)
    assert (record.input_tokens, record.output_tokens, record.cached_tokens) == (100, 10, 0)
    assert 0 <= record.seconds < 5
    assert "hosted_tool_left_out" in record.notes


@pytest.mark.requirement("R10")
async def test_the_record_is_there_before_the_terminal_event() -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        seen: list[int] = []

        class Watching(RecordingSink):
            async def write(self, data: bytes) -> None:
                if b"response.completed" in data:
                    seen.append(len(engine.usage.records))
                await super().write(data)

        await run_turn(engine, body(), Watching())
    assert seen == [1]


async def test_close_writes_what_the_sink_still_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    engine = await Engine.create(Config(providers=(UP,)))
    record = UsageRecord(int(time.time()), "resp_1", "responses", "m", "up", "m", 0.1, None, request_id="req_1")
    engine.usage.append(record)
    await engine.close()
    store = await open_plainly(Config().store.url)
    found = await store.story("req_1")
    await store.close()
    assert found == (None, [record])


async def test_a_store_that_takes_no_records_fails_no_turn_and_is_complained_about_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(*_: Any) -> None:
        raise Failure("store_failed", "The disk is full.")

    monkeypatch.setenv("AGENTIC_PROXY_HOME", str(tmp_path))
    monkeypatch.setattr(SqliteStore, "keep_usage", full)
    async with RawUpstream(whole(WHOLE["responses"])) as upstream:
        engine = await Engine.create(Config(providers=(provider("up", upstream.url, "responses"),)))
        with structlog.testing.capture_logs() as logged:
            for _ in range(2):
                assert (await run_turn(engine, body(), RecordingSink())).code is None
                await engine.usage.flush()
        await engine.close()
    assert [line["reason"] for line in logged if line["event"] == "usage_not_kept"] == ["The disk is full."]


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_unknown_model_is_refused_without_a_record(streaming: bool) -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        outcome = await run_turn(engine, body(model="nothing"), RecordingSink() if streaming else None)
        assert (outcome.status, outcome.code) == (404, "model_not_found")
        assert (upstream.requests, list(engine.usage.records)) == ([], [])
