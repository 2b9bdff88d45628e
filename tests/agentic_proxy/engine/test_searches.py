"""What a model read of a search, for clients that send their whole history themselves."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentic_proxy.engine import searches
from agentic_proxy.engine.recall import Recall
from agentic_proxy.engine.searches import recalled, remember
from agentic_proxy.store.base import Page
from support.gateway import SEARCH, WIRES, play, round_, search, searching
from support.turns import Call, Json, Say
from translators.gateway.calls import OwnCall

RUN: Json = {"type": "function", "name": "run", "parameters": {"type": "object", "properties": {}}}
USER: Json = {"id": "msg_1", "type": "message", "role": "user", "content": "hi"}
PAIR = [{"type": "function_call", "id": "fc_1"}, {"type": "function_call_output", "id": "fco_1"}]
ITEM: Json = {"type": "web_search_call", "id": "ws_1"}


def ended(item: Json, pair: list[Json]) -> OwnCall:
    call = object.__new__(OwnCall)
    call.item, call.id, call.pair = item, item["id"], pair
    return call


def remembering(*calls: OwnCall, history: Any = None) -> Recall:
    recall = Recall()
    remember(recall, [USER] if history is None else history, list(calls))
    return recall


@pytest.mark.parametrize(
    "history", [[USER], "hi", [{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}]], ids=repr
)
def test_the_call_and_its_output_stand_behind_the_item_again(history: Any) -> None:
    recall = remembering(ended(ITEM, PAIR), history=history)
    body = {"model": "m", "input": [USER, ITEM, {"role": "user", "content": "more"}]}
    assert recalled(recall, body) == {"model": "m", "input": [USER, ITEM, *PAIR, body["input"][2]]}


@pytest.mark.parametrize(
    "items",
    [
        "hi",
        None,
        [USER],
        [USER, {**ITEM, "id": "ws_2"}],
        [USER, {**ITEM, "id": None}],
        [{"role": "user", "content": "the words of somebody else"}, ITEM],
        [USER, ITEM, *PAIR],
        [None, USER, 3],
    ],
    ids=repr,
)
def test_where_nothing_is_to_be_added_the_request_stays_the_same_object(items: Any) -> None:
    body = {"input": items}
    assert recalled(remembering(ended(ITEM, PAIR)), body) is body


def test_only_searches_that_have_ended_are_remembered() -> None:
    recall = remembering(ended({"type": "mcp_call", "id": "mcp_1"}, PAIR), ended(ITEM, PAIR[:1]))
    assert not recall.has(searches.WHO)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("store", [True, False])
async def test_a_client_that_keeps_its_own_history_asks_with_what_the_model_read(wire: str, store: bool) -> None:
    rounds = (
        round_(wire, search("tides")),
        round_(wire, Say("I look."), Call("run", {})),
        round_(wire, Say("Noon [1].")),
    )
    async with searching(wire, *rounds) as (engine, upstream, server):
        first = await play(engine, upstream, tools=[SEARCH, RUN], store=store, input=[USER])
        call = first.response["output"][-1]
        answer = {"type": "function_call_output", "call_id": call["call_id"], "output": "ok"}
        history = [USER, *first.response["output"], answer]
        second = await play(engine, upstream, tools=[SEARCH, RUN], store=store, input=history)
        page = await engine.store.input_items(second.response["id"], Page(order="asc", limit=100))
    assert [json.loads(item.data).get("type") for item in (page.items if page else ())] == (
        ["message", "web_search_call", "message", "function_call", "function_call_output"] if store else []
    ), "what the client did not send is not listed"
    assert len(server.asked) == 1
    key = "messages" if wire == "chat" else "input"
    before, after = first.rounds[1][key], second.rounds[0][key]
    assert after[: len(before)] == before, "and what the upstream has in its cache is asked again"
    (message,) = second.response["output"]
    assert message["content"][0]["annotations"][0]["url"] == "https://one.example/tides"
