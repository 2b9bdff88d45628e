"""A message from its events, as it would have come without a stream."""

from __future__ import annotations

from typing import Any

import pytest

from translators.messages.gathered import Gathered

EMPTY = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def gathered(*events: dict[str, Any]) -> dict[str, Any]:
    message = Gathered("msg_own", "m")
    for event in events:
        message.add(event["type"], event)
    return message.message


CITED = {"type": "web_search_result_location", "url": "u"}
BLOCKS = {
    "text": (
        [{"type": "text", "text": "a"}, {"type": "text_delta", "text": "b"}, {"type": "text_delta", "text": "\ud83d"}],
        {"type": "text", "text": "ab\ud83d"},
    ),
    "citations": (
        [{"type": "text", "text": "a", "citations": None}, *[{"type": "citations_delta", "citation": CITED}] * 2],
        {"type": "text", "text": "a", "citations": [CITED, CITED]},
    ),
    "a thought": (
        [
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "hm", "estimated_tokens": 3},
            {"type": "signature_delta", "signature": "SIG=="},
        ],
        {"type": "thinking", "thinking": "hm", "signature": "SIG=="},
    ),
    "a thought that is not shown": (
        [{"type": "thinking", "thinking": "", "signature": ""}, {"type": "signature_delta", "signature": "S"}],
        {"type": "thinking", "thinking": "", "signature": "S"},
    ),
    "a redacted thought": ([{"type": "redacted_thinking", "data": "R"}], {"type": "redacted_thinking", "data": "R"}),
    "a call": (
        [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]
        + [{"type": "input_json_delta", "partial_json": piece} for piece in ("", '{"x":', '"\ud83d', '\ude00"}')],
        {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "😀"}},
    ),
    "a call without arguments": (
        [{"type": "tool_use", "id": "t", "name": "f", "input": {}}, {"type": "input_json_delta", "partial_json": ""}],
        {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    ),
    "a kind of tomorrow": (
        [{"type": "later", "content": None}, {"type": "later_delta", "content": "c", "encrypted_content": "e"}],
        {"type": "later", "content": "c", "encrypted_content": "e"},
    ),
}


@pytest.mark.parametrize(("parts", "whole"), BLOCKS.values(), ids=BLOCKS)
def test_a_block_is_its_start_with_its_deltas(parts: list[dict[str, Any]], whole: dict[str, Any]) -> None:
    assert gathered(*block(0, *parts))["content"] == [whole]


def test_what_opens_and_ends_a_message_is_in_it_and_counts_are_the_last_ones() -> None:
    usage = {"input_tokens": 3, "tier": "x"}
    start = {"id": "msg_1", "role": "assistant", "model": "up", "content": [], "usage": usage}
    delta = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": {"category": "c"}}
    assert gathered(
        {"type": "message_start", "message": start},
        {"type": "ping"},
        *block(1, {"type": "text", "text": "b"}),
        *block(0, {"type": "text", "text": "a"}),
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 5, "input_tokens": None}},
        {"type": "message_stop"},
    ) == {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "up",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        **delta,
        "usage": {"input_tokens": 3, "tier": "x", "output_tokens": 5},
    }


@pytest.mark.parametrize(
    ("events", "reason"), [([], "end_turn"), (block(0, {"type": "tool_use", "input": {}}), "tool_use")]
)
def test_a_message_of_which_only_the_middle_came_has_all_that_clients_read(events: Any, reason: str) -> None:
    made = gathered(*events)
    assert (made.pop("content"), made.pop("stop_reason")) == ([each["content_block"] for each in events[:1]], reason)
    assert made == {
        "id": "msg_own", "type": "message", "role": "assistant", "model": "m", "stop_sequence": None, "usage": EMPTY,
    }  # fmt: skip


def test_what_was_cut_off_is_no_block() -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    cut = block(0, call, {"type": "input_json_delta", "partial_json": '{"x'})
    assert gathered(*cut)["content"] == gathered(*cut[:-1])["content"] == []


@pytest.mark.parametrize("odd", [None, 1, "x", [], {"type": ["x"]}])
def test_events_of_another_shape_break_nothing(odd: Any) -> None:
    kinds = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta")
    fields = ("message", "index", "content_block", "delta", "usage")
    assert gathered(*({"type": kind, **dict.fromkeys(fields, odd)} for kind in kinds))["usage"].items() >= EMPTY.items()
    assert gathered({"type": "content_block_delta", "index": 7}, {"type": "content_block_stop", "index": 7})
