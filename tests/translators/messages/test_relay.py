"""Messages to Messages: what is sent, and how the events are sorted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import orjson
import pytest

from agentic_proxy.config.model import Limits
from support.messages_stream import messages_frames
from support.readers import read_messages
from support.relayed import relayed
from support.streams import splits
from support.turns import Call, Cut, Failed, Incomplete, Say
from translators.envelope import REASONING, seal
from translators.events import Note
from translators.failure import Failure
from translators.messages.blocks import frame as event
from translators.messages.decode import MessagesDecoder
from translators.messages.hub_items import BILLING
from translators.messages.relay import MessagesRelay, build
from translators.relay import AS_IT_IS, HEAD, RAW, WHOLE, Renaming

PING = b'event: ping\ndata: {"type":"ping"}\n\n'


played = partial(relayed, "messages")


def stream(*items: Any, fault: Any = None) -> bytes:
    return b"".join(messages_frames({"model": "m"}, items, fault))


TURNS = {
    "text": ((Say("Good morning, 早安 🌅, and more."),), None, None),
    "reasoning": ((Say("So.", reasoning="First this."),), None, None),
    "call": ((Call("f", {"city": "Kiel", "n": 1.5}),), None, None),
    "calls": ((Say("Both:"), Call("f", {"a": 1}), Call("g", {"b": [1]})), None, None),
    "incomplete": ((Say("cut"),), Incomplete("max_output_tokens"), None),
    "bad arguments": ((Call("f", "{city}"),), None, "invalid_tool_arguments"),
    "cut": ((Say("no end"),), Cut("text"), "upstream_closed"),
    "cut call": ((Call("f", {"city": "Kiel"}),), Cut("text"), "upstream_closed"),
    "failed": ((Say("oh"),), Failed("server_error", "Gone."), "upstream_error"),
}


@pytest.mark.parametrize(("items", "fault", "code"), TURNS.values(), ids=TURNS)
def test_a_turn_ends_once_however_it_is_cut_and_its_bytes_are_the_upstreams(items: Any, fault: Any, code: Any) -> None:
    body = stream(*items, fault=fault)
    for _, chunks in splits(body):
        data, failure = played(chunks)
        assert (failure.code if failure else None) == code
        read = read_messages(data)
        assert all(call["whole"] for call in read.calls) or code is not None
        if code is None:
            assert data == body.replace(PING, b"").replace(b'"model":"m"', b'"model":"house/model"')


def test_the_last_fragment_and_the_end_of_a_call_are_held_with_all_behind_them() -> None:
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    frames = [frame + b"\n\n" for frame in stream(Call("f", "{}")).replace(PING, b"").split(b"\n\n")[:-1]]
    fed = [[event for event in relay.feed(frame) if event.kind in (RAW, HEAD)] for frame in frames]
    kinds = [[(event.kind, getattr(event, "held", False)) for event in events] for events in fed]
    free, kept = [(RAW, False)], [(RAW, True)]
    assert kinds == [[(HEAD, False)], free, free, kept, kept, kept, []]
    assert relay.closed is not None and relay.closed.usage is not None


@pytest.mark.parametrize("end", [b"", event("message_stop", {})])
def test_a_stream_that_nobody_asked_for_becomes_the_message_that_the_upstream_signed(end: bytes) -> None:
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=Renaming("mine"), request={"model": "mine"})
    body = stream(Say("So.", reasoning="First this."), Call("f", {"a": 1}))
    for chunk in (body[: body.rindex(b"event: message_stop")], end):
        relay.feed(chunk)
    assert (relay.closed is None) == (not end)
    relay.finish()
    assert relay.closed is not None and relay.closed.response is not None
    message = orjson.loads(relay.closed.response[WHOLE])
    thought, text, call = message["content"]
    assert thought == {"type": "thinking", "thinking": "First this.", "signature": "scripted-signature"}
    assert (text["text"], call["input"], message["model"]) == ("So.", {"a": 1}, "mine")


def test_a_whole_answer_to_a_client_that_takes_a_stream_keeps_what_the_upstream_signed() -> None:
    thought = {"type": "thinking", "thinking": "First this.", "signature": "SIG=="}
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [thought, call]}
    body = orjson.dumps({**message, "stop_reason": "tool_use", "usage": {"input_tokens": 3, "output_tokens": 2}})
    data, failure = played([body])
    assert failure is None
    assert b'"delta":{"type":"signature_delta","signature":"SIG=="}' in data
    read = read_messages(data)
    assert [(each["name"], each["whole"]) for each in read.calls] == [("f", True)]
    bad = body.replace(b'{"a":1}', b'["a"]')
    data, failure = played([bad])
    assert failure is not None and failure.code == "invalid_tool_arguments"
    assert not any(each["whole"] for each in read_messages(data).calls)


def test_what_is_kept_of_a_stream_that_nobody_asked_for_counts_for_the_limit() -> None:
    odd = event("content_block_delta", {"index": 0, "delta": {"type": "later_delta", "content": "x" * 1000}})
    start = event("content_block_start", {"index": 0, "content_block": {"type": "later"}})
    for frames in ([start, *[odd] * 200], [stream(Say("x" * 200_000))]):
        _, failure = played(frames, Limits(retained=100_000), stream=False)
        assert failure is not None and failure.code == "upstream_too_large"


def test_unknown_events_and_deltas_pass() -> None:
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    frames = [
        b'event: novel\ndata: {"type":"novel"}\n\n',
        b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"novel"}}\n\n',
    ]
    assert [getattr(event, "block", b"") for frame in frames for event in relay.feed(frame)] == frames


def test_a_character_that_is_cut_between_two_deltas_arrives() -> None:
    first = event("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "x"}})
    halves = b"".join(first.replace(b'"x"', half) for half in (rb'"\ud83d"', rb'"\ude00"'))
    body = stream(Say("x"), Call("f", {"a": 1})).replace(first, first + halves)
    for _, chunks in splits(body):
        data, failure = played(chunks)
        assert failure is None
        assert data == body.replace(PING, b"").replace(b'"model":"m"', b'"model":"house/model"')


@pytest.mark.parametrize(("items", "reason"), [((Say("x"),), "end_turn"), ((Say("x"), Call("f", "{}")), "tool_use")])
def test_a_message_that_stops_without_a_reason_is_complete_and_gets_one(items: Any, reason: str) -> None:
    before, _, _ = stream(*items).partition(b"event: message_delta")
    on_the_way = event("message_delta", {"delta": {"stop_reason": None}, "usage": {"output_tokens": 3}})
    body = before + on_the_way + b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    for _, chunks in splits(body):
        data, failure = played(chunks)
        assert failure is None
        read = read_messages(data)
        assert (read.ending, read.text, read.usage) == (reason, "x", {"output_tokens": 3})


def test_a_message_that_stops_without_anything_is_empty() -> None:
    before, _, _ = stream(Say("x")).partition(b"event: content_block_start")
    _, failure = played([before + b'event: message_stop\ndata: {"type":"message_stop"}\n\n'])
    assert failure is not None and failure.code == "upstream_empty"


@pytest.mark.parametrize("odd", [[], {}, "x", None, 1.5])
@pytest.mark.parametrize("place", ["index", "content_block", "delta", "type"])
def test_values_of_another_type_than_they_should_have_are_no_fault_of_the_proxy(place: str, odd: Any) -> None:
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    for kind in ("message_start", "content_block_start", "content_block_delta", "content_block_stop"):
        for inner in ({place: odd}, {"content_block": {place: odd}, "delta": {place: odd}, "message": {place: odd}}):
            relay.feed(event(kind, {"index": 0, **({} if place == "type" and place in inner else inner)}))


@pytest.mark.parametrize("data", [b"{broken", b"<html>", b"[1]"])
def test_what_is_no_event_is_a_failure(data: bytes) -> None:
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={"stream": True})
    with pytest.raises(Failure):
        relay.feed(b"event: content_block_delta\ndata: " + data + b"\n\n")


def test_a_whole_answer_is_judged_and_kept_as_it_came() -> None:
    answer = b'{"model": "m", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "novel": 1}'
    relay = MessagesRelay(suffix="a", max_arguments=1000, renaming=Renaming("mine"), request={})
    relay.decode_whole(answer)
    assert relay.closed is not None
    assert relay.closed.response == {WHOLE: answer.replace(b'"model": "m"', b'"model":"mine"')}


WHOLE_ANSWERS: dict[str, dict[str, Any]] = {
    "words": {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"},
    "thoughts": {"content": [{"type": "thinking", "thinking": "t", "signature": "s"}], "stop_reason": "stop_sequence"},
    "cut words": {"content": [{"type": "text", "text": "x"}], "stop_reason": "max_tokens"},
    "no reason": {"content": [{"type": "text", "text": "x"}], "stop_reason": None},
    "no usage": {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "usage": None},
    "a call": {"content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}], "stop_reason": "tool_use"},
    "an error": {"content": [], "stop_reason": "end_turn", "error": {"type": "api_error", "message": "m"}},
    "no content": {"content": None, "stop_reason": "end_turn"},
    "content of another type": {"content": {}, "stop_reason": "end_turn"},
    "a text for content": {"content": "", "stop_reason": "end_turn"},
    "an error by its type": {"type": "error", "content": [], "stop_reason": "end_turn"},
}


@pytest.mark.parametrize("answer", WHOLE_ANSWERS.values(), ids=WHOLE_ANSWERS)
def test_a_whole_answer_ends_as_the_decoder_over_the_hub_says(answer: dict[str, Any]) -> None:
    body = orjson.dumps({"type": "message", "usage": {"input_tokens": 3, "output_tokens": 2}, **answer})
    ends: list[Any] = []
    for decoder in (
        MessagesRelay(suffix="a", max_arguments=1000, renaming=AS_IT_IS, request={}),
        MessagesDecoder(suffix="a", max_arguments=1000),
    ):
        try:
            decoder.decode_whole(body)
            assert decoder.closed is not None
            ends.append(replace(decoder.closed, response=None))
        except Failure as failure:
            ends.append(failure.code)
    assert ends[0] == ends[1]


def test_the_request_goes_up_as_it_came_with_its_messages_last() -> None:
    original = {"messages": [{"role": "user", "content": "a"}], "model": "x/m", "context_management": {"edits": []}}
    body = build(original, "m", lambda seal: None, [])
    assert body == {**original, "model": "m"}
    assert list(body)[-1] == "messages"


@pytest.mark.parametrize("model", ["glm-5", "claude-sonnet-4-5", "us.anthropic.Claude-opus-4-6-v1:0"])
def test_the_numbers_for_anthropics_accounting_go_to_claude_alone(model: str) -> None:
    """The value of ``cch`` is another one in each request: no other model's cache finds what stands behind it."""
    numbers = {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.63.a43; cch=9f1c2;"}
    told = {"type": "text", "text": "You are Claude Code.", "cache_control": {"type": "ephemeral"}}
    given: list[Any] = [[numbers, told], [told], [told, "odd"], "You are.", None]
    for system in given:
        body = build({"system": system, "messages": []}, model, lambda seal: None, [])
        assert body is not None
        foreign = model == "glm-5" and isinstance(system, list)
        assert body["system"] == ([block for block in system if block is not numbers] if foreign else system)


def test_thoughts_of_other_upstreams_are_left_out_and_own_ones_opened() -> None:
    sealed = seal(b"k" * 32, REASONING, b"{}")
    own = {"type": "thinking", "thinking": "t", "signature": "native"}
    text, empty = {"type": "text", "text": "hi"}, {"type": "text", "text": ""}
    mine = {"type": "thinking", "thinking": "t", "signature": sealed}
    redacted = {"type": "redacted_thinking", "data": sealed}

    def sent(*blocks: Any, opened: Any) -> Any:
        body = build({"messages": [{"role": "assistant", "content": [*blocks]}]}, "m", lambda seal: opened, [])
        assert body is not None
        return body["messages"][0]["content"]

    assert sent(own, text, opened=None) == [own, text]
    assert sent(mine, redacted, empty, text, opened=None) == [text]
    assert sent(mine, text, opened=own) == [own, text]
    assert sent(mine, opened=None) == [{"type": "text", "text": "(no text)"}]


@pytest.mark.parametrize("odd", [[{"a": 1}], "text", None])
def test_a_call_in_the_history_has_an_object_for_its_input(odd: Any) -> None:
    call: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1}}
    message = {"role": "assistant", "content": [call, {**call, "id": "b", "input": odd}]}
    body = build({"messages": [message]}, "m", lambda seal: None, [])
    assert body is not None
    assert body["messages"][0]["content"] == [call, {**call, "id": "b", "input": {}}]
    assert message["content"][1]["input"] == odd


