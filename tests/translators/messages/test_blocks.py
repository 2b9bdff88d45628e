"""The blocks of one item. How they follow each other is in test_encode.py."""

from __future__ import annotations

import json

from translators.events import Deltas
from translators.messages.blocks import CallBlock, SearchBlocks, TextBlocks, ThinkingBlock, frame

TEXT = "response.output_text.delta"


def kinds(out: list[bytes]) -> list[tuple[str, int]]:
    events = [json.loads(each.split(b"\n")[1][6:]) for each in out]
    return [(event["type"].removeprefix("content_block_"), event["index"]) for event in events]


def test_each_part_of_a_message_is_a_block() -> None:
    blocks, out = TextBlocks(), list[bytes]()
    index = blocks.deltas(Deltas(TEXT, "m", 0, 0, ["a"]), 4, out)
    index = blocks.deltas(Deltas(TEXT, "m", 0, 1, ["b"]), index, out)
    assert blocks.done({}, index, out) == 6
    assert kinds(out) == [("start", 4), ("delta", 4), ("stop", 4), ("start", 5), ("delta", 5), ("stop", 5)]
    assert blocks.no_op() == b""


def test_deltas_of_another_kind_are_passed_over() -> None:
    out: list[bytes] = []
    assert ThinkingBlock().deltas(Deltas(TEXT, "m", 0, 0, ["a"]), 0, out) == 0
    assert TextBlocks().deltas(Deltas("response.reasoning_text.delta", "m", 0, 0, ["a"]), 0, out) == 0
    assert out == []


def test_a_call_without_any_delta_opens_at_its_end() -> None:
    block = CallBlock({"type": "function_call", "call_id": "c", "name": "f"})
    out: list[bytes] = []
    assert block.no_op() == b""
    assert block.done({"arguments": "{}"}, 0, out) == 1
    assert kinds(out) == [("start", 0), ("delta", 0), ("stop", 0)]


def test_a_custom_call_shows_its_input_as_the_object_of_its_function() -> None:
    block = CallBlock({"type": "custom_tool_call", "call_id": "c", "name": "f"})
    out: list[bytes] = []
    block.deltas(Deltas("response.custom_tool_call_input.delta", "c", 0, None, ["te"]), 0, out)
    block.done({"input": "text"}, 1, out)
    assert json.loads(out[1].split(b"\n")[1][6:])["delta"]["partial_json"] == '{"input":"text"}'


def test_half_a_character_does_not_break_a_frame() -> None:
    assert frame("ping", {"x": "a\ud83d"}).startswith(b'event: ping\ndata: {"type":"ping"')


def test_a_search_is_two_blocks_when_it_has_ended_and_none_when_it_opened_a_page() -> None:
    out: list[bytes] = []
    blocks = SearchBlocks()
    item = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
    assert (blocks.deltas(Deltas(TEXT, "m", 0, 0, ["a"]), 2, out), blocks.no_op(), out) == (2, b"", [])
    assert blocks.done(item, 2, out) == 4
    assert kinds(out) == [("start", 2), ("delta", 2), ("stop", 2), ("start", 3), ("stop", 3)]
    assert blocks.done({**item, "action": {"type": "open_page"}}, 4, out) == 4
    assert blocks.cut(4, out) == 4
    assert len(out) == 5


def test_a_citation_belongs_to_the_open_block_of_its_part() -> None:
    blocks, out = TextBlocks(), list[bytes]()
    blocks.cite({}, {}, 0, out)
    assert out == []
    blocks.deltas(Deltas(TEXT, "m", 0, 0, ["a"]), 0, out)
    blocks.cite({}, {"url": "u"}, 1, out)
    blocks.cite({}, {"url": "u"}, 0, out)
    blocks.cite({"type": "file_citation"}, None, 0, out)
    assert kinds(out) == [("start", 0), ("delta", 0), ("delta", 0)]
    assert json.loads(out[-1].split(b"\n")[1][6:])["delta"] == {"type": "citations_delta", "citation": {"url": "u"}}
