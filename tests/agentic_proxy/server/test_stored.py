"""``/v1/responses/{id}`` as OpenAI's clients use it."""

from __future__ import annotations

import asyncio

import pytest

from support.engines import eventually
from support.raw_upstream import OK as HEAD
from support.raw_upstream import RESET, answer
from support.rest import call, create, ended
from support.turns import Json, Say
from support.websocket import gate, gated, played, sent, served, texts

HELLO = played(Say("hello"))


async def test_a_stored_response_is_shown_as_its_client_got_it() -> None:
    async with served(HELLO) as (server, _):
        blocking = await create(server)
        streamed = await create(server, stream=True, previous_response_id=blocking.body["id"])
        last = streamed.events[-1]["response"]
        for response in (blocking.body, last):
            shown = await call(server, "GET", f"/responses/{response['id']}?include[]=reasoning.encrypted_content")
            assert (shown.status, shown.body) == (200, response)


async def test_a_response_that_failed_on_its_way_is_shown_and_cannot_be_continued() -> None:
    async with served((HEAD, *gated("a long answer")[1:2], RESET), HELLO) as (server, _):
        failed = await create(server, stream=True)
        assert failed.kinds[-1] == "response.failed"
        last = failed.events[-1]["response"]
        shown = await call(server, "GET", f"/responses/{last['id']}")
        assert (shown.status, shown.body) == (200, last)
        assert (await create(server, previous_response_id=last["id"])).error[:2] == (400, "previous_response_not_found")


async def test_deleting_forgets_a_response_but_not_the_history_of_others() -> None:
    async with served(HELLO) as (server, upstream):
        first = (await create(server, input="one")).body["id"]
        second = (await create(server, input="two", previous_response_id=first)).body["id"]
        gone = await call(server, "DELETE", f"/responses/{first}")
        assert (gone.status, gone.body) == (200, {"id": first, "object": "response", "deleted": True})
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
            again = await call(server, method, f"/responses/{first}{path}")
            assert again.error == (404, "response_not_found", "response_id")
        assert (await create(server, previous_response_id=first)).error == (
            400, "previous_response_not_found", "previous_response_id",
        )  # fmt: skip
        await create(server, input="three", previous_response_id=second)
        assert upstream.requests[-1].body.count(b"one") == 1


@pytest.mark.parametrize(
    "fields", [{"stream": True}, {}, {"background": True}], ids=["streaming", "blocking", "background"]
)
async def test_a_response_that_is_deleted_while_another_continues_it_leaves_its_history(fields: Json) -> None:
    async with served(HELLO, gated("two"), HELLO) as (server, upstream):
        opened = gate(upstream)
        first = (await create(server, input="one")).body["id"]
        task = asyncio.create_task(create(server, input="go on", previous_response_id=first, **fields))
        await upstream.until(lambda seen: len(seen.requests) == 2)
        await call(server, "DELETE", f"/responses/{first}")
        opened.set()
        reply = await task
        second = reply.events[-1]["response"] if "stream" in fields else reply.body
        if "background" in fields:
            second = await ended(server, second["id"])
        assert second["status"] == "completed"
        listed = await call(server, "GET", f"/responses/{second['id']}/input_items?order=asc")
        assert texts(listed.body["data"]) == ["user: one", "assistant: hello", "user: go on"]
        await create(server, input="three", previous_response_id=second["id"])
        assert texts(sent(upstream)["input"])[-2:] == ["assistant: two", "user: three"]
        assert (await call(server, "GET", f"/responses/{first}")).status == 404


async def test_input_items_come_in_pages_with_the_whole_history() -> None:
    async with served(HELLO) as (server, _):
        first = (await create(server, input="one")).body["id"]
        short = [{"role": "user", "content": "two"}, {"role": "assistant", "content": "so"}]
        second = (await create(server, input=short, previous_response_id=first)).body["id"]
        path = f"/responses/{second}/input_items"
        whole = await call(server, "GET", f"{path}?order=asc")
        assert whole.body.keys() == {"object", "data", "first_id", "last_id", "has_more"}
        assert texts(whole.body["data"]) == ["user: one", "assistant: hello", "user: two", "assistant: so"]
        assert {item["status"] for item in whole.body["data"]} == {"completed"}
        assert [part["type"] for item in whole.body["data"] for part in item["content"]] == [
            "input_text", "output_text", "input_text", "output_text",
        ]  # fmt: skip
        newest = await call(server, "GET", f"{path}?limit=3")
        assert texts(newest.body["data"]) == ["assistant: so", "user: two", "assistant: hello"]
        assert newest.body["has_more"]
        rest = await call(server, "GET", f"{path}?after={newest.body['last_id']}")
        assert (texts(rest.body["data"]), rest.body["has_more"]) == (["user: one"], False)
        assert (await call(server, "GET", f"{path}?after=msg_no")).error[:2] == (400, "invalid_request_error")
        assert (await call(server, "GET", f"{path}?limit=0")).error == (400, "invalid_request_error", "limit")


