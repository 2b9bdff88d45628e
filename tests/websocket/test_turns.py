"""One turn after another on a socket: what goes up, what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.engines import eventually
from support.raw_upstream import LAST, OK, Seen, answer, chunk
from support.turns import Call, Failed, Json, Say
from support.websocket import (
    TERMINALS,
    BrokenStore,
    connected,
    final_text,
    gate,
    gated,
    kinds,
    played,
    sent,
    texts,
    user,
)
from support.wires import responses_frames
from translators.failure import Failure

SEED = ["response.created", "response.output_item.added", "response.output_text.delta", "response.completed"]
ALL = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]
PATCH = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** End Patch"
CUSTOM: Json = {"type": "custom", "name": "apply_patch", "description": "Edits files."}
WEATHER: Json = {"type": "function", "name": "get_weather", "parameters": {"type": "object", "properties": {}}}


def namespace(name: str, *members: str) -> Json:
    tools = [{"type": "function", "name": each, "parameters": {"type": "object", "properties": {}}} for each in members]
    return {"type": "namespace", "name": name, "description": "Things.", "tools": tools}


def calls(events: list[Json]) -> list[Json]:
    """The call in the added and done event, and in the final output."""
    items = [event["item"] for event in events if event["type"].startswith("response.output_item.")]
    return [item for item in (*items, *events[-1]["response"]["output"]) if item["type"].endswith("_call")]


@pytest.mark.requirement("WS3")
@pytest.mark.requirement("D4")
async def test_a_first_stored_turn_gets_its_events_as_they_come_under_our_own_ids() -> None:
    async with connected(gated("HELLO")) as (client, server, upstream):
        opened = gate(upstream)
        await client.create(input="hi", store=True)
        first = await client.until("response.output_text.delta")
        assert first[-1]["delta"] == "HELLO"
        opened.set()
        events = [*first, *await client.until("response.completed")]
        response = events[-1]["response"]
        assert kinds(events) == ALL
        assert [kind for kind in ALL if kind in SEED] == SEED
        assert [event["sequence_number"] for event in events] == list(range(len(ALL)))
        assert {event["response"]["id"] for event in events if "response" in event} == {response["id"]}
        assert "scripted" not in response["id"]
        assert final_text(events) == "HELLO"
        body = sent(upstream)
        ours = ("type", "stream_id", "event_id", "generate")
        assert (body["stream"], [key for key in ours if key in body]) == (True, [])
        stored = await server.engine.store.response(response["id"])
        assert stored is not None
        assert json.loads(stored.data) == response


@pytest.mark.requirement("WS6")
@pytest.mark.requirement("D3")
async def test_a_stored_turn_that_cannot_be_stored_ends_with_a_server_error_and_never_completes() -> None:
    async with connected(played(Say("lost"))) as (client, server, _):
        BrokenStore(server.engine, lambda: Failure("store_failed", "The store does not accept writes."))
        events = await client.turn(input="hi", store=True)
        assert events[-1]["type"] == "response.failed"
        error = {"code": "server_error", "message": "The store does not accept writes."}
        assert events[-1]["response"]["error"] == error
        assert "response.completed" not in kinds(events)
        # The socket lives, and what is not to be stored still works.
        assert final_text(await client.turn(input="hi", store=False)) == "lost"


@pytest.mark.requirement("WS7")
@pytest.mark.requirement("D1")
async def test_an_upstream_failure_keeps_its_code_its_message_and_its_reason() -> None:
    *opening, failed = responses_frames({"model": "m"}, (), Failed("their_code", "their message"))
    event = json.loads(failed.partition(b"data: ")[2])
    event["response"]["incomplete_details"] = {"reason": "content_filter"}
    last = f"event: response.failed\ndata: {json.dumps(event)}\n\n".encode()
    async with connected((OK, chunk(b"".join(opening)), Seen(b""), chunk(last), LAST)) as (client, _, upstream):
        opened = gate(upstream)
        await client.create(input="hi")
        events = await client.until("response.in_progress")
        opened.set()
        events += await client.until(*TERMINALS)
        response = events[-1]["response"]
        assert kinds(events) == ["response.created", "response.in_progress", "response.failed"]
        assert (response["status"], response["error"], response["incomplete_details"]) == (
            "failed", {"code": "their_code", "message": "their message"}, {"reason": "content_filter"}
        )  # fmt: skip


async def test_an_upstream_failure_before_anything_was_sent_is_an_error_frame_with_code_and_message() -> None:
    *_, failed = responses_frames({"model": "m"}, (), Failed("their_code"))
    async with connected((OK, chunk(failed), LAST)) as (client, _, _):
        (frame,) = await client.turn(input="hi")
        assert (frame["status"], frame["error"]["code"], frame["error"]["message"]) == (
            502, "their_code", "scripted failure"
        )  # fmt: skip


@pytest.mark.requirement("WS9")
async def test_empty_input_without_the_prewarm_flag_reaches_the_upstream_as_it_is() -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        assert final_text(await client.turn(input=[])) == "ok"
        assert sent(upstream)["input"] == []


@pytest.mark.requirement("WS10")
async def test_a_namespaced_call_comes_back_with_its_namespace_and_its_short_name() -> None:
    tool = namespace("mcp__agentic_fixture", "add_numbers")
    async with connected(played(Call("mcp__agentic_fixture__add_numbers", {}))) as (client, _, upstream):
        events = await client.turn(input="add", tools=[tool])
        found = calls(events)
        assert [(call["namespace"], call["name"]) for call in found] == [("mcp__agentic_fixture", "add_numbers")] * 3
        assert [(each["type"], each["name"]) for each in sent(upstream)["tools"]] == [
            ("function", "mcp__agentic_fixture__add_numbers")
        ]


@pytest.mark.requirement("WS11")
async def test_a_long_namespace_is_cut_to_64_characters_upstream_and_restored() -> None:
    space, member = "mcp__" + "x" * 50, "remove_reaction_from_pr"
    async with connected(played(Say("first"))) as (client, _, upstream):
        await client.turn(input="learn the name", tools=[namespace(space, member)])
        name = sent(upstream)["tools"][0]["name"]
    assert len(name) == 64
    async with connected(played(Call(name, {}))) as (client, _, _):
        found = calls(await client.turn(input="remove", tools=[namespace(space, member)]))
        assert [(call["namespace"], call["name"]) for call in found] == [(space, member)] * 3


@pytest.mark.requirement("WS12")
async def test_a_custom_tool_goes_up_as_a_function_and_its_output_as_a_functions_result() -> None:
    scripts = played(Call("apply_patch", {"input": PATCH})), played(Say("done"))
    async with connected(*scripts) as (client, _, upstream):
        events = await client.turn(input="edit", tools=[CUSTOM])
        kind = "response.custom_tool_call_input"
        assert "".join(event["delta"] for event in events if event["type"] == f"{kind}.delta") == PATCH
        assert [event["input"] for event in events if event["type"] == f"{kind}.done"] == [PATCH]
        (call,) = events[-1]["response"]["output"]
        assert (call["type"], call["name"], call["input"]) == ("custom_tool_call", "apply_patch", PATCH)
        output = {"type": "custom_tool_call_output", "call_id": call["call_id"], "output": "ok"}
        previous = events[-1]["response"]["id"]
        assert final_text(await client.turn(input=[output], previous_response_id=previous)) == "done"
        body = sent(upstream)
        assert [item["type"] for item in body["input"]] == ["message", "function_call", "function_call_output"]
        assert json.loads(body["input"][1]["arguments"]) == {"input": PATCH}
        assert [(each["type"], each["name"]) for each in body["tools"]] == [("function", "apply_patch")]


@pytest.mark.requirement("WS14")
async def test_a_plain_function_keeps_its_name_and_gets_no_namespace() -> None:
    async with connected(played(Call("get_weather", {}))) as (client, _, upstream):
        found = calls(await client.turn(input="weather", tools=[WEATHER]))
        assert [(call["type"], call["name"], "namespace" in call) for call in found] == [
            ("function_call", "get_weather", False)
        ] * 3
        assert sent(upstream)["tools"][0]["name"] == "get_weather"


@pytest.mark.requirement("WS15")
@pytest.mark.parametrize("store", [True, False])
async def test_a_continuation_rebuilds_the_history_before_its_own_input(store: bool) -> None:
    async with connected(played(Say("one")), played(Say("two"))) as (client, _, upstream):
        first = (await client.turn(input="first", store=store))[-1]["response"]
        events = await client.turn(input=[user("second")], previous_response_id=first["id"], store=store)
        assert kinds(events) == ALL
        assert {event["response"]["previous_response_id"] for event in events if "response" in event} == {first["id"]}
        body = sent(upstream)
        assert texts(body["input"]) == ["user: first", "assistant: one", "user: second"]
        assert body["input"][1]["content"][0]["type"] == "output_text"
        assert "previous_response_id" not in body


@pytest.mark.requirement("WS27")
@pytest.mark.requirement("WS16")
@pytest.mark.requirement("D2")
@pytest.mark.parametrize("fields", [{}, {"store": False}, {"stream_id": "a"}, {"generate": False}], ids=repr)
async def test_an_unknown_previous_response_is_one_error_without_an_upstream_call(fields: Json) -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        events = await client.turn(input="hi", previous_response_id="resp_missing", **fields)
        named = {"stream_id": fields["stream_id"]} if "stream_id" in fields else {}
        text = "Previous response with id 'resp_missing' not found."
        error = {"message": text, "type": "invalid_request_error", "code": "previous_response_not_found",
                 "param": "previous_response_id"}  # fmt: skip
        assert events == [{"type": "error", "status": 400, "error": error, **named}]
        assert upstream.requests == []
        assert final_text(await client.turn(input="hi")) == "ok"


@pytest.mark.requirement("WS28")
async def test_what_is_asked_of_the_answers_text_goes_up_per_request_only() -> None:
    async with connected(played(Say("one")), played(Say("two"))) as (client, _, upstream):
        asked: dict[str, Any] = {"prompt_cache_key": "key", "text": {"verbosity": "low"}, "instructions": "Be brief."}
        first = (await client.turn(input="first", **asked))[-1]["response"]
        await client.turn(input="second", previous_response_id=first["id"])
        assert {key: sent(upstream, 0).get(key) for key in asked} == asked
        assert [key for key in asked if key in sent(upstream)] == []


async def test_a_tools_output_alone_continues_on_a_chat_upstream_as_user_call_and_result() -> None:
    scripts = played(Call("get_weather", {}), wire="chat"), played(Say("ok"), wire="chat")
    async with connected(*scripts, wire="chat") as (client, _, upstream):
        first = (await client.turn(input=[user("hi")], tools=[WEATHER], store=False))[-1]["response"]
        call_id = first["output"][0]["call_id"]
        output = {"type": "function_call_output", "call_id": call_id, "output": "sunny"}
        fields: Json = {"previous_response_id": first["id"], "tools": [WEATHER], "store": False}
        assert final_text(await client.turn(input=[output], **fields)) == "ok"
        messages = sent(upstream)["messages"]
        assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
        assert (messages[1]["tool_calls"][0]["id"], messages[2]["tool_call_id"]) == (call_id, call_id)


async def test_numbers_start_again_with_each_response() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        for _ in range(2):
            events = await client.turn(input="hi")
            assert [event["sequence_number"] for event in events] == list(range(len(events)))


async def test_an_upstream_that_refuses_is_an_error_frame_with_its_status_and_the_wait() -> None:
    body = json.dumps({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}).encode()
    script = (answer(429, body, "retry-after: 60"),)
    async with connected(script, script, played(Say("ok"))) as (client, _, _):
        (frame,) = await client.turn(input="hi")
        assert (frame["type"], frame["status"], frame["headers"]) == ("error", 429, {"Retry-After": "60"})
        assert frame["error"]["headers"] == frame["headers"]
        assert "sequence_number" not in frame


@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_a_socket_shows_the_very_events_of_a_stream(wire: str) -> None:
    items = Say("Half \u00e9 \u2028 and half.", reasoning="Because."), Call("get_weather", {"city": "Bern"})
    async with connected(played(*items, wire=wire), wire=wire) as (client, server, _):
        request: Json = {"model": "m", "input": "hi", "tools": [WEATHER], "store": False, "stream": True}
        async with server.session.post(f"{server.url}/v1/responses", json=request) as reply:
            stream = await reply.text()
        events = await client.turn(**request)
    lines = [line.removeprefix("data: ") for line in stream.split("\n") if line.startswith("data: {")]
    assert [_timeless(event) for event in events] == [_timeless(json.loads(line)) for line in lines]


def _timeless(event: Json) -> Json:
    """An event without what differs between two responses: ids made of the response's own, and times."""
    own = event.get("response", {}).get("id")
    text = json.dumps(event)
    if own is not None:
        text = text.replace(own.rpartition("_")[2], "X")
    found = json.loads(text)
    for each in (found, found.get("response", {})):
        for key in ("created_at", "completed_at", "item_id", "id"):
            each.pop(key, None)
    for item in (*found.get("response", {}).get("output", ()), found.get("item", {})):
        item.pop("id", None)
    return dict(found)


async def test_a_client_that_sends_its_next_turn_early_finds_it_answered_after_the_first() -> None:
    async with connected(gated("one"), played(Say("two"))) as (client, _, upstream):
        opened = gate(upstream)
        await client.create(input="first")
        await client.create(input="second")
        await eventually(lambda: len(upstream.requests) == 1)
        opened.set()
        assert final_text(await client.until("response.completed")) == "one"
        assert final_text(await client.until("response.completed")) == "two"
