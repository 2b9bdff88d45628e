"""The seed's contract of apply_patch calls, row by row: each of its providers, each way in which a stream ends, seen by
the engine alone and by a desktop client in front of the whole server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Tools
from agentic_proxy.engine.engine import Engine
from support.engines import Outcome, RecordingSink, body, one_upstream, provider, run_turn
from support.patch_streams import ENDS, FAILS, TEXT, body_of
from support.patch_turns import SENTENCE, WRONG_TYPE, configure, frames, records, request
from support.raw_upstream import STALL, RawUpstream, Script
from support.turns import Json
from support.websocket import Served, serving

PROVIDERS = (
    ("xai", "responses"),
    ("meta", "responses"),
    ("kimi", "responses"),
    ("kimi", "chat"),
    ("openai-compatible", "chat"),
)
FAILING = [(*who, mode) for who in PROVIDERS for mode in FAILS if who[1] in FAILS[mode]]
ENDING = [(*who, mode) for who in PROVIDERS for mode in ENDS if who[1] in ENDS[mode]]
DESKTOP = {"User-Agent": "Codex Desktop/26.803.41515", "Originator": "Codex Desktop"}
BAD = "invalid_tool_arguments"
every_way = pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])


def out(engine: Engine) -> list[Json]:
    """Who rests."""
    return engine.outages.listing(engine.config.providers)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a desktop client got."""

    status: int
    text: str

    @property
    def events(self) -> list[str]:
        """The names of its events, with ``[DONE]``."""
        firsts = [frame.partition("\n")[0] for frame in self.text.split("\n\n") if frame]
        return [first.removeprefix("event: ").removeprefix("data: ") for first in firsts]


async def desktop(server: Served, *, streaming: bool, **changes: Any) -> Seen:
    """One request as a desktop client sends it."""
    made = {**request(**changes), "stream": streaming}
    async with server.session.post(f"{server.url}/v1/responses", json=made, headers=DESKTOP) as answer:
        return Seen(answer.status, await answer.text())


@asynccontextmanager
async def strict_server(kind: str, wire: str, *scripts: Script) -> AsyncIterator[tuple[Served, RawUpstream]]:
    """The whole server in mode strict, with one provider of this type."""
    async with (
        RawUpstream(*scripts) as upstream,
        serving(provider("up", upstream.url, wire, type=kind), tools=Tools("strict")) as server,
    ):
        yield server, upstream


def message_of(outcome: Outcome) -> str:
    if outcome.failure is not None:
        return outcome.failure.message
    assert outcome.response is not None
    return str(outcome.response["error"]["message"])


@every_way
@pytest.mark.parametrize(("kind", "wire", "mode"), FAILING)
@pytest.mark.requirement("AP6")
async def test_a_stream_that_does_not_close_is_one_failure_and_one_failed_record(
    kind: str, wire: str, mode: str, streaming: bool
) -> None:
    async with one_upstream(wire, body_of(FAILS[mode][wire]), type=kind) as (engine, upstream):
        configure(engine, "strict")
        sink = RecordingSink() if streaming else None
        outcome = await run_turn(engine, request(), sink)
        assert (outcome.code, message_of(outcome)) == (BAD, SENTENCE)
        if sink is not None and sink.started:
            kinds = sink.kinds()
            assert [kinds.count(f"response.{each}") for each in ("failed", "completed", "incomplete")] == [1, 0, 0]
            assert "error" not in kinds
            assert b"[DONE]" not in sink.data and b"RAW_SECRET" not in sink.data
        assert [code for code, *_ in records(engine)] == [BAD]
        assert (len(upstream.requests), out(engine)) == (1, [])


