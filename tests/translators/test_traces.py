"""Calls that an upstream has run itself do not reach a client, and leave no gap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from support.streams import check, play, splits
from translators.responses.decode import ResponsesDecoder
from translators.traces import Untraced

Json = dict[str, Any]
NAMES = frozenset({"x_keyword_search", "x_thread_fetch"})
BEFORE: Json = {"id": "rs_1", "type": "reasoning", "summary": []}
FIRST: Json = {"id": "ctc_1", "type": "custom_tool_call", "call_id": "xs_1", "name": "x_keyword_search", "input": "{}"}
SECOND: Json = {"id": "fc_2", "type": "function_call", "call_id": "xs_2", "name": "x_thread_fetch", "arguments": "{}"}
OWN: Json = {"id": "fc_3", "type": "function_call", "call_id": "c_3", "name": "get_weather", "arguments": '{"a":1}'}
SAID: Json = {
    "id": "msg_4", "type": "message", "role": "assistant", "status": "completed",
    "content": [{"type": "output_text", "text": "found", "annotations": []}],
}  # fmt: skip
SPOKEN = {
    "custom_tool_call": ("response.custom_tool_call_input", "input"),
    "function_call": ("response.function_call_arguments", "arguments"),
}


def events_of(index: int, item: Json) -> list[Json]:
    place: Json = {"output_index": index, "item_id": item["id"]}
    opened: Json = {**item, "content": []} if item["type"] == "message" else item
    between: list[Json] = []
    if item["type"] == "message":
        text: Json = {"type": "response.output_text.delta", **place, "content_index": 0, "logprobs": []}
        between = [{**text, "delta": piece} for piece in ("fou", "nd")]
    elif item["type"] in SPOKEN:
        stem, field = SPOKEN[item["type"]]
        opened = {**item, field: ""}
        between = [
            {"type": f"{stem}.delta", **place, "delta": item[field]},
            {"type": f"{stem}.done", **place, field: item[field]},
        ]
    return [
        {"type": "response.output_item.added", "output_index": index, "item": opened},
        *between,
        {"type": "response.output_item.done", "output_index": index, "item": item},
    ]


def stream(items: Sequence[Json]) -> bytes:
    response: Json = {"id": "resp_up", "object": "response", "status": "completed", "output": list(items)}
    events = [{"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}]
    for index, item in enumerate(items):
        events += events_of(index, item)
    events.append({"type": "response.completed", "response": response})
    frames = [{"type": event["type"], "sequence_number": number, **event} for number, event in enumerate(events)]
    return b"".join(f"event: {frame['type']}\ndata: {json.dumps(frame)}\n\n".encode() for frame in frames)


def untraced(**limits: int) -> Untraced:
    return Untraced(ResponsesDecoder(**limits), NAMES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("items", "shown"),
    [
        ([FIRST, SECOND, SAID], ["message"]),
        ([BEFORE, FIRST, SAID], ["reasoning", "message"]),
        ([BEFORE, FIRST, OWN, SECOND, SAID], ["reasoning", "function_call", "message"]),
        ([OWN, SAID], ["function_call", "message"]),
    ],
    ids=["first", "in_between", "beside_a_call_of_the_client", "none"],
)
@pytest.mark.requirement("NW3")
def test_what_an_upstream_ran_itself_is_left_out_without_a_gap(items: list[Json], shown: list[str]) -> None:
    for _, chunks in splits(stream(items)):
        played = play(chunks, decoder=untraced)
        events = check(played)
        assert [item["type"] for item in played.output] == shown
        places = [event["output_index"] for event in events if event["type"] == "response.output_item.added"]
        assert places == list(range(len(shown)))
        text = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
        assert text == "found"
        assert b"xs_" not in played.data


def test_a_whole_answer_is_freed_of_them_too() -> None:
    body = json.dumps({"object": "response", "status": "completed", "output": [FIRST, SAID]}).encode()
    decoder = Untraced(ResponsesDecoder(suffix="s"), NAMES)
    decoder.decode_whole(body)
    assert decoder.closed is not None
    assert decoder.closed.response is not None
    assert [item["type"] for item in decoder.closed.response["output"]] == ["message"]
