"""A continuation stands on its stored parent: history and tools come along, instructions do not."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.engine.rehydrate import items_of, rehydrate
from agentic_proxy.store.base import StoredResponse
from agentic_proxy.store.memory import MemoryStore
from support.breaks import WHOLE, whole
from support.engines import TOOL, RecordingSink, body, one_upstream, run_turn
from support.turns import Json
from translators.failure import Failure

USER: Json = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
PARENT = StoredResponse("resp_p", {"id": "resp_p"}, (USER, {"type": "reasoning", "summary": []}), [TOOL], "required")


@pytest.mark.parametrize(
    ("given", "items"), [("hi", [USER]), ([USER, USER], [USER, USER]), (None, []), ([], [])], ids=repr
)
def test_an_input_is_a_list_of_items(given: Any, items: list[Json]) -> None:
    assert items_of(given) == items


async def parents() -> MemoryStore:
    store = MemoryStore()
    await store.save(PARENT)
    return store


async def test_a_request_without_a_parent_is_left_alone() -> None:
    request = {"input": "hi"}
    assert await rehydrate(request, await parents()) is request


@pytest.mark.parametrize(
    ("request_", "whole_"),
    [
        ({}, {"input": [*PARENT.history], "tools": [TOOL], "tool_choice": "required"}),
        ({"input": "hi"}, {"input": [*PARENT.history, USER], "tools": [TOOL], "tool_choice": "required"}),
        ({"input": [USER], "tool_choice": "none"},
         {"input": [*PARENT.history, USER], "tools": [TOOL], "tool_choice": "none"}),
        ({"input": [USER], "tools": []}, {"input": [*PARENT.history, USER], "tools": []}),
    ],
    ids=["nothing", "text", "own_choice", "own_tools"],
)  # fmt: skip
async def test_history_comes_first_and_tools_are_inherited_when_absent(request_: Json, whole_: Json) -> None:
    asked = {"previous_response_id": "resp_p", **request_}
    before = orjson.dumps(asked)
    assert await rehydrate(asked, await parents()) == {**asked, **whole_}
    assert orjson.dumps(asked) == before


async def test_an_unknown_parent_is_named_by_its_parameter() -> None:
    with pytest.raises(Failure) as caught:
        await rehydrate({"previous_response_id": "resp_" + "x" * 500}, MemoryStore())
    failure = caught.value
    assert (failure.code, failure.status, failure.param) == (
        "previous_response_not_found",
        400,
        "previous_response_id",
    )
    assert len(failure.message) < 150


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
