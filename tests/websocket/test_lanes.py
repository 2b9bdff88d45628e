"""Named streams: first in, first out inside one, beside each other between them, and bounded."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from support.engines import SMALL, eventually
from support.raw_upstream import OK, STALL, chunk
from support.turns import Say
from support.websocket import TERMINALS, Client, connected, final_text, gate, gated, kinds, masked, played, sent
from support.wires import responses_frames

HANGING = (OK, chunk(b"".join(list(responses_frames({"model": "m"}, (Say("half"),), None))[:5])), STALL)
SILENT = (OK, STALL)


async def begun(client: Client, **fields: Any) -> None:
    """Send a turn and wait for its first text."""
    await client.create(input="hi", **fields)
    await client.until("response.output_text.delta")


async def test_streams_run_beside_each_other_and_every_event_says_whose_it_is() -> None:
    async with connected(gated("text")) as (client, _, upstream):
        opened = gate(upstream)
        names: list[str | None] = ["a", "b", None]
        for name in names:
            await client.create(input="hi", **({"stream_id": name} if name else {}))
        await upstream.until(lambda up: len(up.requests) == 3)
        opened.set()
        events = []
        while len([event for event in events if event["type"] == "response.completed"]) < 3:
            events.append(await client.event())
        for name in names:
            mine = [event for event in events if event.get("stream_id") == name]
            assert (mine[0]["type"], final_text(mine)) == ("response.created", "text")
            assert [event["sequence_number"] for event in mine] == list(range(len(mine)))
        assert ["stream_id" in sent(upstream, index) for index in range(3)] == [False] * 3


async def test_inside_a_stream_the_next_turn_waits_for_the_one_before() -> None:
    async with connected(gated("one"), played(Say("two"))) as (client, _, upstream):
        opened = gate(upstream)
        await begun(client, stream_id="a")
        await client.create(input="hi", stream_id="a")
        # An answer to something else shows that the second request has been read.
        assert (await client.turn(input=[], generate=False, stream_id="b", store=False))[-1]["stream_id"] == "b"
        assert len(upstream.requests) == 1
        opened.set()
        assert final_text(await client.until("response.completed")) == "one"
        assert final_text(await client.until("response.completed")) == "two"


async def test_the_65th_outstanding_response_is_refused_at_once_and_touches_nothing() -> None:
    async with connected(gated("first"), played(Say("next"))) as (client, _, upstream):
        opened = gate(upstream)
        await begun(client)
        for _ in range(63):
            await client.create(input="hi", store=False)
        frame = await client.error({"type": "response.create", "model": "m", "input": "hi", "stream_id": "x"})
        assert (frame["status"], frame["error"]["code"], frame["stream_id"]) == (429, "rate_limit_exceeded", "x")
        opened.set()
        assert final_text(await client.until("response.completed")) == "first"
        for _ in range(63):
            assert final_text(await client.until("response.completed")) == "next"
        assert final_text(await client.turn(input="hi")) == "next"
        assert len(upstream.requests) == 65


async def test_requests_that_are_too_large_together_are_refused_but_never_one_alone() -> None:
    limits = replace(SMALL, retained=4096, ws_message=1 << 20)
    async with connected(gated("first"), played(Say("next")), limits=limits) as (client, _, upstream):
        opened = gate(upstream)
        large = {"metadata": {"x": "x" * 5000}}
        await begun(client, **large)
        frame = await client.error({"type": "response.create", "model": "m", "input": "hi", **large})
        assert (frame["status"], frame["error"]["code"]) == (429, "rate_limit_exceeded")
        assert "4,096 bytes" in frame["error"]["message"]
        opened.set()
        await client.until("response.completed")
        assert final_text(await client.turn(input="hi", **large)) == "next"


async def test_a_33rd_name_is_refused_and_the_known_ones_go_on() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        warm = {"input": [], "generate": False, "store": False}
        await client.turn(**warm)
        for number in range(32):
            await client.turn(**warm, stream_id=f"s{number}")
        (frame,) = await client.turn(**warm, stream_id="s32")
        assert (frame["status"], frame["error"]["code"]) == (400, "websocket_stream_limit_reached")
        assert (frame["error"]["param"], frame["stream_id"]) == ("stream_id", "s32")
        assert final_text(await client.turn(input="hi", stream_id="s31")) == "ok"
        assert final_text(await client.turn(input="hi")) == "ok"


@pytest.mark.parametrize("name", ["", "x" * 257, "a b", "\u00e4", 1, True, [], {}], ids=repr)
async def test_a_malformed_name_is_refused(name: Any) -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        frame = await client.error({"type": "response.create", "model": "m", "input": "hi", "stream_id": name})
        assert (frame["status"], frame["error"]["code"]) == (400, "invalid_stream_id")
        assert ("stream_id" in frame, frame["error"]["param"]) == (False, "stream_id")
        assert upstream.requests == []


@pytest.mark.parametrize("name", [None, "Az09_.-", "x" * 256], ids=repr)
async def test_a_well_formed_name_is_taken(name: str | None) -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        events = await client.turn(input="hi", stream_id=name)
        assert final_text(events) == "ok"
        assert {event.get("stream_id") for event in events} == {name}


async def test_a_running_response_can_be_cancelled_and_the_next_in_its_stream_goes_on() -> None:
    async with connected(HANGING, HANGING, played(Say("next"))) as (client, _, upstream):
        await begun(client, stream_id="other")
        await begun(client, stream_id="a")
        await client.create(input="hi", stream_id="a")
        await client.send({"type": "response.cancel", "stream_id": "a"})
        events = await client.until(*TERMINALS)
        assert (events[-1]["type"], events[-1]["stream_id"]) == ("response.failed", "a")
        assert events[-1]["response"]["error"]["code"] == "response_cancelled"
        assert final_text(await client.until("response.completed")) == "next"
        await upstream.until(lambda up: 1 not in up.open)
        assert 0 in upstream.open  # that of the other stream


async def test_a_cancelled_response_that_has_shown_nothing_is_an_error_frame() -> None:
    async with connected(SILENT, played(Say("next"))) as (client, _, upstream):
        await client.create(input="hi", stream_id="a")
        await upstream.until(lambda up: len(up.requests) == 1)
        frame = await client.error({"type": "response.cancel", "stream_id": "a"})
        assert (frame["status"], frame["error"]["code"], frame["stream_id"]) == (400, "response_cancelled", "a")
        await upstream.until(lambda up: not up.open)
        assert final_text(await client.turn(input="hi", stream_id="a")) == "next"


async def test_a_cancel_in_the_same_packet_as_its_request_is_answered_and_nothing_goes_up() -> None:
    async with connected(played(Say("next"))) as (client, _, upstream):
        messages = {"type": "response.create", "model": "m", "input": "hi"}, {"type": "response.cancel"}
        transport = client.socket._conn.transport  # type: ignore[union-attr]
        assert transport is not None
        transport.write(b"".join(masked(json.dumps(message).encode()) for message in messages))
        frame = await client.event()
        assert (frame["status"], frame["error"]["code"]) == (400, "response_cancelled")
        assert upstream.requests == []
        assert final_text(await client.turn(input="hi")) == "next"


async def test_cancelling_twice_is_cancelling_once() -> None:
    async with connected(HANGING, played(Say("next"))) as (client, _, _):
        await begun(client)
        await client.send({"type": "response.cancel"})
        await client.send({"type": "response.cancel"})
        # The second one may find nothing to cancel any more: that is an error frame after the ending.
        events = await client.until("response.failed")
        assert kinds(events).count("response.failed") == 1
        await client.create(input="hi")
        events = await client.until("response.completed")
        assert [event for event in events if event["type"] == "error"][1:] == []


async def test_a_cancel_without_a_running_response_is_refused() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        frame = await client.error({"type": "response.cancel"})
        assert (frame["status"], frame["error"]["code"]) == (400, "invalid_request_error")


async def test_a_cancel_that_names_a_response_ends_that_one_only() -> None:
    async with connected(HANGING, HANGING, played(Say("next"))) as (client, _, upstream):
        ids = {}
        for name in ("a", "b"):
            await client.create(input="hi", stream_id=name)
            ids[name] = (await client.until("response.output_text.delta"))[0]["response"]["id"]
        await client.send({"type": "response.cancel", "response_id": ids["a"]})
        (failed,) = await client.until(*TERMINALS)
        assert (failed["type"], failed["response"]["id"], failed["stream_id"]) == ("response.failed", ids["a"], "a")
        await upstream.until(lambda up: up.open == {1})
        assert final_text(await client.turn(input="hi", stream_id="a")) == "next"


@pytest.mark.parametrize("named", ["finished", "unknown", "elsewhere", 7, ["resp_1"]], ids=repr)
async def test_a_cancel_that_names_nothing_that_runs_is_an_error_and_touches_nothing(named: Any) -> None:
    async with connected(played(Say("one")), gated("two")) as (client, _, upstream):
        opened = gate(upstream)
        finished = (await client.turn(input="hi"))[0]["response"]["id"]
        await client.create(input="hi", stream_id="a")
        running = (await client.until("response.output_text.delta"))[0]["response"]["id"]
        stream = {"stream_id": "b"} if named == "elsewhere" else {}
        name = {"finished": finished, "unknown": "resp_unknown", "elsewhere": running}.get(str(named), named)
        frame = await client.error({"type": "response.cancel", "response_id": name, **stream})
        assert (frame["status"], frame["error"]["code"]) == (404, "response_not_found")
        assert (frame["error"]["param"], frame.get("stream_id")) == ("response_id", stream.get("stream_id"))
        opened.set()
        events = await client.until(*TERMINALS)
        assert (events[-1]["type"], final_text(events)) == ("response.completed", "two")


async def test_cancelling_does_not_blame_the_upstream() -> None:
    async with connected(HANGING) as (client, server, _):
        await begun(client)
        await client.send({"type": "response.cancel"})
        await client.until("response.failed")
        await eventually(lambda: len(server.engine.usage.records) == 1)
        assert [record.code for record in server.engine.usage.records] == ["response_cancelled"]
