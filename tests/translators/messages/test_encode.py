"""Hub events as a Messages client reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.readers import Read, read_messages
from support.streams import public
from translators.events import Deltas, Event, Run, StreamEvent
from translators.messages.encode import END, NO_OP, PING, MessagesEncoder
from translators.relay import HEAD, RAW
from translators.usage import usage_of

TEXT = "response.output_text.delta"
THOUGHT = "response.reasoning_summary_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
THINKING = {"thinking": {"type": "adaptive"}}
MESSAGE = {"type": "message", "id": "m", "content": []}
REASONING = {"type": "reasoning", "id": "r", "summary": []}


def call(index: int) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{index}", "call_id": f"c{index}", "name": "f", "arguments": ""}


def created() -> Event:
    return Event("response.created", {"response": {}})


def added(index: int, item: dict[str, Any]) -> Event:
    return Event("response.output_item.added", {"output_index": index, "item": item})


def done(index: int, item: dict[str, Any]) -> Event:
    return Event("response.output_item.done", {"output_index": index, "item": item})


def ended(kind: str = "response.completed", **response: Any) -> Event:
    return Event(kind, {"response": {"status": kind.partition(".")[2], "output": [], "usage": None, **response}})


def deltas(kind: str, index: int, *texts: str, part: int | None = 0) -> Deltas:
    return Deltas(kind, "i", index, part, [*texts])


def encoded(*events: StreamEvent, **request: Any) -> bytes:
    encoder = MessagesEncoder(public(), request)
    data = b"".join(encoder.encode([(number, event)]) for number, event in enumerate(events))
    return data + encoder.end(events[-1].kind)


def read(*events: StreamEvent, **request: Any) -> Read:
    return read_messages(encoded(*events, **request))


def test_a_whole_turn_block_by_block() -> None:
    final = {**call(2), "arguments": '{"a":1}'}
    usage = {**usage_of(10, 4, cached=3), "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2}}
    data = encoded(
        created(),
        added(0, REASONING),
        deltas(THOUGHT, 0, "one"),
        deltas(THOUGHT, 0, "two", part=1),
        done(0, {**REASONING, "encrypted_content": "sealed"}),
        added(1, MESSAGE),
        deltas(TEXT, 1, "a", "", "é🐚"),
        done(1, MESSAGE),
        added(2, call(2)),
        deltas(ARGUMENTS, 2, '{"a"', ":1", "}", part=None),
        done(2, final),
        ended(output=[final], usage=usage),
        **THINKING,
    )
    got = read_messages(data)
    assert got == Read(
        text="aé🐚",
        thought="one\n\ntwo",
        calls=[{"id": "c2", "name": "f", "arguments": '{"a":1}', "whole": True}],
        ending="tool_use",
        usage={
            "input_tokens": 5,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": 3,
            "output_tokens": 4,
        },
        signatures=["sealed"],
    )
    start = json.loads(data.split(b"\n")[1][6:])["message"]
    assert (start["id"], start["model"], start["usage"]["input_tokens"]) == ("msg_0a1b", "house/model", 0)


def test_thinking_that_was_not_asked_for_is_not_shown() -> None:
    events = [created(), added(0, REASONING), deltas(THOUGHT, 0, "x"), done(0, REASONING), added(1, MESSAGE)]
    got = read(*events, deltas(TEXT, 1, "a"), done(1, MESSAGE), ended(), thinking={"type": "disabled"})
    assert (got.text, got.thought, got.signatures) == ("a", "", [])


def test_reasoning_that_nobody_can_read_is_redacted_and_an_empty_one_is_nothing() -> None:
    sealed = {**REASONING, "encrypted_content": "sealed"}
    got = read(
        created(), added(0, REASONING), done(0, sealed), added(1, REASONING), done(1, REASONING), ended(), **THINKING
    )
    assert (got.thought, got.signatures) == ("", ["sealed"])


def test_no_block_is_opened_for_empty_text() -> None:
    data = encoded(created(), added(0, MESSAGE), deltas(TEXT, 0, ""), done(0, MESSAGE), ended())
    assert b"content_block" not in data
    assert read_messages(data).ending == "end_turn"


def test_blocks_of_overlapping_items_stand_behind_each_other() -> None:
    first, second = {**call(0), "arguments": '{"a":1}'}, {**call(1), "arguments": '{"b":2}'}
    events = [
        created(),
        added(0, call(0)),
        added(1, call(1)),
        deltas(ARGUMENTS, 0, '{"a"', part=None),
        deltas(ARGUMENTS, 1, '{"b":2}', part=None),
        added(2, MESSAGE),
        deltas(TEXT, 2, "after"),
        done(2, MESSAGE),
        deltas(ARGUMENTS, 0, ":1}", part=None),
    ]
    before = encoded(*events)
    assert b"after" not in before and b'\\"b\\"' not in before and b"content_block_stop" not in before
    got = read(*events, done(0, first), done(1, second), ended(output=[first, second]))
    assert [call["arguments"] for call in got.calls] == ['{"a":1}', '{"b":2}']
    assert got.text == "after"


def test_a_failure_never_completes_a_call() -> None:
    failed = ended("response.failed", error={"code": "upstream_closed", "message": "gone"})
    got = read(created(), added(0, call(0)), deltas(ARGUMENTS, 0, "{", '"a":1}', part=None), failed)
    assert got.calls == [{"id": "c0", "name": "f", "arguments": "{", "whole": False}]
    assert (got.ending, got.error) == (None, {"type": "api_error", "message": "gone"})


def test_a_call_that_was_cut_off_by_its_length_never_ends() -> None:
    event = ended("response.incomplete", incomplete_details={"reason": "max_output_tokens"})
    data = encoded(created(), added(0, call(0)), deltas(ARGUMENTS, 0, '{"a"', part=None), event)
    assert b"content_block_stop" not in data
    assert read_messages(data).ending == "max_tokens"


def test_a_text_that_was_cut_off_ends_where_it_stands() -> None:
    event = ended("response.incomplete", incomplete_details={"reason": "content_filter"})
    got = read(created(), added(0, MESSAGE), deltas(TEXT, 0, "cut"), event)
    assert (got.text, got.ending) == ("cut", "refusal")


@pytest.mark.parametrize(("config", "text"), [(None, "Let me look.{}"), ({"format": {"type": "json_schema"}}, "{}")])
def test_an_answer_in_json_has_no_other_text(config: dict[str, Any] | None, text: str) -> None:
    aside, answer = {**MESSAGE, "phase": "commentary"}, {**MESSAGE, "phase": "final_answer"}
    said = [deltas(TEXT, 0, "Let me look."), done(0, aside), added(1, answer), deltas(TEXT, 1, "{}"), done(1, answer)]
    assert read(created(), added(0, aside), *said, ended(), output_config=config).text == text


def test_raw_runs_of_a_responses_upstream_are_read() -> None:
    frame = b'event: %b\ndata: {"type":"%b","item_id":"m","output_index":0,"content_index":0,"delta":"x"}\n\n'
    run = Run(TEXT, (frame % (TEXT.encode(), TEXT.encode())) * 2, 2, None)
    assert read(created(), added(0, MESSAGE), run, done(0, MESSAGE), ended()).text == "xx"


@pytest.mark.parametrize(
    ("events", "delta"),
    [
        ([added(0, MESSAGE), deltas(TEXT, 0, "a")], {"type": "text_delta", "text": ""}),
        ([added(0, REASONING), deltas(THOUGHT, 0, "a")], {"type": "thinking_delta", "thinking": ""}),
        ([added(0, call(0)), deltas(ARGUMENTS, 0, "{", part=None)], {"type": "input_json_delta", "partial_json": ""}),
    ],
)
def test_a_filler_is_a_ping_and_an_empty_delta_of_the_open_block(events: Any, delta: dict[str, Any]) -> None:
    data = encoded(created(), *events, Event("keepalive", {}), **THINKING)
    ping, empty = data.split(b"\n\n")[-3:-1]
    assert ping + b"\n\n" == PING
    assert json.loads(empty.split(b"\n")[1][6:])["delta"] == delta


def test_a_filler_before_any_block_is_a_ping_and_an_event_that_says_nothing() -> None:
    assert encoded(created(), Event("keepalive", {})).endswith(PING + NO_OP)
    assert encoded(created(), added(0, MESSAGE), Event("keepalive", {})).endswith(PING + NO_OP)


def test_relayed_frames_leave_as_they_came() -> None:
    encoder = MessagesEncoder(public(), {})
    start, tail = Event(RAW, {"raw": b"START", "open": (3, "text")}), Event(RAW, {"raw": b"TAIL"}, held=True)
    out = [
        encoder.encode([(0, created()), (1, Event("response.in_progress", {})), (2, Event(HEAD, {"raw": b"HEAD"}))]),
        encoder.encode([(3, start), (4, added(0, call(0))), (5, Run(RAW, b"RAW", 1, None))]),
        encoder.encode([(6, Event("keepalive", {}))]),
        encoder.encode([(7, done(0, {**call(0), "arguments": "{}"})), (8, tail), (9, ended())]),
    ]
    assert (out[0], out[1], out[3]) == (b"HEAD", b"STARTRAW", b"TAIL" + END)
    assert out[2].startswith(PING) and b'"index":3,"delta":{"type":"text_delta","text":""}' in out[2]


def test_a_head_that_comes_after_our_own_is_not_repeated() -> None:
    encoder = MessagesEncoder(public(), {})
    assert encoder.encode([(0, created())]).startswith(b"event: message_start")
    assert encoder.encode([(1, Event(HEAD, {"raw": b"HEAD"}))]) == b""
