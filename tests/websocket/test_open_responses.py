"""The WebSocket tests of the Open Responses suite (specification 2026-04-24), as tests of our own.

Every event must be one of the specification's events, every Response object must have all its keys.
"""

from __future__ import annotations

import pytest

from support.engines import kept
from support.streams import check_items, check_lifecycle, check_response, check_schema
from support.turns import Call, Json, Say
from support.websocket import Client, connected, final_text, kinds, played, sent, texts, user

MISSING: Json = {"type": "function_call_output", "call_id": "call_openresponses_missing", "output": "x"}
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather.",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}


async def valid(client: Client, **fields: object) -> list[Json]:
    """The events of a turn, which must end well and meet the specification."""
    events = await client.turn(**fields)
    assert events[-1]["type"] == "response.completed", events[-1]
    check_schema(events)
    check_lifecycle([*events, {"type": "[DONE]"}])  # which a stream has, and a socket has not
    check_items(events)
    for event in events:
        if "response" in event:
            check_response(event["response"])
    return events


def not_found(events: list[Json]) -> bool:
    (frame,) = events
    check_frame(frame)
    return bool(frame["error"]["code"] == "previous_response_not_found")


def check_frame(frame: Json) -> None:
    """The suite's error frame: type, status, and an error with a code."""
    assert frame["type"] == "error"
    assert isinstance(frame["status"], int)
    assert {"type", "code", "message"} <= frame["error"].keys()


@pytest.mark.requirement("OR1")
async def test_websocket_response() -> None:
    async with connected(played(Say("Hello there."))) as (client, _, _):
        assert final_text(await valid(client, input=[user("Say hello.")])) == "Hello there."


@pytest.mark.requirement("OR2")
@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_websocket_sequential_responses(wire: str) -> None:
    scripts = (played(Say(text), wire=wire) for text in ("one", "two"))
    async with connected(*scripts, wire=wire) as (client, _, _):
        answers = [await valid(client, input=[user(text)]) for text in ("first", "second")]
        assert [final_text(events) for events in answers] == ["one", "two"]
        assert len({events[-1]["response"]["id"] for events in answers}) == 2


@pytest.mark.requirement("OR3")
@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_websocket_continuation(wire: str) -> None:
    call = Call("get_weather", {"location": "Bern"})
    async with connected(played(call, wire=wire), played(Say("Sunny."), wire=wire), wire=wire) as (client, _, _):
        first = (await valid(client, input=[user("Weather?")], tools=[WEATHER], store=False))[-1]["response"]
        (made,) = first["output"]
        output = {"type": "function_call_output", "call_id": made["call_id"], "output": "sunny"}
        events = await valid(client, input=[output], previous_response_id=first["id"], tools=[WEATHER], store=False)
        assert final_text(events) == "Sunny."


@pytest.mark.requirement("OR4")
async def test_websocket_reconnect_store_false_recovery() -> None:
    async with connected(played(Say("one")), played(Say("two"))) as (_, server, upstream):
        async with server.client() as before:
            first = (await valid(before, input=[user("first")], store=False))[-1]["response"]
        async with server.client() as after:
            assert not_found(await after.turn(input=[user("x")], previous_response_id=first["id"], store=False))
            whole = [user("first"), *first["output"], user("second")]
            assert final_text(await valid(after, input=whole, store=False)) == "two"
        assert texts(sent(upstream)["input"]) == ["user: first", "assistant: one", "user: second"]
        assert await kept(server.engine) == {}


@pytest.mark.requirement("OR5")
@pytest.mark.parametrize("store", [True, False])
async def test_websocket_previous_response_not_found(store: bool) -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        missing = "resp_openresponses_missing"
        assert not_found(await client.turn(input=[user("x")], previous_response_id=missing, store=store))
        assert upstream.requests == []
        await valid(client, input=[user("x")], store=store)


@pytest.mark.requirement("OR6")
async def test_websocket_failed_continuation_evicts_cache() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        parent = (await valid(client, input=[user("first")], store=False))[-1]["response"]["id"]
        (frame,) = await client.turn(input=[MISSING], previous_response_id=parent, store=False)
        check_frame(frame)
        assert not not_found([frame])
        assert not_found(await client.turn(input=[user("again")], previous_response_id=parent, store=False))
        assert kinds(await valid(client, input=[user("fresh")], store=False))[-1] == "response.completed"
