"""Hub events as a Chat client reads them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.readers import read_chat
from support.streams import public
from translators.chat.encode import ChatEncoder
from translators.events import Deltas, Event, Run, StreamEvent
from translators.items import PublicResponse
from translators.relay import HEAD, RAW

TEXT = "response.output_text.delta"
ARGUMENTS = "response.function_call_arguments.delta"
CALL = {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": ""}
USAGE = {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 2, "total_tokens": 5}


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
    encoder = ChatEncoder(public(), request)
    data = b"".join(encoder.encode([(number, event)]) for number, event in enumerate(events))
    return data + encoder.end(events[-1].kind)


def test_text_and_reasoning_stream_as_deltas_of_one_choice() -> None:
    data = encoded(
        created(),
        deltas("response.reasoning_summary_text.delta", 0, "one"),
        deltas("response.reasoning_summary_text.delta", 0, "two", part=1),
        deltas(TEXT, 1, "a", "", "é🐚"),
        deltas("response.refusal.delta", 1, "no"),
        ended(),
    )
    read = read_chat(data)
    assert (read.text, read.thought, read.ending, read.usage) == ("aé🐚", "one\n\ntwo", "stop", None)
    first = json.loads(data.split(b"\n\n")[0][6:])
    assert first == {
        "id": "chatcmpl-0a1b",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "house/model",
        "choices": [
            {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
        ],
    }


@pytest.mark.parametrize("form", [None, "text", "json_object", "json_schema"])
def test_what_a_model_says_beside_an_answer_in_json_is_a_thought(form: str | None) -> None:
    data = encoded(
        created(),
        added(0, {"type": "message", "phase": "commentary", "content": []}),
        deltas(TEXT, 0, "Let me look."),
        added(1, {"type": "message", "phase": "final_answer", "content": []}),
        deltas(TEXT, 1, "{}"),
        ended(),
        response_format=form and {"type": form},
    )
    read = read_chat(data)
    shown = form in (None, "text")
    assert (read.text, read.thought) == (("Let me look.{}", "") if shown else ("{}", "Let me look."))


def test_raw_runs_of_a_responses_upstream_are_read() -> None:
    frame = b'event: %b\ndata: {"type":"%b","item_id":"m","output_index":0,"content_index":0,"delta":"x"}\n\n'
    run = Run(TEXT, (frame % (TEXT.encode(), TEXT.encode())) * 2, 2, None)
    other = Run("response.audio.delta", b"event: x\ndata: {}\n\n", 1, None)
    assert read_chat(encoded(created(), run, other, ended())).text == "xx"


def test_the_fragment_that_completes_a_call_waits_for_its_release() -> None:
    before = [created(), added(0, CALL), deltas(ARGUMENTS, 0, '{"a"', ":1", "}", part=None)]
    unreleased = encoded(*before, ended("response.failed", error={"code": "upstream_closed", "message": "gone"}))
    read = read_chat(unreleased)
    assert (read.calls[0]["arguments"], read.ending, read.error) == (
        '{"a":1',
        None,
        {"message": "gone", "type": "server_error", "code": "upstream_closed", "param": None},
    )
    final = {**CALL, "arguments": '{"a":1}'}
    read = read_chat(encoded(*before, done(0, final), ended(output=[final])))
    assert (read.calls, read.ending) == (
        [{"id": "a", "name": "f", "arguments": '{"a":1}', "whole": True, "custom": False}],
        "tool_calls",
    )


def test_calls_are_numbered_and_custom_ones_keep_their_kind() -> None:
    custom = {"type": "custom_tool_call", "id": "c", "call_id": "b", "name": "patch", "input": ""}
    first, second = {**CALL, "arguments": "{}"}, {**custom, "input": "a text"}
    data = encoded(
        created(),
        added(0, CALL),
        added(1, custom),
        deltas("response.custom_tool_call_input.delta", 1, "a ", part=None),
        done(0, first),
        done(1, second),
        ended(output=[first, second]),
    )
    read = read_chat(data)
    assert [(call["name"], call["arguments"], call["custom"]) for call in read.calls] == [
        ("f", "{}", False),
        ("patch", "a text", True),
    ]


def test_a_client_of_the_deprecated_functions_gets_a_function_call() -> None:
    final = {**CALL, "arguments": "{}"}
    data = encoded(
        created(), added(0, CALL), added(1, CALL), done(0, final), ended(output=[final]), functions=[{"name": "f"}]
    )
    chunks = [json.loads(frame[6:])["choices"][0] for frame in data.split(b"\n\n")[:-2]]
    assert [chunk["delta"] for chunk in chunks] == [
        {"role": "assistant", "content": ""},
        {"function_call": {"name": "f", "arguments": ""}},
        {"function_call": {"arguments": "{}"}},
        {},
    ]
    assert chunks[-1]["finish_reason"] == "function_call"


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("other", "stop")]
)
def test_an_incomplete_answer_says_why(reason: str, finish: str) -> None:
    event = ended("response.incomplete", incomplete_details={"reason": reason})
    assert read_chat(encoded(created(), event)).ending == finish


def test_usage_comes_in_a_last_chunk_for_those_who_asked() -> None:
    data = encoded(created(), ended(usage=USAGE), stream_options={"include_usage": True})
    assert read_chat(data).usage == {
        "prompt_tokens": 3,
        "completion_tokens": 2,
        "total_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 1},
        "completion_tokens_details": {},
    }


def test_a_filler_is_a_comment() -> None:
    assert encoded(Event("keepalive", {})).startswith(b": keepalive\n\n")


def test_citations_are_nested_under_their_type() -> None:
    cited = {"type": "url_citation", "start_index": 0, "end_index": 1, "url": "u", "title": "t"}
    event = Event("response.output_text.annotation.added", {"output_index": 0, "annotation": cited})
    delta = json.loads(encoded(event).split(b"\n\n")[0][6:])["choices"][0]["delta"]
    inner = {"start_index": 0, "end_index": 1, "url": "u", "title": "t"}
    assert delta == {"annotations": [{"type": "url_citation", "url_citation": inner}]}


def test_relayed_chunks_leave_as_they_came_and_say_all_themselves() -> None:
    encoder = ChatEncoder(public(), {})
    head, raw, tail = Event(HEAD, {"raw": b"HEAD"}), Run(RAW, b"RAW", 1, None), Event(RAW, {"raw": b"TAIL"}, held=True)
    out = [
        encoder.encode([(0, created()), (1, Event("response.in_progress", {})), (2, head)]),
        encoder.encode([(3, raw), (4, added(0, CALL)), (5, deltas(ARGUMENTS, 0, "{", part=None))]),
        encoder.encode([(6, done(0, {**CALL, "arguments": "{}"})), (7, tail), (8, ended())]),
        encoder.end("response.completed"),
    ]
    assert out == [b"HEAD", b"RAW", b"TAIL", b"data: [DONE]\n\n"]


def test_a_head_that_comes_after_our_own_is_not_repeated() -> None:
    encoder = ChatEncoder(public(), {})
    assert b'"role":"assistant"' in encoder.encode([(0, created())])
    assert encoder.encode([(1, Event(HEAD, {"raw": b"HEAD"}))]) == b""


def test_half_a_character_in_the_name_that_a_client_gave_the_model_is_repeated() -> None:
    encoder = ChatEncoder(PublicResponse("resp_1", 1, "m\ud83d", {}), {})
    (chunk,) = (json.loads(line[6:]) for line in encoder.encode([(0, created())]).splitlines() if line)
    assert chunk["model"] == "m\ud83d"
