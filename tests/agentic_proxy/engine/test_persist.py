"""A finished response is kept before its terminal event goes out, unless the client said not to."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.engine.persist import persist
from agentic_proxy.store.base import StoredResponse
from agentic_proxy.store.memory import MemoryStore
from support.breaks import WHOLE, whole
from support.engines import TOOL, RecordingSink, body, one_upstream, run_turn
from support.turns import Incomplete, Json, Say
from support.wires import responses_frames
from translators.failure import Failure

RESPONSE: Json = {"id": "resp_1", "status": "completed", "output": [{"type": "message", "id": "msg_1"}]}
USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}


@pytest.mark.parametrize("flag", [{}, {"store": True}, {"store": None}], ids=repr)
async def test_what_is_kept_is_the_whole_window_with_tools(flag: Json) -> None:
    store = MemoryStore()
    request = {"input": "hi", "tools": [TOOL], "tool_choice": "auto", "instructions": "be brief", **flag}
    await persist(store, request, RESPONSE)
    expected = StoredResponse("resp_1", RESPONSE, (USER, RESPONSE["output"][0]), [TOOL], "auto")
    assert await store.get("resp_1") == expected


async def test_store_false_keeps_nothing() -> None:
    store = MemoryStore()
    await persist(store, {"input": "hi", "store": False}, RESPONSE)
    assert await store.get("resp_1") is None


@pytest.mark.requirement("P5")
async def test_the_commit_comes_before_the_terminal_event(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = RecordingSink()
    seen: list[bytes] = []
    real = MemoryStore.save

    async def spy(self: Any, stored: StoredResponse) -> None:
        seen.append(sink.data)
        await real(self, stored)

    monkeypatch.setattr(MemoryStore, "save", spy)
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        outcome = await run_turn(engine, body(), sink)
        assert outcome.response is not None
        kept = await engine.store.get(outcome.response["id"])
    assert [b"response.completed" in data for data in seen] == [False]
    assert kept is not None
    assert kept.response == outcome.response


async def test_a_store_that_fails_discards_what_was_held_and_ends_with_its_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(self: Any, stored: StoredResponse) -> None:
        raise Failure("store_failed", "The response could not be stored.")

    monkeypatch.setattr(MemoryStore, "save", broken)
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        stream = await run_turn(engine, body(), RecordingSink())
        plain = await run_turn(engine, body(), None)
        unstored = await run_turn(engine, body(store=False), RecordingSink())
        codes = [record.code for record in engine.usage.records]
    assert (stream.status, stream.code) == (200, "server_error")
    assert (plain.status, plain.code) == (500, "store_failed")
    assert (unstored.status, unstored.code) == (200, None)
    assert codes == [None, None, None], "the upstream did its work: the attempts succeeded"


async def test_an_incomplete_response_is_kept_as_incomplete() -> None:
    frames = b"".join(responses_frames({"model": "m"}, (Say("half"),), Incomplete()))
    async with one_upstream("responses", whole(frames)) as (engine, _):
        outcome = await run_turn(engine, body(), RecordingSink())
        assert outcome.response is not None
        kept = await engine.store.get(outcome.response["id"])
    assert kept is not None
    assert (kept.response["status"], kept.response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
