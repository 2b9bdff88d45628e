"""``/v1/conversations`` with OpenAI's envelopes, and the turns that read and append to them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.raw_upstream import RESET
from support.rest import call, create
from support.stored import conversation_ids
from support.turns import Json, Say
from support.websocket import Served, gate, gated, played, sent, served, texts, user

HELLO = played(Say("hello"))


async def made(server: Served, **fields: Any) -> Json:
    reply = await call(server, "POST", "/conversations", fields)
    assert reply.status == 200, reply
    return reply.body


async def said(server: Served, conversation: str) -> list[str]:
    """Role and text of its items, oldest first."""
    return texts((await call(server, "GET", f"/conversations/{conversation}/items?order=asc&limit=100")).body["data"])


async def test_a_conversation_is_made_shown_changed_and_deleted() -> None:
    async with served(HELLO) as (server, _):
        conversation = await made(server, metadata={"topic": "a"}, items=[{"role": "user", "content": "one"}])
        assert conversation == {
            "id": conversation["id"], "object": "conversation", "created_at": conversation["created_at"],
            "metadata": {"topic": "a"},
        }  # fmt: skip
        path = f"/conversations/{conversation['id']}"
        assert conversation["id"].startswith("conv_")
        assert (await call(server, "GET", path)).body == conversation
        changed = await call(server, "POST", path, {"metadata": {"topic": "b"}})
        assert changed.body == {**conversation, "metadata": {"topic": "b"}} == (await call(server, "GET", path)).body
        gone = await call(server, "DELETE", path)
        assert gone.body == {"id": conversation["id"], "object": "conversation.deleted", "deleted": True}


async def test_items_are_kept_and_listed_without_the_credentials_of_mcp_servers() -> None:
    mcp = {"type": "mcp", "server_label": "s", "authorization": "SECRET"}
    item = {"type": "additional_tools", "id": "at_1", "tools": [mcp]}
    async with served(HELLO) as (server, _):
        path = f"/conversations/{(await made(server, items=[item]))['id']}/items"
        added = await call(server, "POST", path, {"items": [item]})
        listed = await call(server, "GET", path)
        for each in (*added.body["data"], *listed.body["data"]):
            assert each["tools"] == [{"type": "mcp", "server_label": "s"}]


async def test_an_empty_body_makes_an_empty_conversation() -> None:
    async with served(HELLO) as (server, _), server.session.post(f"{server.url}/v1/conversations") as reply:
        assert reply.status == 200
        assert (await reply.json())["metadata"] == {}


async def test_items_are_added_listed_shown_and_taken_out() -> None:
    async with served(HELLO) as (server, _):
        path = f"/conversations/{(await made(server))['id']}/items"
        one = {"type": "message", "role": "user", "content": "one"}
        call_item = {"type": "function_call", "id": "fc_own", "call_id": "c", "name": "run", "arguments": "{}"}
        added = await call(server, "POST", path, {"items": [one, call_item]})
        assert added.body.keys() == {"object", "data", "first_id", "last_id", "has_more"}
        first = added.body["data"][0]
        assert first == {
            **one, "id": first["id"], "status": "completed", "content": [{"type": "input_text", "text": "one"}],
        }  # fmt: skip
        assert added.body["data"][1] == call_item
        assert (added.body["first_id"], added.body["last_id"]) == (first["id"], "fc_own")
        listed = await call(server, "GET", path)
        assert listed.body["data"] == added.body["data"][::-1], "newest first"
        page = await call(server, "GET", f"{path}?limit=1&order=asc")
        assert (page.body["data"], page.body["has_more"]) == ([first], True)
        rest = await call(server, "GET", f"{path}?order=asc&after={first['id']}")
        assert (rest.body["data"], rest.body["has_more"]) == ([call_item], False)
        assert (await call(server, "GET", f"{path}/fc_own")).body == call_item
        taken = await call(server, "DELETE", f"{path}/fc_own")
        assert taken.body["object"] == "conversation"
        for method in ("GET", "DELETE"):
            assert (await call(server, method, f"{path}/fc_own")).error == (404, "item_not_found", "item_id")
        assert (await call(server, "GET", path)).body["data"] == [first]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("DELETE", ""), ("GET", "/items"), ("POST", "/items"), ("GET", "/items/msg_1"),
     ("DELETE", "/items/msg_1")],
)  # fmt: skip
async def test_an_unknown_conversation_is_404_and_never_made(method: str, path: str) -> None:
    body = {"metadata": {}, "items": [user("hi")]} if method == "POST" else None
    async with served(HELLO) as (server, _):
        reply = await call(server, method, f"/conversations/conv_no{path}", body)
        assert reply.error == (404, "conversation_not_found", "conversation_id")
        assert (await server.engine.store.stats()).conversations == 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"metadata": []}, "metadata"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": {"k" * 65: "v"}}, "metadata"),
        ({"metadata": {"k": "v" * 513}}, "metadata"),
        ({"metadata": {str(n): "v" for n in range(17)}}, "metadata"),
        ({"items": {}}, "items"),
        ({"items": [user("x")] * 21}, "items"),
        ({"items": ["x"]}, "items[0]"),
        ({"items": [user("x"), {"content": "no role"}]}, "items[1]"),
        ({"items": [{"type": 5}]}, "items[0].type"),
        ({"items": [{"type": None}]}, "items[0]"),
        ({"items": [{"type": "function_call", "call_id": []}]}, "items[0].call_id"),
        ({"items": [{"type": "mcp_list_tools", "server_label": {}}]}, "items[0].server_label"),
        ({"items": [{"type": "item_reference", "id": "msg_1"}]}, "items[0]"),
    ],
)
async def test_a_wrong_body_is_refused_by_its_place(body: Json, param: str) -> None:
    async with served(HELLO) as (server, _):
        assert (await call(server, "POST", "/conversations", body)).error == (400, "invalid_request_error", param)
        assert (await server.engine.store.stats()).conversations == 0


async def test_an_update_without_metadata_and_an_append_without_items_are_refused() -> None:
    async with served(HELLO) as (server, _):
        path = f"/conversations/{(await made(server))['id']}"
        assert (await call(server, "POST", path, {})).error[2] == "metadata"
        for body in ({}, {"items": []}):
            assert (await call(server, "POST", f"{path}/items", body)).error[2] == "items"


@pytest.mark.parametrize("form", ["string", "object", "conversation_id"])
async def test_a_turn_reads_and_continues_its_conversation(form: str) -> None:
    async with served(HELLO) as (server, upstream):
        name = (await made(server, items=[user("before")]))["id"]
        named = {
            "string": {"conversation": name}, "object": {"conversation": {"id": name}},
            "conversation_id": {"conversation_id": name},
        }[form]  # fmt: skip
        first = await create(server, input="one", **named)
        assert first.body["conversation"] == {"id": name}
        second = await create(server, input="two", stream=True, **named)
        shown = [event["response"]["conversation"] for event in second.events if "response" in event]
        assert shown == [{"id": name}] * 3
        assert texts(sent(upstream)["input"]) == ["user: before", "user: one", "assistant: hello", "user: two"]
        assert await said(server, name) == [*texts(sent(upstream)["input"]), "assistant: hello"]
        assert "conversation" not in sent(upstream)


@pytest.mark.requirement("U3")
@pytest.mark.requirement("R19")
@pytest.mark.parametrize("streaming", [True, False], ids=["streaming", "blocking"])
async def test_of_two_turns_at_once_the_slower_one_loses_and_nothing_of_it_is_kept(streaming: bool) -> None:
    async with served(gated("slow"), HELLO) as (server, upstream):
        opened = gate(upstream)
        name = (await made(server))["id"]
        slow = asyncio.create_task(create(server, input="slow", conversation=name, stream=streaming))
        await upstream.until(lambda seen: bool(seen.requests))
        quick = await create(server, input="quick", conversation=name)
        opened.set()
        lost = await slow
        if streaming:
            assert lost.kinds[-1] == "response.failed"
            assert lost.events[-1]["response"]["error"]["code"] == "conversation_locked"
            assert not lost.done
            response_id = lost.events[-1]["response"]["id"]
            assert (await call(server, "GET", f"/responses/{response_id}")).status == 404
        else:
            assert lost.error == (400, "conversation_locked", "conversation")
            assert lost.body["error"]["type"] == "invalid_request_error"
        assert await said(server, name) == ["user: quick", "assistant: hello"]
        stats = await server.engine.store.stats()
        assert (stats.responses, quick.status) == (1, 200)
        found = await conversation_ids(server.engine.store, name)
        assert found is not None
        assert found[1] == 1


async def test_a_conversation_and_a_previous_response_exclude_each_other() -> None:
    async with served(HELLO) as (server, upstream):
        name = (await made(server))["id"]
        first = await create(server)
        reply = await create(server, conversation=name, previous_response_id=first.body["id"])
        assert reply.error == (400, "invalid_request_error", "conversation")
        assert (await create(server, conversation="conv_no")).error == (404, "conversation_not_found", "conversation")
        for wrong in ({"name": "x"}, {"id": 5}, ""):
            assert (await create(server, conversation=wrong)).error == (400, "invalid_request_error", "conversation")
        assert len(upstream.requests) == 1


@pytest.mark.requirement("D13")
async def test_items_with_ids_that_are_known_already_are_no_error() -> None:
    async with served(HELLO) as (server, upstream):
        name = (await made(server))["id"]
        first = await create(server, input=[user("one", id="msg_same")])
        replayed = [user("one", id="msg_same"), *first.body["output"], user("two", id="msg_same")]
        for fields in ({}, {"conversation": name}, {"conversation": name}, {"previous_response_id": first.body["id"]}):
            assert (await create(server, input=replayed, **fields)).status == 200
        assert len(upstream.requests) == 5


async def test_a_failed_turn_is_no_part_of_its_conversation() -> None:
    async with served((*gated("half")[:2], RESET), HELLO) as (server, _):
        name = (await made(server))["id"]
        failed = await create(server, input="one", conversation=name, stream=True)
        assert failed.kinds[-1] == "response.failed"
        assert await said(server, name) == []
        shown = await call(server, "GET", f"/responses/{failed.events[-1]['response']['id']}")
        assert (shown.body["status"], shown.body["conversation"]) == ("failed", {"id": name})
        assert (await create(server, input="two", conversation=name)).status == 200


async def test_an_item_of_a_conversation_can_be_referred_to() -> None:
    async with served(HELLO) as (server, upstream):
        await made(server, items=[user("referred", id="msg_known")])
        await create(server, input=[{"type": "item_reference", "id": "msg_known"}])
        assert texts(sent(upstream)["input"]) == ["user: referred"]
        assert (await create(server, input=[{"type": "item_reference", "id": "msg_no"}])).error == (
            404, "item_not_found", "input[0]",
        )  # fmt: skip
