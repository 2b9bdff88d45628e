"""A continuation stands on what it continues: history and tools come along, instructions do not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.rehydrate import Past, items_of, rehydrate
from agentic_proxy.store.base import ConversationRow, FinishedTurn, Item, ResponseRow, Status, Window
from agentic_proxy.store.open import open_plainly
from agentic_proxy.store.shared import SqlStore
from support.breaks import WHOLE, whole
from support.engines import TOOL, RecordingSink, body, one_upstream, run_turn
from support.stored import row
from support.turns import Json
from translators.failure import Failure

USER: Json = {"type": "message", "id": "msg_u", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
TEXT: Json = {key: value for key, value in USER.items() if key != "id"}
THOUGHT: Json = {"type": "reasoning", "id": "rs_1", "summary": []}
HISTORY = [USER, THOUGHT]
WINDOW = tuple(orjson.dumps(item) for item in HISTORY)


@pytest.fixture
async def store() -> AsyncIterator[SqlStore]:
    store = await open_plainly("memory:")
    parent = ResponseRow(
        "resp_p", 1, "completed", "m", b"{}", tools=orjson.dumps([TOOL]), tool_choice=b'"required"'
    )
    await store.commit(FinishedTurn(parent, (Item("msg_u", WINDOW[0]),), (Item("rs_1", WINDOW[1]),)))
    await store.create_conversation(ConversationRow("conv_1", 1, b"{}"), [Item("msg_u", WINDOW[0])])
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("given", "items"), [("hi", [TEXT]), ([USER, USER], [USER, USER]), (None, []), ([], [])], ids=repr
)
def test_an_input_is_a_list_of_items(given: Any, items: list[Json]) -> None:
    assert items_of(given) == items


async def test_a_request_without_a_past_is_left_alone(store: SqlStore) -> None:
    request = {"input": "hi"}
    past = await rehydrate(request, store)
    assert past == Past(request, [TEXT])
    assert past.body is request


@pytest.mark.parametrize(
    ("request_", "whole_"),
    [
        ({}, {"input": HISTORY, "tools": [TOOL], "tool_choice": "required"}),
        ({"input": "hi"}, {"input": [*HISTORY, TEXT], "tools": [TOOL], "tool_choice": "required"}),
        ({"input": [USER], "tool_choice": "none"},
         {"input": [*HISTORY, USER], "tools": [TOOL], "tool_choice": "none"}),
        ({"input": [USER], "tools": []}, {"input": [*HISTORY, USER], "tools": []}),
    ],
    ids=["nothing", "text", "own_choice", "own_tools"],
)  # fmt: skip
async def test_history_comes_first_and_tools_are_inherited_when_absent(
    request_: Json, whole_: Json, store: SqlStore
) -> None:
    asked = {"previous_response_id": "resp_p", **request_}
    before = orjson.dumps(asked)
    past = await rehydrate(asked, store)
    assert past.body == {**asked, **whole_}
    assert (past.window, past.continues, past.transient) == (WINDOW, "resp_p", None)
    assert orjson.dumps(asked) == before


async def test_what_a_connection_remembers_comes_before_the_store(store: SqlStore) -> None:
    local = LocalWindows(1000)
    local.keep("resp_p", Window((WINDOW[0],), None, None, b'"be brief"'))
    past = await rehydrate({"previous_response_id": "resp_p", "input": "go"}, store, local)
    assert past.body["input"] == [USER, {**TEXT, "content": [{"type": "input_text", "text": "go"}]}]
    assert past.body["instructions"] == "be brief"
    assert (past.continues, past.transient) == (None, "resp_p")
    stored = await rehydrate({"previous_response_id": "resp_p"}, store, LocalWindows(1000))
    assert (stored.continues, stored.transient) == ("resp_p", None)


@pytest.mark.parametrize("form", [{"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}},
                                  {"conversation_id": "conv_1"}], ids=repr)  # fmt: skip
async def test_a_conversation_brings_its_items_and_revision(form: Json, store: SqlStore) -> None:
    past = await rehydrate({**form, "input": "hi"}, store)
    assert past.body["input"] == [USER, TEXT]
    assert (past.conversation, past.continues) == ("conv_1", None)
    assert past.revision is not None


async def test_a_reference_is_replaced_by_the_item_it_names(store: SqlStore) -> None:
    for reference in ({"type": "item_reference", "id": "rs_1"}, {"id": "rs_1"}):
        past = await rehydrate({"input": [TEXT, reference]}, store)
        assert past.body["input"] == past.new == [TEXT, THOUGHT]


@pytest.mark.parametrize(
    ("request_", "code", "status", "param"),
    [
        ({"previous_response_id": "resp_" + "x" * 500}, "previous_response_not_found", 400, "previous_response_id"),
        ({"conversation": "conv_" + "x" * 500}, "conversation_not_found", 404, "conversation"),
        ({"conversation": 3}, "invalid_request_error", 400, "conversation"),
        ({"conversation": "conv_1", "previous_response_id": "resp_p"}, "invalid_request_error", 400, "conversation"),
        ({"input": [{"type": "item_reference", "id": "x" * 500}]}, "item_not_found", 404, "input[0]"),
        ({"previous_response_id": "resp_p", "input": [{"type": "function_call_output", "call_id": "c"}]},
         "invalid_request_error", 400, "input"),
    ],
)  # fmt: skip
async def test_what_is_not_there_is_named_by_its_parameter(
    request_: Json, code: str, status: int, param: str, store: SqlStore
) -> None:
    with pytest.raises(Failure) as caught:
        await rehydrate(request_, store)
    failure = caught.value
    assert (failure.code, failure.status, failure.param) == (code, status, param)
    assert len(failure.message) < 150


@pytest.mark.parametrize(
    ("status", "text"),
    [("in_progress", "still being made"), ("queued", "still being made"), ("failed", "failed"),
     ("cancelled", "was cancelled")],
)  # fmt: skip
async def test_what_is_there_and_cannot_be_continued_is_not_called_missing(
    status: Status, text: str, store: SqlStore
) -> None:
    await store.renew("me", 1 << 40)
    await store.begin(row("resp_q", "queued" if status == "queued" else "in_progress", background=True), (), "me")
    if status in ("failed", "cancelled"):
        await store.commit(FinishedTurn(row("resp_q", status, background=True), (), ()))
    with pytest.raises(Failure, match=text) as caught:
        await rehydrate({"previous_response_id": "resp_q", "input": "hi"}, store)
    assert (caught.value.code, caught.value.param) == ("previous_response_not_found", "previous_response_id")
    assert "not found" not in caught.value.message


@pytest.mark.parametrize("streaming", [True, False])
async def test_a_continued_turn_sends_the_upstream_everything_but_the_old_instructions(streaming: bool) -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):

        def sink() -> RecordingSink | None:
            return RecordingSink() if streaming else None

        first = await run_turn(engine, body(instructions="be brief", store=True), sink())
        assert first.response is not None
        second = await run_turn(
            engine, {"model": "m", "input": "go on", "previous_response_id": first.response["id"]}, sink()
        )
        third_body = {"model": "m", "input": "more", "previous_response_id": (second.response or {})["id"]}
        third = await run_turn(engine, third_body, sink())
        sent = [orjson.loads(request.body) for request in upstream.requests]
    assert (second.status, third.status, third.code) == (200, 200, None)
    assert second.response is not None
    assert second.response["previous_response_id"] == first.response["id"]
    assert [item["content"][0]["text"] for item in sent[2]["input"]] == [
        *("hi", "partial text", "go on", "partial text", "more"),
    ]
    assert [[tool["name"] for tool in each["tools"]] for each in sent] == [["run"]] * 3
    assert [each.get("instructions") for each in sent] == ["be brief", None, None]
    assert not any("previous_response_id" in each for each in sent)
    assert b"".join(orjson.dumps(item) for item in sent[2]["input"]).startswith(
        b"".join(orjson.dumps(item) for item in sent[1]["input"])
    )


@pytest.mark.parametrize("streaming", [True, False])
async def test_an_unknown_or_unstored_parent_is_refused_before_the_upstream_is_asked(streaming: bool) -> None:
    async with one_upstream("responses", whole(WHOLE["responses"])) as (engine, upstream):
        sink = RecordingSink() if streaming else None
        first = await run_turn(engine, body(store=False), None)
        assert first.response is not None
        for previous in (first.response["id"], "resp_never_was"):
            outcome = await run_turn(engine, body(previous_response_id=previous), sink)
            assert (outcome.status, outcome.code) == (400, "previous_response_not_found")
            assert outcome.failure is not None
            assert outcome.failure.param == "previous_response_id"
        assert (len(upstream.requests), len(engine.usage.records)) == (1, 1)