def test_messages_without_a_word_do_not_end_a_session() -> None:
    """ "user messages must have non-empty content", "text content blocks must contain non-whitespace text": refused in
    every later turn (anthropics/claude-code#38630 and #23390). Only the last message may be empty."""
    said, blank = {"type": "text", "text": "hi"}, {"type": "text", "text": " \n"}
    nothing = [{"type": "text", "text": "(no text)"}]
    given = [[], "", [blank], [blank, said], "hi", ""]
    sent = build({"messages": [{"role": "user", "content": each} for each in given]}, "m", lambda seal: None, [])
    assert sent is not None
    assert [message["content"] for message in sent["messages"]] == [nothing, nothing, nothing, [said], "hi", ""]
    assert given == [[], "", [blank], [blank, said], "hi", ""]


def test_a_thread_begins_no_thread_above_for_the_next_turn_may_go_elsewhere() -> None:
    message = {"role": "user", "content": "hi"}
    sent = build({"model": "x", "thread": {"type": "create"}, "messages": [message]}, "m", lambda seal: None, [])
    assert sent == {"model": "m", "messages": [message]}


def test_what_a_request_loses_on_the_way_is_noted() -> None:
    messages = [
        {"role": "user", "content": []},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": seal(b"k" * 32, REASONING, b"{}")},
            {"type": "text", "text": " "},
            {"type": "tool_use", "id": "t", "name": "f", "input": "x"},
        ]},
        {"role": "user", "content": "go on"},
    ]  # fmt: skip
    system = [{"type": "text", "text": BILLING + " cch=1;"}, {"type": "text", "text": "Be brief."}]
    notes: list[Note] = []
    build({"thread": {"type": "create"}, "system": system, "messages": messages}, "m", lambda seal: None, notes)
    assert [(note.rule, note.path) for note in notes] == [
        ("thread_left_out", "thread"),
        ("billing_header_left_out", "system"),
        ("reasoning_left_out", "messages[1].content[0]"),
        ("empty_text_left_out", "messages[1].content[1]"),
        ("tool_arguments_replaced", "messages[1].content[2].input"),
        ("empty_text_replaced", "messages[0].content"),
    ]
    notes = []
    build({"messages": [{"role": "user", "content": "hi"}]}, "m", lambda seal: None, notes)
    assert notes == []
