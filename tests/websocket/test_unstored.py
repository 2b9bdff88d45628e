"""``store: false`` on a socket: kept in the connection, bounded, dead with it; stored ones are found from there."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.engines import SMALL, kept
from support.raw_upstream import LAST, OK, answer, chunk
from support.stored import ids
from support.turns import Incomplete, Json, Say
from support.websocket import Client, connected, final_text, played, sent, texts, user
from support.wires import responses_frames

REFUSED = (answer(400, b'{"error":{"message":"no","code":"invalid_value"}}'),)
ORPHAN: Json = {"type": "function_call_output", "call_id": "call_missing", "output": "x"}


async def code_of(client: Client, **fields: object) -> str | None:
    """The error code of a turn, None when it completes."""
    last = (await client.turn(**fields))[-1]
    error = last.get("error") or last["response"]["error"]
    return error["code"] if error else None


async def first(client: Client, *, store: bool, text: str = "first") -> str:
    """The id of a completed turn."""
    return str((await client.turn(input=text, store=store))[-1]["response"]["id"])


@pytest.mark.requirement("WS26")
async def test_a_chain_of_unstored_turns_leaves_nothing_in_the_store() -> None:
    async with connected(*(played(Say(str(number))) for number in range(4))) as (client, server, upstream):
        previous = await first(client, store=False)
        for number in (1, 2, 3):
            events = await client.turn(input=f"turn {number}", previous_response_id=previous, store=False)
            previous = events[-1]["response"]["id"]
        assert texts(sent(upstream)["input"]) == [
            "user: first", "assistant: 0", "user: turn 1", "assistant: 1",
            "user: turn 2", "assistant: 2", "user: turn 3",
        ]  # fmt: skip
        assert await kept(server.engine) == {}
        assert (await server.engine.store.stats()).items == 0


@pytest.mark.requirement("R12")
async def test_unstored_state_dies_with_its_connection() -> None:
    async with connected(played(Say("ok"))) as (client, server, _):
        async with server.client() as other:
            previous = await first(other, store=False)
            assert await code_of(other, input="hi", previous_response_id=previous, store=False) is None
        assert await code_of(client, input="hi", previous_response_id=previous) == "previous_response_not_found"


@pytest.mark.requirement("R12")
@pytest.mark.parametrize("generate", [True, False])
async def test_a_failed_continuation_evicts_its_unstored_parent(generate: bool) -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        previous = await first(client, store=False)
        assert await code_of(
            client, input=[ORPHAN], previous_response_id=previous, store=False, generate=generate
        ) == "invalid_request_error"  # fmt: skip
        assert await code_of(client, input="hi", previous_response_id=previous) == "previous_response_not_found"


async def test_a_continuation_that_its_upstream_refuses_evicts_the_parent_too() -> None:
    async with connected(played(Say("ok")), REFUSED, played(Say("ok"))) as (client, _, _):
        previous = await first(client, store=False)
        assert await code_of(client, input="hi", previous_response_id=previous, store=False) == "invalid_value"
        assert await code_of(client, input="hi", previous_response_id=previous) == "previous_response_not_found"


@pytest.mark.requirement("R12")
@pytest.mark.parametrize("store", [True, False])
async def test_a_stored_parent_stays_whatever_fails_and_is_found_from_unstored_turns(store: bool) -> None:
    async with connected(played(Say("ok"))) as (client, server, upstream):
        previous = await first(client, store=True)
        assert await code_of(client, input=[ORPHAN], previous_response_id=previous, store=store) is not None
        async with server.client() as other:
            events = await other.turn(input="hi", previous_response_id=previous, store=store)
            assert final_text(events) == "ok"
            assert texts(sent(upstream)["input"]) == ["user: first", "assistant: ok", "user: hi"]


async def test_a_malformed_continuation_leaves_its_parent_alone() -> None:
    async with connected(played(Say("ok"))) as (client, _, _):
        previous = await first(client, store=False)
        message = {"type": "response.create", "model": "m", "input": 1, "previous_response_id": previous}
        frame = await client.error(message)
        assert frame["status"] == 400
        assert await code_of(client, input="hi", previous_response_id=previous, store=False) is None


async def test_the_stored_child_of_an_unstored_parent_brings_the_whole_window() -> None:
    async with connected(played(Say("one")), played(Say("two")), played(Say("three"))) as (client, server, upstream):
        parent = await first(client, store=False)
        child = (await client.turn(input="second", previous_response_id=parent, store=True))[-1]["response"]["id"]
        window = await server.engine.store.window(child)
        assert window is not None
        assert len(ids(window.items)) == len(set(ids(window.items))) == 4
        async with server.client() as other:
            await other.turn(input=[user("third")], previous_response_id=child)
        assert texts(sent(upstream)["input"]) == [
            "user: first", "assistant: one", "user: second", "assistant: two", "user: third"
        ]  # fmt: skip


async def test_what_a_connection_remembers_is_bounded_by_bytes_and_the_oldest_goes_first() -> None:
    limits = replace(SMALL, retained=40_000)
    async with connected(played(Say("ok")), limits=limits) as (client, _, _):
        made = [await first(client, store=False, text="x" * 15_000) for _ in range(3)]
        assert await code_of(client, input="hi", previous_response_id=made[0]) == "previous_response_not_found"
        for previous in made[1:]:
            assert await code_of(client, input="hi", previous_response_id=previous, store=True) is None
        # One that is larger than everything allowed together is the newest, and stays.
        large = await first(client, store=False, text="x" * 50_000)
        assert await code_of(client, input="hi", previous_response_id=large, store=True) is None


async def test_a_fork_runs_in_another_stream_while_its_parents_stream_goes_on() -> None:
    async with connected(played(Say("ok"))) as (client, _, upstream):
        parent = (await client.turn(input="first", store=False, stream_id="a"))[-1]["response"]["id"]
        for stream in ("b", "a"):
            events = await client.turn(input=stream, previous_response_id=parent, store=False, stream_id=stream)
            assert final_text(events) == "ok"
            assert texts(sent(upstream)["input"]) == ["user: first", "assistant: ok", f"user: {stream}"]


async def test_a_response_that_ended_at_its_length_limit_can_be_continued() -> None:
    cut = (OK, chunk(b"".join(responses_frames({"model": "m"}, (Say("half"),), Incomplete()))), LAST)
    async with connected(cut, played(Say("rest"))) as (client, _, upstream):
        events = await client.turn(input="hi", store=False)
        assert events[-1]["type"] == "response.incomplete"
        previous = events[-1]["response"]["id"]
        assert final_text(await client.turn(input="go on", previous_response_id=previous, store=False)) == "rest"
        assert texts(sent(upstream)["input"]) == ["user: hi", "assistant: half", "user: go on"]
