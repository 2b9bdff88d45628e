"""Turns in which the proxy runs tools itself: an upstream that calls them, a search provider that answers."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from agentic_proxy.config.model import Limits, Mcp, Tools, WebSearch
from agentic_proxy.config.secrets import Secret
from agentic_proxy.engine.engine import Engine
from support.breaks import FRAMES, whole
from support.engines import PATIENT, RecordingSink, body, check_stream, provider, run_turn, running_engine
from support.raw_upstream import RawUpstream, Script
from support.search_server import SearchServer
from support.turns import Call, Item, Json

SEARCH: Json = {"type": "web_search_preview"}
WIRES = ("responses", "chat")
ROOMY = Limits(sse_line=1 << 20, retained=4 << 20, arguments=64 << 10)


def search(query: str, **more: Any) -> Call:
    """The model's call of the proxy's search."""
    return Call("web_search", {"query": query, **more})


def round_(wire: str, *items: Item, fault: Any = None) -> Script:
    """What an upstream says in one round."""
    request: Json = {"model": "m", "stream_options": {"include_usage": True}}
    return whole(b"".join(FRAMES[wire](request, items, fault)))


def brave(url: str) -> Tools:
    """The configuration of a search provider at a test's own address."""
    return Tools(web_search=WebSearch("brave", url, Secret("brave-key-of-a-test")))


@dataclass
class Played:
    """One turn as its client saw it, and what the upstream was sent in each round."""

    events: list[Json]
    response: Json
    rounds: list[Json]
    sink: RecordingSink

    @property
    def kinds(self) -> list[str]:
        """The events' types without the prefix they all have."""
        return [event["type"].removeprefix("response.") for event in self.events]

    def output(self, key: str = "type") -> list[Any]:
        return [item.get(key) for item in self.response["output"]]

    def tool_results(self, number: int, wire: str) -> list[str]:
        """What the model read of its calls in a round."""
        if wire == "chat":
            return [each["content"] for each in self.rounds[number]["messages"] if each["role"] == "tool"]
        items = self.rounds[number]["input"]
        return [item["output"] for item in items if item.get("type") == "function_call_output"]


@asynccontextmanager
async def gateway(
    wire: str, *rounds: Script, tools: Tools | None = None, limits: Limits = ROOMY, **changes: Any
) -> AsyncIterator[tuple[Engine, RawUpstream]]:
    """An engine with one upstream that plays these rounds."""
    async with (
        RawUpstream(*rounds) as upstream,
        running_engine(
            provider("up", upstream.url, wire, **changes), timeouts=PATIENT, limits=limits, tools=tools
        ) as engine,
    ):
        yield engine, upstream


async def play(engine: Engine, upstream: RawUpstream, **request: Any) -> Played:
    """One streamed turn; checks what holds for every stream, and that nothing internal is in it."""
    sink = RecordingSink()
    before = len(upstream.requests)
    outcome = await run_turn(engine, body(**{"tools": [SEARCH], **request}), sink)
    check_stream(sink)
    assert outcome.response is not None
    check_items(outcome.events)
    return Played(
        outcome.events, outcome.response, [json.loads(each.body) for each in upstream.requests[before:]], sink
    )


def check_items(events: list[Json]) -> None:
    """Items open in their order, without a gap; a finished stream's output is what its items said when they ended."""
    added = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
    assert added == list(range(len(added)))
    done = {event["output_index"]: event["item"] for event in events if event["type"] == "response.output_item.done"}
    last = events[-1]["response"]
    if last["status"] == "completed":
        assert [done[index] for index in sorted(done)] == last["output"]
    names = [item.get("name") for item in done.values() if item["type"] == "function_call"]
    assert not any(name == "web_search" or str(name).startswith("mcp__") for name in names)


@asynccontextmanager
async def searching(
    wire: str, *rounds: Script, server: SearchServer | None = None, **changes: Any
) -> AsyncIterator[tuple[Engine, RawUpstream, SearchServer]]:
    """The same with a search provider."""
    async with (
        server or SearchServer() as provider_,
        gateway(wire, *rounds, tools=brave(provider_.url), **changes) as (engine, upstream),
    ):
        yield engine, upstream, provider_


def mcp(**settings: Any) -> Tools:
    """The configuration of MCP servers."""
    return Tools(mcp=Mcp(**settings))
