"""Frames of a Responses upstream to hub events: what passes raw, what is parsed, what is swallowed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translators.close import Close
from translators.events import Deltas, Event, Run, StreamEvent
from translators.failure import Failure
from translators.responses.decode import ResponsesDecoder, as_object, parse_object

Json = dict[str, Any]
TEXT = "response.output_text.delta"
ADDED = "response.output_item.added"


def frame(kind: str, *, name: bool = True, **body: object) -> bytes:
    data = json.dumps({"type": kind, **body}, separators=(",", ":"), ensure_ascii=False)
    return ((f"event: {kind}\n" if name else "") + f"data: {data}\n\n").encode()


def delta(number: int | None, text: str = "x", index: int | None = 0, **more: object) -> bytes:
    numbers = {} if number is None else {"sequence_number": number}
    place = {} if index is None else {"output_index": index}
    return frame(TEXT, **numbers, item_id="m", **place, content_index=0, delta=text, **more)


def decoder(first_index: int = 0) -> ResponsesDecoder:
    return ResponsesDecoder(suffix="ab", first_index=first_index)


def deltas(*texts: str, index: int = 0) -> Deltas:
    return Deltas(TEXT, "m", index, 0, list(texts))


RUNS: dict[str, tuple[list[bytes], list[tuple[int, int | None]]]] = {
    "numbers that count": ([delta(4), delta(5), delta(6)], [(3, 4)]),
    "one": ([delta(9)], [(1, 9)]),
    "numbers that do not": ([delta(4), delta(4)], [(2, None)]),
    "two kinds": (
        [delta(1), frame("response.refusal.delta", sequence_number=2, output_index=0, delta="")],
        [(1, 1), (1, 2)],
    ),
    "an unknown kind": ([frame("response.moods.delta", sequence_number=3, mood="calm")], [(1, 3)]),
    "other characters": ([delta(0, "é 早 🌅")], [(1, 0)]),
}


@pytest.mark.parametrize(("frames", "expected"), RUNS.values(), ids=RUNS)
def test_consecutive_deltas_in_the_usual_form_stay_bytes(
    frames: list[bytes], expected: list[tuple[int, int | None]]
) -> None:
    events = decoder().feed(b"".join(frames))
    assert [(event.count, event.first) for event in events if isinstance(event, Run)] == expected
    assert b"".join(event.block for event in events if isinstance(event, Run)) == b"".join(frames)


PARSED: dict[str, tuple[list[bytes], list[StreamEvent]]] = {
    "no number": ([delta(None, "a"), delta(None, "b")], [deltas("a", "b")]),
    "two numbers in one and none in the next": (
        [delta(4, "a").replace(b'"item_id"', b'"sequence_number":4,"item_id"'), delta(None, "b")], [deltas("a", "b")],
    ),
    "no index": ([delta(1, "a", None), delta(2, "b", None)], [deltas("a", "b")]),
    "no event line": ([delta(1, "a").partition(b"\n")[2]], [deltas("a")]),
    "an index that is none": ([delta(1, "a", -3)], [deltas("a")]),
    "a null": ([frame(TEXT, output_index=0, delta=None)], []),
    "halves of a character": (
        [delta(1, "a?").replace(b"?", b"\\ud83d"), delta(2, "?b").replace(b"?", b"\\ude00")],
        [deltas("a", "😀b")],
    ),
    "an unknown kind without a number": (
        [frame("response.moods.delta", mood="calm")], [Event("response.moods.delta", {"mood": "calm"})],
    ),
    "an unknown event": ([frame("vendor.x", a=1, sequence_number=4)], [Event("vendor.x", {"a": 1})]),
    "the type only in the event line": ([b'event: vendor.y\ndata: {"a":1}\n\n'], [Event("vendor.y", {"a": 1})]),
    "a part event without a place": (
        [frame("response.content_part.done", part={})],
        [Event("response.content_part.done", {"part": {}, "output_index": 0})],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("frames", "expected"), PARSED.values(), ids=PARSED)
def test_other_frames_are_parsed(frames: list[bytes], expected: list[StreamEvent]) -> None:
    assert decoder().feed(b"".join(frames)) == expected


def test_one_frame_without_a_number_leaves_its_neighbours_raw() -> None:
    events = decoder().feed(delta(1, "a") + delta(None, "b") + delta(3, "c"))
    assert events == [Run(TEXT, delta(1, "a"), 1, 1), deltas("b"), Run(TEXT, delta(3, "c"), 1, 3)]


def test_later_rounds_are_moved_behind_the_earlier_ones() -> None:
    events = decoder(3).feed(
        frame(ADDED, output_index=0, item={"id": "m"}) + delta(1) + frame("vendor.x", output_index=1)
    )
    assert events == [
        Event(ADDED, {"output_index": 3, "item": {"id": "m"}}),
        deltas("x", index=3),
        Event("vendor.x", {"output_index": 4}),
    ]


@pytest.mark.parametrize("kind", ["response.created", "response.in_progress", "response.queued", "keepalive", "ping"])
def test_what_the_public_response_has_of_its_own_is_swallowed(kind: str) -> None:
    made = decoder()
    assert made.feed(frame(kind, response={"id": "theirs"})) == []
    assert made.closed is None


@pytest.mark.parametrize("block", [b"data: [DONE]\n\n", b"data:  [DONE] \n\n", b"data: {}\n\n", b": x\n\n", b"\n\n\n"])
def test_frames_that_say_nothing_are_nothing(block: bytes) -> None:
    made = decoder()
    assert made.feed(block) == []
    assert made.closed is None


USAGE = {"input_tokens": 1.0, "output_tokens": 2}
CLOSES: dict[str, tuple[str, Json, tuple[str, str | None]]] = {
    "completed": ("response.completed", {"status": "completed"}, ("completed", None)),
    "done": ("response.done", {}, ("completed", None)),
    "incomplete": (
        "response.incomplete", {"incomplete_details": {"reason": "content_filter"}}, ("incomplete", "content_filter"),
    ),
    "incomplete without a reason": ("response.incomplete", {}, ("incomplete", "max_output_tokens")),
    "an odd reason": ("response.incomplete", {"incomplete_details": [3]}, ("incomplete", "max_output_tokens")),
    "completed but incomplete": ("response.completed", {"status": "incomplete"}, ("incomplete", "max_output_tokens")),
    "completed with a null error": ("response.completed", {"status": "completed", "error": None}, ("completed", None)),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "response", "expected"), CLOSES.values(), ids=CLOSES)
def test_a_terminal_event_closes_and_ends_the_reading(kind: str, response: Json, expected: tuple[Any, Any]) -> None:
    made = decoder()
    response = {**response, "usage": USAGE}
    events = made.feed(delta(1) + frame(kind, response=response) + frame("response.failed") + delta(2))
    assert [event.kind for event in events] == [TEXT]
    assert made.closed is not None
    assert (made.closed.status, made.closed.reason, made.closed.response) == (*expected, response)
    assert made.closed.usage is not None and made.closed.usage["total_tokens"] == 3
    assert made.feed(delta(3)) == []
    assert made.finish() == []


@pytest.mark.parametrize("response", [None, [], "x"])
def test_a_terminal_without_a_response_closes_all_the_same(response: object) -> None:
    made = decoder()
    made.feed(frame("response.completed", response=response))
    assert made.closed == Close("completed", response={})


ERROR = {"code": "rate_limit_exceeded", "message": "Slow."}
FAILURES: dict[str, bytes] = {
    "failed": frame("response.failed", response={"error": ERROR}),
    "failed inside completed": frame("response.completed", response={"status": "failed", "error": ERROR}),
    "error without a status": frame("response.completed", response={"error": ERROR}),
    "nested error event": frame("error", error=ERROR),
    "flat error event": frame("error", **ERROR),
    "response.error": frame("response.error", error=ERROR),
    "an error without the word": b'data: {"code": 429, "message": "Slow."}\n\n',
    "bare data": b"data: " + json.dumps({"error": ERROR}).encode() + b"\n\n",
}


@pytest.mark.parametrize("block", FAILURES.values(), ids=FAILURES)
def test_an_error_in_the_stream_is_the_upstreams_own_failure(block: bytes) -> None:
    with pytest.raises(Failure) as caught:
        decoder().feed(block)
    assert (caught.value.code, caught.value.message) == ("rate_limit_exceeded", "Slow.")


@pytest.mark.parametrize(
    ("details", "reason"),
    [({"reason": "content_filter"}, "content_filter"), ({}, None), (None, None), ({"reason": 1}, None), ("x", None)],
)
def test_a_failed_response_keeps_the_reason_of_its_being_incomplete(details: object, reason: str | None) -> None:
    with pytest.raises(Failure) as caught:
        decoder().feed(frame("response.failed", response={"error": ERROR, "incomplete_details": details}))
    assert caught.value.incomplete_reason == reason


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b"3", b'"x"', b"NaN", b'{"a":"\xff"}', b'{"type":"a b"}', b'{"type":"' + b"x" * 200 + b'"}']
)
def test_what_is_no_event_is_a_failure_that_never_quotes_it(data: bytes) -> None:
    with pytest.raises(Failure) as caught:
        decoder().feed(b"data: " + data + b"\n\n")
    assert caught.value.code == "upstream_invalid_response"
    assert data.decode("latin-1") not in caught.value.message


ARGUMENTS = "response.function_call_arguments"


@pytest.mark.parametrize("given", ['{"a":"x?y?"}', {"a": "x?y?"}])
def test_lone_surrogates_in_arguments_are_escapes_whoever_judges_them_refuses(given: object) -> None:
    def sent(kind: str, **body: object) -> bytes:
        return frame(kind, **body).replace(b"y?", b"\\ud83d\\ude00").replace(b"?", b"\\ud83d")

    item = {"type": "function_call", "id": "f", "name": "f"}
    text, made = r'{"a":"x\ud83d😀"}', decoder()
    frames = [sent("response.output_item.added", output_index=0, item={**item, "arguments": given})]
    if isinstance(given, str):
        frames += [sent(f"{ARGUMENTS}.delta", item_id="f", output_index=0, delta=given)]
    frames += [sent(f"{ARGUMENTS}.done", item_id="f", output_index=0, arguments=given)]
    frames += [sent("response.output_item.done", output_index=0, item={**item, "arguments": given})]
    frames += [sent("response.completed", response={"output": [{**item, "arguments": given}, 7]})]
    told = []
    for event in made.feed(b"".join(frames)):
        if isinstance(event, Deltas):
            told += event.texts
        elif isinstance(event, Event):
            told.append(event.body.get("item", event.body)["arguments"])
    assert made.closed is not None and made.closed.response is not None
    told.append(made.closed.response["output"][0]["arguments"])
    assert [json.loads(each) for each in told] == [json.loads(text)] * len(told)
    assert set("".join(told)).isdisjoint("\ufffd") and "".join(told).encode()


def test_lone_surrogates_in_other_events_are_replaced() -> None:
    (event,) = decoder().feed(b'data: {"type":"vendor.x","a":"x\\ud83d"}\n\n')
    assert isinstance(event, Event) and event.body == {"a": "x\ufffd"}


WHOLE: dict[str, tuple[Json, str | None]] = {
    "completed": ({"object": "response", "status": "completed", "output": []}, "completed"),
    "incomplete": ({"object": "response", "status": "incomplete", "output": []}, "incomplete"),
    "only output": ({"output": []}, "completed"),
    "failed": ({"object": "response", "status": "failed", "error": {"message": "m"}}, None),
    "queued": ({"object": "response", "status": "queued"}, None),
    "an error": ({"error": {"message": "m"}}, None),
    "a chat answer": ({"object": "chat.completion", "choices": []}, None),
}


@pytest.mark.parametrize(("body", "status"), WHOLE.values(), ids=WHOLE)
def test_a_whole_answer_closes_or_fails(body: Json, status: str | None) -> None:
    made = decoder()
    if status is None:
        with pytest.raises(Failure):
            made.decode_whole(json.dumps(body).encode())
        return
    assert made.decode_whole(json.dumps(body).encode()) == []
    assert made.closed is not None and (made.closed.status, made.closed.response) == (status, body)


def test_objects_are_read_as_objects() -> None:
    assert parse_object(b' {"a": 1} ') == {"a": 1}
    assert [as_object(value) for value in ({"a": 1}, None, [], "x")] == [{"a": 1}, {}, {}, {}]
