"""Asynchronous calls: the model goes on while they run, whether it knows such calls or not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from agentic_proxy.engine.turn import TurnRequest
from support.engines import RecordingSink, check_stream, provider, running_engine
from support.turns import Call, Custom, Incomplete, Say
from support.upstream import Received, Upstream
from translators.tools.declarations import IN_BACKGROUND
from translators.tools.functions import STILL_RUNNING

Json = dict[str, Any]
LOOK: Json = {"type": "function", "name": "look", "description": "Looks.", "async": True, "parameters": {}}
ENTER: Json = {"type": "custom", "name": "enter", "async": True}
CLOCK: Json = {"type": "function", "name": "clock", "parameters": {}}
WIRES = pytest.mark.parametrize("wire", ["chat", "responses", "messages"])


async def answered(engine: Any, stream: bool = True, **fields: Any) -> Json:
    """The response to a stored request."""
    body = {"model": "m", "input": "hi", "tools": [LOOK, CLOCK, ENTER], "stream": stream, **fields}
    if not stream:
        response: Json = await engine.run(TurnRequest("responses", body, False), None)
        return response
    sink = RecordingSink()
    await engine.run(TurnRequest("responses", body, True), sink)
    check_stream(sink)
    last: Json = sink.events()[-1]["response"]
    return last


def kinds(response: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(item["type"], item.get("async")) for item in response["output"]]


def said(post: Received) -> str:
    return json.dumps(post.body.get("messages") or post.body["input"])


@WIRES
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.requirement("NW5")
async def test_a_model_that_stops_at_an_asynchronous_call_goes_on_and_reads_its_output_when_it_comes(
    wire: str, stream: bool
) -> None:
    async with (
        Upstream(Call("look", {"at": 1}), Say("Meanwhile."), Say("And?"), Say("Seen.")) as upstream,
        running_engine(provider("up", upstream.url, wire)) as engine,
    ):
        first = await answered(engine, stream)
        second = await answered(engine, stream, input="well?", previous_response_id=first["id"])
        output = {"type": "function_call_output", "call_id": first["output"][0]["call_id"], "output": "22 C"}
        third = await answered(engine, stream, input=[output], previous_response_id=second["id"])
    assert (first["status"], kinds(first)) == ("completed", [("function_call", True), ("message", None)])
    assert [kinds(second), kinds(third)] == [[("message", None)]] * 2
    assert first["tools"][0]["async"] is True
    _, went_on, waited, came = upstream.posts
    assert [STILL_RUNNING in said(post) for post in upstream.posts] == [False, True, True, False]
    assert "22 C" in said(came)
    for post in upstream.posts:
        assert IN_BACKGROUND in post.raw.decode()
        assert b'"async"' not in post.raw
    assert said(went_on)[:-1] in said(waited)


@pytest.mark.parametrize(
    ("turn", "shown"),
    [
        ((Call("look", {}), Call("clock", {})), [("function_call", True), ("function_call", None)]),
        ((Call("look", {}), Say("I look.")), [("function_call", True), ("message", None)]),
        (Call("clock", {}), [("function_call", None)]),
        (Incomplete("max_output_tokens", (Call("look", {}),)), [("function_call", True)]),
    ],
    ids=["beside_an_ordinary_call", "it_went_on_by_itself", "ordinary", "cut_off"],
)
async def test_the_response_ends_where_the_client_has_to_act_or_the_model_has_spoken(turn: Any, shown: Any) -> None:
    async with Upstream(turn) as upstream, running_engine(provider("up", upstream.url, "responses")) as engine:
        response = await answered(engine)
    assert kinds(response) == shown
    assert len(upstream.posts) == 1


async def test_a_custom_tool_may_be_asynchronous() -> None:
    turns = (Call("enter", {"input": "x"}), Say("Meanwhile."))
    async with Upstream(*turns) as upstream, running_engine(provider("up", upstream.url, "chat")) as engine:
        response = await answered(engine)
    assert kinds(response) == [("custom_tool_call", True), ("message", None)]


async def test_openai_is_left_to_go_on_by_itself() -> None:
    async with Upstream(Custom("enter", "x")) as upstream:
        own = provider("up", upstream.url, "responses", custom_tools="native")
        async with running_engine(own) as engine:
            await answered(engine)
    (post,) = upstream.posts
    assert [tool.get("async") for tool in post.body["tools"]] == [True, None, True]
