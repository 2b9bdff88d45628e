"""A whole message as a stream: put together again it is the same message."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from translators.messages.as_stream import as_stream
from translators.messages.gathered import Gathered
from translators.sse import frames

HEAD = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
CITED = {"type": "char_location", "cited_text": "a"}
BLOCKS: dict[str, dict[str, Any]] = {
    "text": {"type": "text", "text": "hi 😀"},
    "empty text": {"type": "text", "text": ""},
    "cited text": {"type": "text", "text": "a", "citations": [CITED, CITED]},
    "text without citations": {"type": "text", "text": "a", "citations": None},
    "a thought": {"type": "thinking", "thinking": "hm", "signature": "SIG=="},
    "a thought that is not shown": {"type": "thinking", "thinking": "", "signature": "SIG=="},
    "a redacted thought": {"type": "redacted_thinking", "data": "R"},
    "a call": {"type": "tool_use", "id": "t", "name": "f", "input": {"x": [1, "é"]}},
    "a call without arguments": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
    "an upstream's own call": {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
    "a result": {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
    "a kind of tomorrow": {"type": "later", "x": {"y": 1}},
}


def events(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name.decode(), orjson.loads(data)) for name, data in frames(as_stream(message))]


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_put_together_again_it_is_the_same_message(block: dict[str, Any]) -> None:
    ending = {"stop_reason": "refusal", "stop_sequence": None, "stop_details": {"category": "c"}}
    message = {**HEAD, "content": [block, block], **ending, "usage": {"input_tokens": 1, "output_tokens": 2}}
    whole = Gathered("", "")
    for name, body in events(message):
        assert body["type"] == name
        whole.add(name, body)
    assert whole.message == message


@pytest.mark.parametrize("kind", ["text", "a thought", "a call", "cited text"])
def test_what_clients_read_from_deltas_is_in_deltas(kind: str) -> None:
    bodies = [body for _, body in events({**HEAD, "content": [BLOCKS[kind]], "stop_reason": "end_turn"})]
    start = bodies[1]["content_block"]
    assert not any(start.get(name) for name in ("text", "thinking", "signature", "input", "citations"))
    assert len(bodies) > 5


def test_a_message_without_a_reason_or_usage_ends_all_the_same() -> None:
    assert events({"content": []})[-2:] == [
        (
            "message_delta",
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {}},
        ),
        ("message_stop", {"type": "message_stop"}),
    ]


@pytest.mark.parametrize(
    "odd", [None, 1, "x", {"type": "text", "text": 1}, {"type": "text", "citations": 1}, {"type": "tool_use"}]
)
def test_blocks_of_another_shape_break_nothing(odd: Any) -> None:
    assert events({"content": [odd], "usage": odd, "stop_details": odd})[-1][0] == "message_stop"


def test_half_a_character_breaks_nothing() -> None:
    call = {"type": "tool_use", "input": {"x": "\ud83d"}}
    assert events({"content": [{"type": "text", "text": "\ud83d"}, call]})[-1][0] == "message_stop"
