"""Tools of plugins in whole turns: run between two rounds, for every client, in front of every upstream."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from agentic_proxy.config.model import Tools
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.gateway_tools import GatewayTools
from agentic_proxy.engine.turn import TurnRequest
from agentic_proxy.tools.plugin import PLUGIN_TOOLS, PluginTool
from support.engines import RecordingSink, body, run_turn
from support.gateway import WIRES, Played, gateway, play, round_
from support.raw_upstream import RawUpstream, Script
from support.readers import read_chat, read_messages
from support.turns import Call, Json, Say
from translators.registry import CLIENTS

SCHEMA: Json = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
DECLARED: Json = {"type": "function", "name": "double", "description": "the client's", "parameters": {"type": "object"}}
RUN: Json = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
DOUBLE = Call("double", {"n": 21})
USER: Json = {"role": "user", "content": "Double it."}


@pytest.fixture(autouse=True)
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Json]:
    """What the tool ``double`` was called with."""
    calls: list[Json] = []

    async def double(arguments: Json) -> str:
        calls.append(arguments)
        if arguments["n"] < 0:
            raise KeyError("a mistake of the plugin")
        return str(arguments["n"] * 2)

    monkeypatch.setitem(PLUGIN_TOOLS, "double", PluginTool("double", "Doubles a number.", SCHEMA, double))
    return calls


@asynccontextmanager
async def with_plugin(
    wire: str, *rounds: Script, offer: tuple[str, ...] = (), **changes: Any
) -> AsyncIterator[tuple[Engine, RawUpstream]]:
    async with gateway(wire, *rounds, **changes) as (engine, upstream):
        engine.config = replace(engine.config, plugins=("a.py",), tools=Tools(offer=offer))
        engine.gateway = GatewayTools(engine.config)
        yield engine, upstream


def functions(sent: Json) -> list[tuple[str, str]]:
    """The functions of an upstream request: name and description."""
    found = [tool.get("function") or tool for tool in sent.get("tools") or ()]
    return [(each["name"], each.get("description", "")) for each in found]


@pytest.mark.parametrize("how", ["declared", "offered"])
@pytest.mark.parametrize("wire", WIRES)
async def test_its_calls_are_run_shown_as_calls_of_the_proxy_and_read_by_the_model(
    wire: str, how: str, ran: list[Json]
) -> None:
    rounds = round_(wire, Say("I double. "), DOUBLE), round_(wire, Say("42.")), round_(wire, Say("Sure."))
    tools = [DECLARED, RUN] if how == "declared" else [RUN]
    async with with_plugin(wire, *rounds, offer=("double",) if how == "offered" else ()) as (engine, upstream):
        first = await play(engine, upstream, tools=tools)
        second = await play(engine, upstream, tools=tools, previous_response_id=first.response["id"], input="Sure?")
    assert (ran, first.output()) == ([{"n": 21}], ["message", "mcp_call", "message"])
    call = first.response["output"][1]
    assert call == {
        "id": call["id"], "type": "mcp_call", "status": "completed", "server_label": "agentic-proxy", "name": "double",
        "arguments": call["arguments"], "output": "42", "error": None, "approval_request_id": None,
    }  # fmt: skip
    assert json.loads(call["arguments"]) == {"n": 21}
    assert [kind for kind in first.kinds if kind.startswith("mcp_call")] == [
        "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done", "mcp_call.completed",
    ]  # fmt: skip
    assert [functions(sent) for sent in (*first.rounds, *second.rounds)] == [
        [("run", ""), ("double", "Doubles a number.")]
    ] * 3
    assert first.tool_results(1, wire) == ["42"]
    assert [each["name"] for each in first.response["tools"]] == [each["name"] for each in tools], "the client's own"
    key = "messages" if wire == "chat" else "input"
    assert second.rounds[0][key][: len(first.rounds[1][key])] == first.rounds[1][key]


async def test_an_upstream_that_knows_the_clients_tools_gets_the_function_and_the_pair(ran: list[Json]) -> None:
    rounds = [round_("responses", DOUBLE), round_("responses", Say("42.")), round_("responses", Say("Sure."))]
    native = {"custom_tools": "native"}
    async with with_plugin("responses", *rounds, **native) as (engine, upstream):
        first = await play(engine, upstream, tools=[DECLARED], tool_choice={"type": "function", "name": "double"})
        history = [{"type": "message", **USER}, *first.response["output"], {"type": "message", **USER}]
        again = await play(engine, upstream, tools=[DECLARED], store=False, input=history)
    assert (len(ran), functions(first.rounds[0])) == (1, [("double", "Doubles a number.")])
    assert [sent["tool_choice"] for sent in first.rounds] == [{"type": "function", "name": "double"}, "auto"]
    kinds = [item.get("name") or item["type"] for item in again.rounds[0]["input"]]
    assert kinds == ["message", "double", "function_call_output", "message", "message"]


@pytest.mark.parametrize("wire", WIRES)
async def test_without_the_plugin_in_the_configuration_the_function_is_the_clients(wire: str, ran: list[Json]) -> None:
    async with gateway(wire, round_(wire, DOUBLE)) as (engine, _):
        outcome = await run_turn(engine, body(tools=[DECLARED]), None)
    assert outcome.response is not None
    assert ([item["type"] for item in outcome.response["output"]], ran) == (["function_call"], [])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (Call("double", {"n": "x"}), "The call was not run: arguments['n']: 'x' is not of type 'integer'"),
        (Call("double", {"n": -1}), "The tool failed in a way that nobody expected; the proxy's log has the details."),
    ],
)
async def test_a_call_that_fails_is_a_failed_item_and_the_answer_goes_on(call: Call, error: str) -> None:
    async with with_plugin("chat", round_("chat", call), round_("chat", Say("Oh."))) as (engine, upstream):
        played: Played = await play(engine, upstream, tools=[DECLARED])
    assert (played.output(), played.output("status")) == (["mcp_call", "message"], ["failed", "completed"])
    assert json.loads(played.tool_results(1, "chat")[0]) == {"error": error}


async def cancelled_inside() -> None:
    task = asyncio.create_task(asyncio.Event().wait())
    await asyncio.sleep(0)
    task.cancel()
    await task


async def exits() -> None:
    sys.exit(3)


async def many() -> None:
    raise BaseExceptionGroup("several", [asyncio.CancelledError(), KeyError()])


async def too_late() -> None:
    raise TimeoutError("its own")


@pytest.mark.parametrize("mistake", [cancelled_inside, exits, many, too_late])
async def test_no_mistake_of_a_tool_ends_the_stream_or_the_program(
    mistake: Callable[[], Awaitable[None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(arguments: Json) -> None:
        await mistake()

    monkeypatch.setitem(PLUGIN_TOOLS, "double", PluginTool("double", "Doubles a number.", SCHEMA, broken))
    async with with_plugin("chat", round_("chat", DOUBLE), round_("chat", Say("Oh."))) as (engine, upstream):
        played = await play(engine, upstream, tools=[DECLARED])
    assert (played.output(), played.kinds[-1]) == (["mcp_call", "message"], "completed")
    assert "in a way that nobody expected" in json.loads(played.tool_results(1, "chat")[0])["error"]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("client", ["chat", "messages"])
async def test_clients_of_other_formats_get_the_answer(client: str, wire: str, ran: list[Json]) -> None:
    rounds = round_(wire, DOUBLE), round_(wire, Say("It is 42."))
    tool = (
        {"type": "function", "function": {"name": "double", "parameters": {"type": "object"}}}
        if client == "chat"
        else {"name": "double", "input_schema": {"type": "object"}}
    )
    original = {"model": "m", "max_tokens": 900, "messages": [USER], "tools": [tool]}
    async with with_plugin(wire, *rounds, *rounds) as (engine, _):
        hub, notes = CLIENTS[client].to_hub({**original, "stream": True})
        sink = RecordingSink()
        streamed = TurnRequest(client, hub, True, original={**original, "stream": True}, notes=tuple(notes))
        await engine.run(streamed, sink)
        hub, notes = CLIENTS[client].to_hub(original)
        response = await engine.run(TurnRequest(client, hub, False, original=original, notes=tuple(notes)), None)
        made = json.loads(CLIENTS[client].whole(response, original))
    read = (read_chat if client == "chat" else read_messages)(sink.data)
    assert (read.text, read.calls, read.error) == ("It is 42.", [], None)
    assert read.ending in ("stop", "end_turn")
    text = made["choices"][0]["message"]["content"] if client == "chat" else made["content"][0]["text"]
    assert (text, ran) == ("It is 42.", [{"n": 21}] * 2)


async def test_a_request_of_the_proxys_own_is_offered_nothing() -> None:
    rounds = round_("chat", Say("SUMMARY")), round_("chat", Say("Well."))
    async with with_plugin("chat", *rounds, offer=("double",)) as (engine, upstream):
        items = [{"type": "message", **USER}, {"type": "compaction_trigger"}]
        await run_turn(engine, body(input=items), None)
        await run_turn(engine, body(), None)
        summary, plain = [json.loads(each.body) for each in upstream.requests]
    assert (functions(summary), functions(plain)[-1:]) == ([], [("double", "Doubles a number.")])


async def test_no_server_has_the_label_of_the_proxy() -> None:
    async with with_plugin("chat") as (engine, _):
        tool = {"type": "mcp", "server_label": "agentic-proxy", "server_url": "https://m.example/"}
        outcome = await run_turn(engine, body(tools=[tool]), None)
    assert outcome.failure is not None
    assert (outcome.status, "must not be agentic-proxy" in outcome.failure.message) == (400, True)