@every_way
@pytest.mark.parametrize(("kind", "wire", "mode"), FAILING)
@pytest.mark.requirement("AP7", "AP10")
async def test_a_desktop_client_sees_one_failure_and_no_retry_hides_behind_it(
    kind: str, wire: str, mode: str, streaming: bool
) -> None:
    async with strict_server(kind, wire, body_of(FAILS[mode][wire])) as (server, upstream):
        seen = await desktop(server, streaming=streaming)
        assert SENTENCE in seen.text
        assert not any(word in seen.text for word in ("response.completed", "[DONE]", "RAW_SECRET"))
        if seen.status == 200:
            assert streaming
            assert (seen.events[-1], seen.events.count("response.failed"), "error" in seen.events) == (
                "response.failed", 1, False,
            )  # fmt: skip
        else:
            assert (seen.status, orjson.loads(seen.text)["error"]["code"]) == (502, BAD)
        assert [record.code for record in server.engine.usage.records] == [BAD]
        assert (len(upstream.requests), out(server.engine)) == (1, [])


@every_way
@pytest.mark.parametrize(("kind", "wire", "mode"), ENDING)
@pytest.mark.requirement("AP5", "AP7")
async def test_a_desktop_client_gets_the_text_and_one_done_marker(
    kind: str, wire: str, mode: str, streaming: bool
) -> None:
    async with strict_server(kind, wire, body_of(ENDS[mode][wire])) as (server, _):
        seen = await desktop(server, streaming=streaming)
        status = "incomplete" if mode == "response.incomplete" else "completed"
        assert seen.status == 200
        if streaming:
            assert seen.events[-2:] == [f"response.{status}", "[DONE]"]
            assert (seen.events.count("[DONE]"), seen.events.count("response.failed")) == (1, 0)
            assert f'"input":"{TEXT}"' in seen.text
        else:
            (item,) = orjson.loads(seen.text)["output"]
            assert (item["type"], item["input"], orjson.loads(seen.text)["status"]) == (
                "custom_tool_call", TEXT, status,
            )  # fmt: skip
        used = [(each.code, each.input_tokens, each.output_tokens) for each in server.engine.usage.records]
        assert used == [(None, 5, 3)]


@every_way
@pytest.mark.parametrize(("kind", "wire"), PROVIDERS)
@pytest.mark.requirement("AP24", "D12")
async def test_an_empty_answer_to_an_ordinary_tool_is_empty_and_nothing_else(
    kind: str, wire: str, streaming: bool
) -> None:
    ordinary = {"type": "function", "name": "apply_patch", "parameters": {"type": "object", "properties": {}}}
    async with strict_server(kind, wire, body_of(b"")) as (server, _):
        seen = await desktop(server, streaming=streaming, tools=[ordinary])
        assert (seen.status, orjson.loads(seen.text)["error"]["code"]) == (502, "upstream_empty")
        assert "apply_patch" not in seen.text
        assert [record.code for record in server.engine.usage.records] == ["upstream_empty"]


@every_way
@pytest.mark.parametrize(("kind", "wire"), PROVIDERS)
@pytest.mark.requirement("AP18", "AP21", "AP22")
async def test_a_failure_ends_its_connection_and_the_next_request_succeeds_on_a_fresh_one(
    kind: str, wire: str, streaming: bool
) -> None:
    wrong = frames(wire, WRONG_TYPE)
    good = body_of(ENDS["response.completed"][wire])
    # The first upstream sends nothing more and leaves its connection open: whoever goes on reading waits for ever.
    held = (*body_of(wrong)[:-1], STALL)
    async with strict_server(kind, wire, held, good) as (server, upstream):
        first = await desktop(server, streaming=streaming)
        assert SENTENCE in first.text and "RAW_SECRET" not in first.text
        await upstream.until(lambda each: 0 not in each.open)
        second = await desktop(server, streaming=streaming)
        assert (second.status, TEXT in second.text) == (200, True)
        assert [request.connection for request in upstream.requests] == [0, 1]
        assert [record.code for record in server.engine.usage.records] == [BAD, None]
        assert out(server.engine) == []


async def test_the_same_without_the_patch_tool_is_the_upstreams_fault() -> None:
    async with one_upstream("responses", body_of(FAILS["item, then the end"]["responses"]), type="xai") as (engine, _):
        configure(engine, "strict")
        outcome = await run_turn(engine, body(), None)
        assert outcome.code == "upstream_closed"
        assert [row["code"] for row in out(engine)] == ["upstream_closed"]
