"""A request with ``generate: false`` is answered here, and what it brought serves the next turn."""

from __future__ import annotations

import json

import pytest

from support.engines import kept
from support.turns import Json, Say
from support.websocket import BrokenStore, connected, final_text, kinds, played, sent, texts, user
from translators.failure import Failure

PATCH: Json = {"type": "custom", "name": "apply_patch", "description": "Edits files."}
MCP: Json = {
    "type": "mcp",
    "server_label": "demo",
    "server_url": "https://mcp.example/",
    "headers": {"Authorization": "Bearer SECRET-1"},
    "authorization": "SECRET-2",
    "require_approval": "never",
}


@pytest.mark.requirement("WS1")
async def test_a_prewarm_is_local_and_its_instructions_input_and_tools_serve_the_next_turn() -> None:
    async with connected(played(Say("READY"))) as (client, _, upstream):
        events = await client.turn(
            input=[user("prefix")], instructions="Obey.", tools=[PATCH], generate=False, store=False
        )
        created, completed = (event["response"] for event in events)
        assert kinds(events) == ["response.created", "response.completed"]
        assert [event["sequence_number"] for event in events] == [0, 1]
        assert (created["id"], created["status"], created["usage"]) == (completed["id"], "in_progress", None)
        assert (completed["status"], completed["output"]) == ("completed", [])
        assert upstream.requests == []
        turn = await client.turn(input=[user("new")], previous_response_id=completed["id"], store=False)
        assert final_text(turn) == "READY"
        body = sent(upstream)
        assert (body["instructions"], "generate" in body) == ("Obey.", False)
        assert texts(body["input"]) == ["user: prefix", "user: new"]
        (tool,) = body["tools"]
        assert (tool["type"], tool["name"]) == ("function", "apply_patch")
        assert tool["parameters"]["properties"]["input"]["type"] == "string"


async def test_instructions_of_the_turn_itself_go_before_those_of_its_prewarm() -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        warm = (await client.turn(input=[], instructions="Old.", generate=False, store=False))[-1]["response"]
        await client.turn(input="hi", instructions="New.", previous_response_id=warm["id"], store=False)
        assert sent(upstream)["instructions"] == "New."


@pytest.mark.requirement("WS2")
async def test_a_stored_prewarm_keeps_an_mcp_tool_but_none_of_its_credentials() -> None:
    async with connected(played(Say("never"))) as (client, server, upstream):
        completed = (await client.turn(input=[user("hi")], tools=[MCP], generate=False))[-1]["response"]
        stored = await server.engine.store.response(completed["id"])
        assert stored is not None
        assert stored.tools is not None
        safe = {key: value for key, value in MCP.items() if key not in ("headers", "authorization")}
        assert json.loads(stored.tools) == [safe]
        lines = b"".join([line async for line in server.engine.store.export()])
        assert b"SECRET" not in lines + json.dumps(completed).encode()
        assert upstream.requests == []


@pytest.mark.requirement("WS8")
@pytest.mark.parametrize("store", [True, False])
async def test_a_prewarm_with_empty_input_can_be_continued_with_only_the_new_item(store: bool) -> None:
    async with connected(played(Say("ok"))) as (client, server, upstream):
        events = await client.turn(input=[], generate=False, store=store)
        completed = events[-1]["response"]
        assert kinds(events) == ["response.created", "response.completed"]
        assert events[0]["response"]["id"] == completed["id"]
        assert completed["usage"]["total_tokens"] == 0
        assert upstream.requests == []
        assert await kept(server.engine) == ({completed["id"]: "completed"} if store else {})
        turn = await client.turn(input=[user("new")], previous_response_id=completed["id"], store=store)
        assert turn[-1]["response"]["previous_response_id"] == completed["id"]
        assert texts(sent(upstream)["input"]) == ["user: new"]


@pytest.mark.requirement("D11")
async def test_an_unstored_prewarm_is_kept_by_its_connection_only() -> None:
    async with connected(played(Say("ok"))) as (client, server, _):
        warm = (await client.turn(input=[], generate=False, store=False))[-1]["response"]
        assert await kept(server.engine) == {}
        async with server.client() as other:
            (frame,) = await other.turn(input="hi", previous_response_id=warm["id"], store=False)
            assert frame["error"]["code"] == "previous_response_not_found"
        assert final_text(await client.turn(input="hi", previous_response_id=warm["id"], store=False)) == "ok"


async def test_a_prewarm_is_committed_before_it_is_answered_or_it_is_one_error() -> None:
    async with connected(played(Say("ok"))) as (client, server, _):
        BrokenStore(server.engine, lambda: Failure("store_failed", "The store is broken."))
        (frame,) = await client.turn(input=[], generate=False, store=True)
        assert (frame["type"], frame["status"], frame["error"]["code"]) == ("error", 500, "store_failed")


async def test_a_bug_in_a_prewarm_is_an_error_frame_and_the_socket_lives() -> None:
    async with connected(played(Say("ok"))) as (client, server, _):
        BrokenStore(server.engine, lambda: RuntimeError("a bug of a test"))
        (frame,) = await client.turn(input=[], generate=False, store=True)
        assert (frame["type"], frame["status"], frame["error"]["code"]) == ("error", 500, "internal_error")
        assert "bug of a test" not in str(frame)
        assert final_text(await client.turn(input="hi", store=False)) == "ok"


async def test_a_prewarm_of_an_unknown_model_is_refused_as_its_turn_would_be() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        (frame,) = await client.turn(model="nobody/has-it", input=[], generate=False)
        assert (frame["type"], frame["status"], frame["error"]["code"]) == ("error", 404, "model_not_found")


async def test_generate_true_is_an_ordinary_turn() -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        assert final_text(await client.turn(input="hi", generate=True)) == "ok"
        assert "generate" not in sent(upstream)