async def test_a_background_response_over_http() -> None:
    async with served(gated("a long answer"), HELLO) as (server, upstream):
        opened = gate(upstream)
        queued = await create(server, background=True)
        assert (queued.status, queued.body["status"]) == (200, "queued")
        path = f"/responses/{queued.body['id']}"
        assert (await call(server, "GET", path)).body["status"] == "in_progress"
        opened.set()
        last = await ended(server, queued.body["id"])
        assert last["status"] == "completed"
        stream = await call(server, "GET", f"{path}?stream=true")
        assert stream.numbers == list(range(len(stream.events)))
        assert (stream.kinds[-1], stream.done, stream.events[-1]["response"]) == ("response.completed", True, last)
        rest = await call(server, "GET", f"{path}?stream=true&starting_after=2")
        assert rest.events == stream.events[3:]
        assert (await call(server, "POST", f"{path}/cancel")).body == last


async def test_a_client_that_leaves_a_followed_stream_does_not_end_the_response() -> None:
    async with served(gated("a long answer")) as (server, upstream):
        opened = gate(upstream)
        async with server.session.post(
            f"{server.url}/v1/responses", json={"model": "m", "input": "hi", "background": True, "stream": True}
        ) as stream:
            seen = b""
            while b"text.delta" not in seen:
                seen += await stream.content.readany()
        response_id = seen.partition(b'"id":"')[2].partition(b'"')[0].decode()
        opened.set()
        assert (await ended(server, response_id))["status"] == "completed"


async def test_who_follows_a_response_that_a_stop_ends_gets_its_end() -> None:
    async with served(gated("a long answer")) as (server, upstream):
        gate(upstream)
        first = (await create(server, background=True)).body["id"]
        follower = asyncio.create_task(call(server, "GET", f"/responses/{first}?stream=true"))
        maker = asyncio.create_task(create(server, background=True, stream=True))
        await upstream.until(lambda seen: len(seen.requests) == 2)
        await eventually(lambda: len(server.server._active) == 2)
        await asyncio.gather(server.server.drain(0.05), server.engine.drain(0.05))
        for reply in (await follower, await maker):
            assert (reply.kinds[0], reply.kinds[-1], reply.done) == ("response.created", "response.failed", False)
            assert reply.events[-1]["response"]["error"]["code"] == "server_error"


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ("?stream=true", (400, "invalid_request_error", "stream")),
        ("?stream=1", (400, "invalid_request_error", "stream")),
        ("?stream=true&starting_after=x", (400, "invalid_request_error", "starting_after")),
    ],
)
async def test_what_cannot_be_streamed_is_refused(fields: str, error: tuple[int, str, str]) -> None:
    async with served(HELLO) as (server, _):
        plain = (await create(server)).body["id"]
        assert (await call(server, "GET", f"/responses/{plain}{fields}")).error == error
        assert (await call(server, "POST", f"/responses/{plain}/cancel")).error == (
            400, "invalid_request_error", "response_id",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/responses/resp_1", "GET, DELETE"),
        ("GET", "/responses/resp_1/cancel", "POST"),
        ("POST", "/responses/resp_1/input_items", "GET"),
        ("GET", "/responses/compact", "POST"),
        ("DELETE", "/conversations", "POST"),
    ],
)
async def test_a_method_that_a_path_does_not_know_is_405(method: str, path: str, allow: str) -> None:
    async with (
        served((answer(500, b"{}"),)) as (server, _),
        server.session.request(method, f"{server.url}/v1{path}", json={}) as reply,
    ):
        assert (reply.status, reply.headers["Allow"]) == (405, allow)


async def test_an_unstored_response_is_nowhere() -> None:
    async with served(HELLO) as (server, _):
        response_id = (await create(server, store=False)).body["id"]
        assert (await call(server, "GET", f"/responses/{response_id}")).error[:2] == (404, "response_not_found")
