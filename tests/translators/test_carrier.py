"""Packing reasoning up on its way to the client."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import orjson
import pytest

from translators.carrier import Carriage, Carrier, merged_details
from translators.chat.decode import ChatDecoder
from translators.envelope import REASONING, unseal
from translators.events import Event, Json
from translators.reasoning import Origin, seal
from translators.responses.decode import ResponsesDecoder

KEY = b"k" * 32
ORIGIN = Origin("kimi", "k3")
CHAT = Carriage(KEY, ORIGIN, asked=True, chat=True)
SEALED = replace(CHAT, chat=False)


def chat(*deltas: Json) -> bytes:
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    return b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


def call(call_id: str, **more: Any) -> Json:
    return {"tool_calls": [{"index": 0, "id": call_id, "function": {"name": "f", "arguments": "{}"}, **more}]}


def finished(events: list[Any], kind: str = "reasoning") -> list[Json]:
    """The items of done events; for the rest the assembler is responsible."""
    items = [
        event.body.get("item") for event in events if isinstance(event, Event) and event.kind.endswith("item.done")
    ]
    return [item for item in items if item and item["type"] == kind]


def opened(item: Json) -> Json:
    content: Json = json.loads(unseal(KEY, REASONING, item["encrypted_content"]))
    assert (content.pop("p"), content.pop("m")) == ("kimi", "k3")
    return content


def played(carriage: Carriage, data: bytes, *, per_frame: bool = False) -> list[Any]:
    carrier = Carrier(ChatDecoder(suffix="x", max_arguments=999), carriage, suffix="x", first_index=0)
    blocks = [frame + b"\n\n" for frame in data.split(b"\n\n")[:-1]] if per_frame else [data]
    events = [event for block in blocks for event in carrier.feed(block)]
    assert carrier.closed is not None
    assert carrier.awaiting_close is False
    return events


@pytest.mark.parametrize("per_frame", [True, False])
def test_the_text_of_a_chat_hosts_reasoning_is_sealed_into_its_item(per_frame: bool) -> None:
    data = chat({"reasoning_content": "thi"}, {"reasoning_content": "nk"}, {"content": "hi"})
    (item,) = finished(played(CHAT, data, per_frame=per_frame))
    assert opened(item) == {"text": "think"}


def test_details_that_came_with_it_go_along_and_later_ones_get_an_item_at_the_end() -> None:
    first = {"type": "reasoning.text", "index": 0, "text": "th"}
    more = {"type": "reasoning.text", "index": 0, "text": "ink", "signature": "sig"}
    late = {"type": "reasoning.encrypted", "index": 1, "data": "blob"}
    data = chat({"reasoning_details": [first]}, {"reasoning_details": [more]}, {"content": "x"},
                {"reasoning_details": [late]})  # fmt: skip
    events = played(CHAT, data, per_frame=True)
    thought, carrier = finished(events)
    assert opened(thought) == {"text": "think", "details": [{**first, "text": "think", "signature": "sig"}]}
    assert opened(carrier) == {"details": [late]}
    added = [event.body for event in events if isinstance(event, Event) and event.kind.endswith("item.added")]
    assert [(body["output_index"], body["item"]["type"]) for body in added] == [
        *((0, "reasoning"), (1, "message"), (2, "reasoning")),
    ]


def test_signatures_of_calls_travel_by_call_id() -> None:
    extra = {"google": {"thought_signature": "sig"}}
    (item,) = finished(played(CHAT, chat(call("a", extra_content=extra))))
    assert opened(item) == {"calls": {"a": {"extra_content": extra}}}


@pytest.mark.parametrize(
    ("carriage", "deltas"),
    [
        (replace(CHAT, asked=False), ({"reasoning_content": "think"}, call("a", extra_content={"x": 1}))),
        (CHAT, ({"content": "hi"}, call("a"))),
    ],
)
def test_nothing_is_added_that_was_not_asked_for_or_is_not_needed(carriage: Carriage, deltas: tuple[Json, ...]) -> None:
    assert finished(played(carriage, chat(*deltas))) == []


def test_what_belongs_to_calls_is_remembered_even_if_the_client_keeps_nothing() -> None:
    kept: dict[str, Json] = {}
    carriage = replace(CHAT, asked=False, remember=kept.__setitem__)
    extra = {"extra_content": {"x": 1}}
    played(carriage, chat({"reasoning_content": "think"}, call("a", **extra)))
    assert kept == {"a": {"text": "think", "details": [], "calls": {"a": extra}}}
    kept.clear()
    played(carriage, chat({"content": "no thought"}, call("b")))
    assert kept == {}


def responses(item: Json, *, streamed: bool = True) -> bytes:
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    done = {**added, "type": "response.output_item.done"}
    end = {"type": "response.completed", "response": {"status": "completed", "output": [item]}}
    events = [added, done, end] if streamed else [end]
    return b"".join(b"event: %b\ndata: %b\n\n" % (each["type"].encode(), orjson.dumps(each)) for each in events)


def encrypted(carriage: Carriage, item: Json, *, streamed: bool) -> list[object]:
    carrier = Carrier(ResponsesDecoder(suffix="x"), carriage, suffix="x", first_index=0)
    events = carrier.feed(responses(item, streamed=streamed))
    assert carrier.closed is not None
    assert carrier.closed.response is not None
    seen = [event.body["item"] for event in events if isinstance(event, Event)]
    return [each.get("encrypted_content") for each in (*seen, *carrier.closed.response["output"])]


@pytest.mark.parametrize("streamed", [True, False])
def test_a_providers_own_blob_is_sealed_so_that_it_names_the_provider(streamed: bool) -> None:
    item = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "blob"}
    sealed = seal(KEY, ORIGIN, {"raw": "blob"})
    assert encrypted(SEALED, item, streamed=streamed) == ([None, sealed, sealed] if streamed else [sealed])
    assert encrypted(replace(SEALED, open_=True), item, streamed=streamed) == ["blob"] * (3 if streamed else 1)
    assert encrypted(replace(SEALED, asked=False), item, streamed=streamed) == [None] * (3 if streamed else 1)
    assert encrypted(SEALED, {**item, "encrypted_content": ""}, streamed=streamed)[-1] == ""


@pytest.mark.parametrize("streamed", [True, False])
def test_words_in_the_open_are_sealed_too_for_clients_bring_back_nothing_else(streamed: bool) -> None:
    part = {"type": "reasoning_text", "text": "think"}
    item = {"type": "reasoning", "id": "rs", "summary": [], "content": [part, {**part, "text": "hard"}]}
    sealed = seal(KEY, ORIGIN, {"text": "think\n\nhard", "form": "reasoning_text"})
    assert encrypted(SEALED, item, streamed=streamed)[-1] == sealed
    for carriage in (replace(SEALED, open_=True), replace(SEALED, asked=False)):
        assert encrypted(carriage, item, streamed=streamed)[-1] is None
    summary = {**item, "summary": [{"type": "summary_text", "text": "short"}], "content": []}
    assert encrypted(SEALED, summary, streamed=streamed)[-1] is None


def test_streamed_details_of_one_index_and_type_become_one() -> None:
    text = {"type": "reasoning.text", "index": 0, "text": "a", "format": "x"}
    assert merged_details([text, {**text, "text": "b"}, {"type": "reasoning.text", "index": 1, "text": "c"}]) == [
        *({**text, "text": "ab"}, {"type": "reasoning.text", "index": 1, "text": "c"}),
    ]
    assert merged_details([]) == []


def test_details_that_share_an_index_stay_apart_by_what_is_opaque_in_them() -> None:
    """Gemini behind OpenRouter signs each of its calls, all with index 0."""
    signed = [
        {"type": "reasoning.encrypted", "index": 0, "id": "call_a", "data": "sig-a"},
        {"type": "reasoning.encrypted", "index": 0, "id": "call_b", "data": "sig-b"},
    ]
    nameless = [{**each, "id": None} for each in signed]
    assert merged_details(signed) == signed
    assert merged_details(nameless) == nameless
    text = {"type": "reasoning.text", "index": 0, "text": "a"}
    assert merged_details([text, {**text, "text": None, "signature": "s"}]) == [{**text, "signature": "s"}]
