"""A finished response is kept before its terminal event goes out, unless the client said not to."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.persist import dump, finished, identified, persist, stores
from agentic_proxy.engine.rehydrate import Past
from agentic_proxy.store.base import FinishedTurn, Window
from agentic_proxy.store.open import open_plainly
from agentic_proxy.store.shared import SqlStore
from support.breaks import WHOLE, whole
from support.engines import TOOL, RecordingSink, body, one_upstream, run_turn
from support.turns import Incomplete, Json, Say
from support.wires import responses_frames
from translators.failure import Failure

SAID: Json = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
RESPONSE: Json = {"id": "resp_1", "created_at": 7, "model": "m", "status": "completed", "output": [SAID]}
USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}


@pytest.mark.parametrize(
    ("request_", "kept_"), [({}, True), ({"store": True}, True), ({"store": None}, True), ({"store": False}, False)]
)
def test_everything_is_stored_unless_the_client_said_no(request_: Json, kept_: bool) -> None:
    assert stores(request_) is kept_


def test_a_turn_commits_its_own_items_with_ids_and_the_tools_without_credentials() -> None:
    mcp = {"type": "mcp", "server_label": "s", "headers": {"a": "SECRET"}, "authorization": "SECRET"}
    request = {"input": [USER], "tools": [TOOL, mcp], "tool_choice": "auto", "instructions": "be brief"}
    turn = finished(Past(request, [USER], (b"{}",), continues="resp_0"), RESPONSE)
    row = turn.row
    assert (row.id, row.created_at, row.model, row.status) == ("resp_1", 7, "m", "completed")
    assert (row.continues, row.conversation, row.background, row.instructions) == ("resp_0", None, False, None)
    assert orjson.loads(row.data) == RESPONSE
    assert orjson.loads(row.tools or b"") == [TOOL, {"type": "mcp", "server_label": "s"}]
    assert row.tool_choice == b'"auto"'
    assert [(item.id, orjson.loads(item.data)) for item in turn.input] == [("msg_1i_0", {**USER, "id": "msg_1i_0"})]
    assert [(item.id, orjson.loads(item.data)) for item in turn.output] == [("msg_1", SAID)]


@pytest.mark.parametrize("store", [True, False])
async def test_what_an_item_declares_is_kept_without_credentials(store: bool) -> None:
    kept, local = await open_plainly("memory:"), LocalWindows(1000)
    mcp = {"type": "mcp", "server_label": "s", "headers": {"a": "SECRET"}, "authorization": "SECRET"}
    await persist(kept, Past({"store": store}, [{"type": "additional_tools", "tools": [mcp]}]), RESPONSE, local)
    window = await kept.window("resp_1") if store else local.get("resp_1")
    assert window is not None
    assert orjson.loads(window.items[0])["tools"] == [{"type": "mcp", "server_label": "s"}]
    await kept.close()


def test_items_get_the_ids_that_a_continuation_will_send() -> None:
    past = Past({"input": [SAID, USER]}, [USER], (b"{}",), continues="resp_0")
    named = identified(past, "resp_9")
    assert named.new == [{**USER, "id": "msg_9i_0"}]
    assert named.body == {"input": [SAID, {**USER, "id": "msg_9i_0"}]}
    assert identified(named, "resp_9") is named
    assert identified(Past({"input": "hi"}, [USER]), "resp_9").body == {"input": [{**USER, "id": "msg_9i_0"}]}


def test_the_child_of_an_unstored_response_brings_the_whole_window() -> None:
    turn = finished(Past({"input": []}, [USER], (b'{"id":"a"}', b'{"n":1}'), transient="resp_0"), RESPONSE)
    assert [item.id for item in turn.input] == ["a", "item_1_1", "msg_1i_0"]
    assert turn.row.continues is None


def test_only_a_prewarm_keeps_its_instructions() -> None:
    past = Past({"instructions": "be brief"}, [])
    assert finished(past, RESPONSE, keep_instructions=True).row.instructions == b'"be brief"'


def test_half_a_character_does_not_prevent_storing() -> None:
    assert orjson.loads(dump({"a": "x\ud800y"})) == {"a": "x\ufffdy"}


async def test_an_unstored_response_is_remembered_by_its_connection_only() -> None:
    store, local = await open_plainly("memory:"), LocalWindows(1000)
    past = Past({"store": False, "tools": [TOOL]}, [USER], (b'{"id":"before"}',))
    await persist(store, past, RESPONSE, local)
    await persist(store, past, {**RESPONSE, "id": "resp_2", "status": "failed"}, local)
    assert await store.window("resp_1") is None
    own = orjson.dumps({**USER, "id": "msg_1i_0"})
    window = Window((b'{"id":"before"}', own, orjson.dumps(SAID)), orjson.dumps([TOOL]), None)
    assert (local.get("resp_1"), local.get("resp_2")) == (window, None)
    await store.close()


async def test_the_unstored_child_of_an_unstored_response_remembers_its_history_once() -> None:
    store, local = await open_plainly("memory:"), LocalWindows(1000)
    before = (b'{"id":"a","type":"message"}',)
    await persist(store, Past({"store": False}, [USER], before, transient="resp_0"), RESPONSE, local)
    window = local.get("resp_1")
    assert window is not None
    assert window.items == (*before, orjson.dumps({**USER, "id": "msg_1i_0"}), orjson.dumps(SAID))
    await store.close()


@pytest.mark.parametrize("transient", ["resp_0", None])
async def test_what_is_never_shown_stays_so_through_a_connection(transient: str | None) -> None:
    store, local = await open_plainly("memory:"), LocalWindows(1000)
    before = (b'{"id":"a","type":"message"}', b'{"id":"b","type":"function_call"}')
    past = Past({"store": False}, [USER], before, transient=transient, internal=frozenset({1}))
    pair = [{"id": "fc_1", "type": "function_call"}, {"id": "fco_1", "type": "function_call_output"}]
    await persist(store, past, RESPONSE, local, internal={SAID["id"]: pair})
    window = local.get("resp_1")
    assert window is not None
    assert [orjson.loads(item)["id"] for item in window.items] == ["a", "b", "msg_1i_0", SAID["id"], "fc_1", "fco_1"]
    assert window.internal == {1, 4, 5}
    child = Past({}, [], window.items, transient="resp_1", internal=window.internal)
    turn = finished(child, {**RESPONSE, "id": "resp_2", "output": []})
    assert [item.id for item in turn.input if item.internal] == ["b", "fc_1", "fco_1"]
    await store.close()


@pytest.mark.requirement("P5")
async def test_the_commit_comes_before_the_terminal_event(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = RecordingSink()
    seen: list[bytes] = []
    real = SqlStore.commit

    async def spy(self: Any, turn: FinishedTurn) -> bool:
        seen.append(sink.data)
        return await real(self, turn)

    monkeypatch.setattr(SqlStore, "commit", spy)
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, _):
        outcome = await run_turn(engine, body(), sink)
        assert outcome.response is not None
        kept = await engine.store.response(outcome.response["id"])
    assert [b"response.completed" in data for data in seen] == [False]
    assert kept is not None
    assert orjson.loads(kept.data) == outcome.response


async def test_a_store_that_fails_discards_what_was_held_and_ends_with_its_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def broken(self: Any, turn: FinishedTurn) -> None:
        raise Failure("store_failed", "The response could not be stored.")

    monkeypatch.setattr(SqlStore, "commit", broken)
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
        kept = await engine.store.response(outcome.response["id"])
    assert kept is not None
    response = orjson.loads(kept.data)
    assert (response["status"], response["incomplete_details"]) == (
        "incomplete",
        {"reason": "max_output_tokens"},
    )
