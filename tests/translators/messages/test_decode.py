"""A Messages stream as hub events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.messages_stream import frame, messages_frames
from support.turns import Call, Incomplete, Say
from translators.close import Close
from translators.events import Deltas, Event, StreamEvent
from translators.failure import Failure
from translators.messages.decode import MessagesDecoder

START = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 7}}}
STOP = {"type": "message_stop"}


def decoder(first_index: int = 0) -> MessagesDecoder:
    return MessagesDecoder(suffix="ab", first_index=first_index, max_arguments=100)


def opened(index: int, **block: Any) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def stopped(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def message_delta(reason: str | None, **usage: int) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


def fed(reader: MessagesDecoder, *events: dict[str, Any]) -> list[StreamEvent]:
    return reader.feed(b"".join(map(frame, events)))


def shape(events: list[StreamEvent]) -> list[Any]:
    return [
        (event.kind.removeprefix("response."), event.output_index, "".join(event.texts))
        if isinstance(event, Deltas)
        else (
            event.kind.removeprefix("response."),
            event.body["output_index"],
            (event.body.get("item") or {}).get("type"),
        )
        for event in events
        if isinstance(event, (Deltas, Event))
    ]


def test_blocks_become_items_in_their_order() -> None:
    reader = decoder(first_index=2)
    events = reader.feed(b"".join(messages_frames({}, (Say("Hi.", reasoning="So."), Call("f", {"a": 1})), None)))
    assert shape(events) == [
        ("output_item.added", 2, "reasoning"),
        ("reasoning_summary_text.delta", 2, "So."),
        ("output_item.done", 2, "reasoning"),
        ("output_item.added", 3, "message"),
        ("output_text.delta", 3, "Hi."),
        ("output_item.done", 3, None),
        ("output_item.added", 4, "function_call"),
        ("function_call_arguments.delta", 4, '{"a": 1}'),
        ("output_item.done", 4, None),
    ]
    assert reader.closed is not None and (reader.closed.status, reader.closed.reason) == ("completed", None)


def test_texts_and_thoughts_of_blocks_that_nobody_announced_are_read() -> None:
    thought = delta(0, "thinking_delta", thinking="So.")
    texts = [delta(0, "text_delta", text="Hi"), delta(0, "text_delta", text=".")]
    calls = [delta(1, "input_json_delta", partial_json="{}"), delta(2, "signature_delta", signature="s")]
    events = fed(decoder(), START, thought, *texts, *calls, message_delta("end_turn"), STOP)
    assert shape(events) == [
        ("output_item.added", 0, "reasoning"),
        ("reasoning_summary_text.delta", 0, "So."),
        ("output_item.done", 0, "reasoning"),
        ("output_item.added", 1, "message"),
        ("output_text.delta", 1, "Hi."),
        ("output_item.done", 1, None),
    ]


def test_a_thought_travels_whole_with_its_signature() -> None:
    events = fed(
        decoder(),
        opened(0, type="thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="So."),
        delta(0, "signature_delta", signature="si"),
        delta(0, "signature_delta", signature="gn"),
        stopped(0),
        opened(1, type="redacted_thinking", data="red"),
        stopped(1),
        opened(2, type="thinking", thinking="", signature=""),
        delta(2, "thinking_delta", thinking="unsigned"),
        stopped(2),
    )
    done = [event.body["item"] for event in events if event.kind.endswith("item.done") and isinstance(event, Event)]
    assert [json.loads(item["encrypted_content"]) for item in done[:2]] == [
        {"type": "thinking", "thinking": "So.", "signature": "sign"},
        {"type": "redacted_thinking", "data": "red"},
    ]
    assert "encrypted_content" not in done[2]


def test_a_call_whose_input_comes_at_once_or_not_at_all() -> None:
    events = fed(
        decoder(),
        opened(0, type="tool_use", id="a", name="f", input={"x": 1}),
        stopped(0),
        opened(1, type="tool_use", id="b", name="g"),
        delta(1, "input_json_delta", partial_json=""),
        stopped(1),
    )
    assert [event.texts for event in events if isinstance(event, Deltas)] == [['{"x":1}']]
    assert shape(events)[-1] == ("output_item.done", 1, None)


def test_usage_is_cumulative_over_events_and_holds_the_cache_once() -> None:
    reader = decoder()
    fed(reader, START, message_delta("end_turn", output_tokens=9), STOP)
    assert reader.closed == Close(
        "completed",
        usage={
            "input_tokens": 12,
            "input_tokens_details": {"cached_tokens": 7, "cache_write_tokens": 0},
            "output_tokens": 9,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 21,
        },
    )


@pytest.mark.parametrize(
    ("reason", "status", "incomplete"),
    [
        ("end_turn", "completed", None),
        ("stop_sequence", "completed", None),
        ("pause_turn", "completed", None),
        ("novel", "completed", None),
        ("max_tokens", "incomplete", "max_output_tokens"),
        ("model_context_window_exceeded", "incomplete", "max_output_tokens"),
        ("refusal", "incomplete", "content_filter"),
    ],
)
def test_why_it_stopped(reason: str, status: str, incomplete: str | None) -> None:
    reader = decoder()
    fed(reader, START, message_delta(reason), STOP)
    assert reader.closed is not None
    assert (reader.closed.status, reader.closed.reason) == (status, incomplete)


def test_which_sequence_stopped_it_is_kept() -> None:
    reader = decoder()
    said = message_delta("stop_sequence")
    fed(reader, START, {**said, "delta": {**said["delta"], "stop_sequence": "END"}}, message_delta(None), STOP)
    assert reader.closed is not None and reader.closed.response == {"stop_sequence": "END"}
    whole = decoder()
    whole.decode_whole(b'{"content":[{"type":"text","text":"a"}],"stop_reason":"stop_sequence","stop_sequence":"x"}')
    assert whole.closed is not None and whole.closed.response == {"stop_sequence": "x"}
    half = decoder()
    half.decode_whole(b'{"content":[{"type":"text","text":"a"}],"stop_sequence":"\\ud83d"}')
    assert half.closed is not None and half.closed.response == {"stop_sequence": "\ufffd"}


def test_a_stop_reason_and_a_clean_end_close_it_but_nothing_less() -> None:
    reader = decoder()
    fed(reader, START, opened(0, type="text", text="a"), stopped(0))
    assert (reader.finish(), reader.closed, reader.awaiting_close) == ([], None, False)
    fed(reader, message_delta(None), message_delta("end_turn"))
    assert reader.awaiting_close
    reader.finish()
    assert reader.closed is not None


def test_unknown_events_blocks_and_deltas_are_passed_over() -> None:
    events = fed(
        decoder(),
        {"type": "novel"},
        {"type": "ping"},
        opened(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, "input_json_delta", partial_json="{}"),
        stopped(0),
        delta(7, "novel_delta", text="x"),
        opened(1, type="text", text=""),
        delta(1, "citations_delta", citation={}),
        stopped(1),
    )
    assert events == []


@pytest.mark.parametrize(
    ("block", "code"),
    [
        (
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n',
            "upstream_overloaded",
        ),
        (b'event: error\ndata: {"code":500,"message":"m","type":"server_error"}\n\n', "upstream_error"),
        (b"data: {broken\n\n", "upstream_invalid_response"),
        (b"data: [1]\n\n", "upstream_invalid_response"),
        (b'event: message_stop\ndata: {"type":"message_stop"}\n\n', "upstream_empty"),
        (frame(opened(0, type="tool_use", id="a")), "invalid_tool_arguments"),
        (
            frame(opened(0, type="tool_use", id="a", name="f"))
            + frame(delta(0, "input_json_delta", partial_json="x" * 101)),
            "upstream_too_large",
        ),
        (b'data: {"base_resp":{"status_code":1002,"status_msg":"rate limit"}}\n\n', "rate_limit_exceeded"),
        (b'data: {"error":{"code":"1302","message":"High concurrency"}}\n\n', "rate_limit_exceeded"),
    ],
)
def test_what_is_wrong_is_a_failure(block: bytes, code: str) -> None:
    with pytest.raises(Failure) as caught:
        decoder().feed(block)
    assert caught.value.code == code


def test_a_call_that_was_cut_off_stays_open() -> None:
    reader = decoder()
    frames = list(messages_frames({}, (Call("f", '{"a'),), Incomplete("max_output_tokens")))
    events = reader.feed(b"".join(each for each in frames if b"content_block_stop" not in each))
    assert [event.kind for event in events][-1] == "response.function_call_arguments.delta"
    assert reader.closed is not None and reader.closed.reason == "max_output_tokens"


def test_halves_of_a_character_come_together() -> None:
    block = frame(delta(0, "text_delta", text="%b"))
    reader = decoder()
    fed(reader, opened(0, type="text", text="a"))
    events = reader.feed(block % rb"\ud83d" + block % rb"\udc1a")
    assert "".join(text for event in events if isinstance(event, Deltas) for text in event.texts) == "🐚"


def test_half_a_character_in_a_call_is_an_escape() -> None:
    for given in (b"{}", rb'{"a":"\ud83d"}'):
        reader = decoder()
        block = b'{"type":"tool_use","id":"a","name":"f","input":%b}' % given
        events = reader.feed(
            b'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":%b}\n\n' % block
        )
        if given == b"{}":
            part = frame(delta(0, "input_json_delta", partial_json='{"a":"%b"}'))
            events += reader.feed(part % rb"\ud83d")
        events += reader.feed(frame({"type": "content_block_stop", "index": 0}))
        texts = [text for event in events if isinstance(event, Deltas) for text in event.texts]
        assert json.loads("".join(texts)) == {"a": "\ud83d"}


def test_a_whole_message_is_decoded_alike() -> None:
    reader = decoder()
    content = [
        {"type": "thinking", "thinking": "So.", "signature": "s"},
        {"type": "text", "text": "Hi."},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
    ]
    body = {"content": content, "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 2}}
    assert [kind for kind, *_ in shape(reader.decode_whole(json.dumps(body).encode()))] == [
        "output_item.added",
        "reasoning_summary_text.delta",
        "output_item.done",
        "output_item.added",
        "output_text.delta",
        "output_item.done",
        "output_item.added",
        "output_item.done",
    ]
    assert reader.closed is not None and reader.closed.status == "completed"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", "upstream_invalid_response"),
        (b"{}", "upstream_invalid_response"),
        (b"[1]", "upstream_invalid_response"),
        (b'{"type":"error","error":{"type":"api_error","message":"m"}}', "upstream_error"),
        (b'{"base_resp":{"status_code":2049,"status_msg":"invalid api key"}}', "upstream_auth"),
        (b'{"code":401,"msg":"token expired or incorrect","success":false}', "upstream_auth"),
    ],
)
def test_a_body_that_is_no_message_is_a_failure(body: bytes, code: str) -> None:
    with pytest.raises(Failure) as caught:
        decoder().decode_whole(body)
    assert caught.value.code == code


def test_a_call_that_is_announced_and_never_comes_is_no_silent_end() -> None:
    """earendil-works/pi#9681: message_start, then a message_delta with tool_use, and no block at all."""
    with pytest.raises(Failure, match="sent no call") as caught:
        fed(decoder(), START, message_delta("tool_use", output_tokens=1), STOP)
    assert (caught.value.code, caught.value.retry_same) == ("invalid_tool_arguments", True)
    relayed = MessagesDecoder(suffix="ab", max_arguments=100, relayed=True)
    fed(relayed, START, message_delta("tool_use", output_tokens=1), STOP)
    assert relayed.closed is not None
