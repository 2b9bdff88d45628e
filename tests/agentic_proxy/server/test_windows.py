"""``/v1/responses/compact`` and ``/v1/responses/input_tokens``."""

from __future__ import annotations

import pytest

from support.breaks import FRAMES, REQUEST, whole
from support.raw_upstream import answer
from support.rest import call, create
from support.turns import Json, Say
from support.websocket import sent, served, texts, user
from translators.responses.compaction import HEADING, PROMPT

SAID: Json = {"type": "message", "role": "assistant", "content": "I did"}
SUMMARY = whole(b"".join(FRAMES["chat"](REQUEST, (Say("SUMMARY"),), None)))
HELLO = whole(b"".join(FRAMES["chat"](REQUEST, (Say("hello"),), None)))
NEVER = (answer(500, b"{}"),)


@pytest.mark.parametrize("back", ["items", "id"])
async def test_a_window_is_compacted_and_goes_on(back: str) -> None:
    async with served(SUMMARY, HELLO, wire="chat") as (server, upstream):
        items = [{"type": "message", "role": "developer", "content": "rules"}, user("do it", id="msg_own"), SAID]
        body = {"model": "m", "input": items, "instructions": "brief"}
        reply = await call(server, "POST", "/responses/compact", body)
        assert reply.status == 200
        window = reply.body
        assert window.keys() == {"id", "object", "created_at", "output", "usage"}
        assert (window["object"], window["usage"]["total_tokens"]) == ("response.compaction", 110)
        message, item = window["output"]
        assert message == {**user("do it"), "id": "msg_own", "status": "completed"}
        assert (item["type"], item["id"][:4]) == ("compaction", "cmp_")
        assert texts(sent(upstream)["messages"]) == [
            "system: brief\n\nrules", "user: do it", "assistant: I did", f"user: {PROMPT}",
        ]  # fmt: skip
        if back == "items":
            last = await create(server, input=[*window["output"], user("go on")], store=False, tools=[])
        else:
            last = await create(server, input="go on", previous_response_id=window["id"])
        assert last.status == 200
        assert texts(sent(upstream)["messages"]) == ["user: do it", f"assistant: {HEADING}SUMMARY", "user: go on"]
        assert (await call(server, "GET", f"/responses/{window['id']}")).body == window


async def test_a_stored_chain_is_compacted_by_its_id_and_stays_as_it_was() -> None:
    async with served(HELLO, SUMMARY, HELLO, wire="chat") as (server, upstream):
        first = (await create(server, input="one")).body["id"]
        before = await server.engine.store.window(first)
        reply = await call(server, "POST", "/responses/compact", {"model": "m", "previous_response_id": first})
        assert [item["type"] for item in reply.body["output"]] == ["message", "compaction"]
        assert texts(sent(upstream)["messages"]) == ["user: one", "assistant: hello", f"user: {PROMPT}"]
        assert await server.engine.store.window(first) == before


async def test_an_unstored_window_is_kept_nowhere() -> None:
    async with served(SUMMARY, wire="chat") as (server, _):
        body = {"model": "m", "input": [user("x"), SAID], "store": False}
        reply = await call(server, "POST", "/responses/compact", body)
        assert (await create(server, previous_response_id=reply.body["id"])).error[1] == "previous_response_not_found"
        assert (await server.engine.store.stats()).responses == 0


@pytest.mark.requirement("AP11")
@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"input": "hi"}, (400, "invalid_request_error", "model")),
        ({"model": "m"}, (400, "invalid_request_error", "input")),
        ({"model": "m", "input": []}, (400, "invalid_request_error", "input")),
        ({"model": "m", "previous_response_id": "resp_no"},
         (400, "previous_response_not_found", "previous_response_id")),
        ({"model": "zork", "input": "hi"}, (404, "model_not_found", "model")),
    ],
)  # fmt: skip
async def test_what_cannot_be_compacted_is_refused_before_any_request(body: Json, error: tuple[int, str, str]) -> None:
    async with served(NEVER, wire="chat") as (server, upstream):
        reply = await call(server, "POST", "/responses/compact", body)
        assert reply.error[:2] == error[:2]
        assert reply.body["error"]["param"] in (error[2], None)
        assert upstream.requests == []


async def test_a_model_without_a_summary_is_one_error_and_nothing_is_kept(no_pauses: None) -> None:
    empty = whole(b"".join(FRAMES["chat"](REQUEST, (Say(" "),), None)))
    async with served(empty, wire="chat") as (server, _):
        reply = await call(server, "POST", "/responses/compact", {"model": "m", "input": "hi"})
        assert reply.error[:2] == (502, "upstream_empty")
        assert (await server.engine.store.stats()).responses == 0


async def test_tokens_are_estimated_with_the_history() -> None:
    async with served(HELLO, wire="chat") as (server, upstream):
        first = (await create(server, input="x" * 400)).body["id"]

        async def count(**body: object) -> int:
            reply = await call(server, "POST", "/responses/input_tokens", body)
            assert (reply.status, reply.body["object"]) == (200, "response.input_tokens")
            return int(reply.body["input_tokens"])

        assert await count() == await count(input=None) == 0
        assert await count(model="whatever", input="x" * 400) == 104
        assert await count(input="x" * 400, instructions="y" * 40) == 118
        assert await count(previous_response_id=first, input="more") > 110
        assert await count(previous_response_id=first) > 104
        assert len(upstream.requests) == 1
        for body, error in (
            ({"previous_response_id": "resp_no"}, (400, "previous_response_not_found")),
            ({"input": 5}, (400, "invalid_request_error")),
        ):
            assert (await call(server, "POST", "/responses/input_tokens", body)).error[:2] == error
