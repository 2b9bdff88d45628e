"""The Chat decoder: whole streams as the exact list of hub events, endings, faults, and speed by construction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.chat_stream import DONE, call, calls, chunk, decoder, frame, merged, outline, run, splits
from translators.close import Close
from translators.events import Deltas, Event
from translators.failure import Failure

STOP = chunk("stop")
COUNTS = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 5,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 15,
}
HI = [("open", 0, "message"), ("text", 0, 0, "hi"), ("done", 0)]
THINK_HI = [
    ("open", 0, "reasoning"),
    ("summary", 0, 0, "think"),
    ("done", 0),
    ("open", 1, "message"),
    ("text", 1, 0, "hi"),
    ("done", 1),
]
Case = tuple[bytes, list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "text": (
        chunk(role="assistant", content="") + chunk(content="h") + chunk(content="") + chunk(content="i") + STOP + DONE,
        [("open", 0, "message"), ("text", 0, 0, "h", "i"), ("done", 0)],
    ),
    "no [DONE] but a clean end": (chunk(content="hi") + STOP, HI),
    "no blank line behind the last chunk": ((chunk(content="hi") + STOP).rstrip(b"\n"), HI),
    "text and finish in one chunk": (chunk("stop", content="hi") + DONE, HI),
    "a finish_reason on every chunk": (
        chunk("stop", content="h") + chunk("stop", content="i") + chunk("stop", content="!") + DONE,
        [("open", 0, "message"), ("text", 0, 0, "h", "i", "!"), ("done", 0)],
    ),
    "an empty finish_reason is none": (chunk("", content="hi") + STOP + DONE, HI),
    "text after the finish begins a new item": (
        chunk(content="hi") + STOP + chunk(content="ps") + DONE,
        [*HI, ("open", 1, "message"), ("text", 1, 0, "ps"), ("done", 1)],
    ),
    "everything after [DONE] is ignored": (
        chunk(content="hi") + STOP + DONE + chunk(content="x") + b"data: {\n\n" + DONE,
        HI,
    ),
    "choices with another index are ignored": (
        frame({"choices": [{"index": 1, "delta": {"content": "x"}}, {"index": 0, "delta": {"content": "hi"}}]})
        + frame({"choices": [{"index": 1, "delta": {"content": "x"}, "finish_reason": "stop"}]})
        + STOP
        + DONE,
        HI,
    ),
    "frames without choices are ignored": (frame({}) + frame({"type": "ping"}) + chunk(content="hi") + STOP + DONE, HI),
    "choices null": (frame({"choices": None}) + chunk(content="hi") + STOP + DONE, HI),
    "comments and odd framing": (
        b": WAITING\n\n:\n\n" + chunk(content="hi").replace(b"data: ", b"event: message\nid: 1\ndata:") + STOP + DONE,
        HI,
    ),
    "CRLF": ((chunk(content="hi") + STOP + DONE).replace(b"\n", b"\r\n"), HI),
    "byte order mark": (b"\xef\xbb\xbf" + chunk(content="hi") + STOP + DONE, HI),
    "a chunk over two data lines": (
        chunk(content="hi").replace(b',"choices"', b'\ndata: ,"choices"') + STOP + DONE,
        HI,
    ),
    "reasoning_content": (chunk(reasoning_content="think") + chunk(content="hi") + STOP + DONE, THINK_HI),
    "reasoning": (chunk(reasoning="think", content="") + chunk(content="hi") + STOP + DONE, THINK_HI),
    "both names are read once": (
        chunk(reasoning="think", reasoning_content="think") + chunk(content="hi") + STOP + DONE,
        THINK_HI,
    ),
    "reasoning before text in one chunk": (chunk(content="hi", reasoning="think") + STOP + DONE, THINK_HI),
    "reasoning_details win over their copy": (
        chunk(
            reasoning="think",
            reasoning_details=[{"type": "reasoning.text", "text": "think"}, {"type": "reasoning.encrypted"}],
        )
        + chunk(content="hi")
        + STOP
        + DONE,
        THINK_HI,
    ),
    "summary and text share the reasoning item": (
        chunk(reasoning_details=[{"type": "reasoning.summary", "summary": "short"}, None])
        + chunk(reasoning_details=[{"type": "reasoning.text", "text": "long"}])
        + STOP
        + DONE,
        [("open", 0, "reasoning"), ("summary", 0, 0, "short", "long"), ("done", 0)],
    ),
    "many reasoning deltas, then both at once": (
        chunk(reasoning_content="a")
        + chunk(reasoning_content="b")
        + chunk(content=None, reasoning_content="c")
        + chunk(reasoning_content="d", content="e")
        + chunk(content="f")
        + chunk(reasoning_content="g")
        + STOP
        + DONE,
        [
            ("open", 0, "reasoning"),
            ("summary", 0, 0, "a", "b", "c", "d"),
            ("done", 0),
            ("open", 1, "message"),
            ("text", 1, 0, "e", "f"),
            ("done", 1),
            ("open", 2, "reasoning"),
            ("summary", 2, 0, "g"),
            ("done", 2),
        ],
    ),
    "parts of thinking and text": (
        chunk(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "think"}]}, {"type": "other"}, 1])
        + chunk(content=[{"type": "text", "text": "hi"}])
        + STOP
        + DONE,
        THINK_HI,
    ),
    "a refusal": (chunk(refusal="no") + STOP + DONE, [("open", 0, "message"), ("refusal", 0, 0, "no"), ("done", 0)]),
    "a refusal behind text": (
        chunk(content="hi") + chunk(refusal="no") + chunk(refusal="pe") + STOP + DONE,
        [("open", 0, "message"), ("text", 0, 0, "hi"), ("refusal", 0, 1, "no", "pe"), ("done", 0)],
    ),
    "text, then a call": (
        chunk(content="hi") + calls(call(index=0, id="a", name="f", arguments="{}")) + chunk("tool_calls") + DONE,
        [*HI, ("open", 1, "call", "a", "f"), ("arguments", 1, "{}"), ("done", 1)],
    ),
    "call, finish and usage in one chunk": (
        chunk("tool_calls", tool_calls=[call(index=0, id="a", name="f", arguments="{}")], more={"usage": COUNTS})
        + DONE,
        [("open", 0, "call", "a", "f"), ("arguments", 0, "{}"), ("done", 0)],
    ),
    "half a character": (
        chunk(content="?").replace(b"?", b"a\\ud83d") + chunk(content="?").replace(b"?", b"\\ude00b") + STOP + DONE,
        [("open", 0, "message"), ("text", 0, 0, "a", "😀b"), ("done", 0)],
    ),
    "half a character and then something else": (
        chunk(content="?").replace(b"?", b"a\\ud83d") + chunk(content="b") + chunk(content="c") + STOP + DONE,
        [("open", 0, "message"), ("text", 0, 0, "a", "\ufffdb", "c"), ("done", 0)],
    ),
    "half a character and then the end": (
        chunk(content="?").replace(b"?", b"\\ud83d") + STOP + DONE,
        [("open", 0, "message"), ("text", 0, 0, "\ufffd"), ("done", 0)],
    ),
    "a message in place of a delta": (
        frame({"choices": [{"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}]}) + DONE,
        HI,
    ),
    "a last chunk that repeats the message": (
        chunk(content="hi") + frame({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}) + DONE,
        HI,
    ),
    "a finish without an answer": (STOP + DONE, []),
}


@pytest.mark.parametrize("name", CASES)
def test_a_stream_gives_these_events_and_closes_however_it_is_cut(name: str) -> None:
    stream, expected = CASES[name]
    for way, pieces in splits(stream):
        if way == "per frame" and b"\r" in stream:
            continue
        chat = decoder()
        assert outline(run(pieces, chat)) == expected, way
        assert chat.closed == Close("completed", usage=USAGE if b"usage" in stream else None)
        assert not chat.awaiting_close


def test_the_events_in_full_with_indices_from_the_first_index() -> None:
    stream = chunk(reasoning="r") + chunk(content="a") + chunk(content="b") + STOP + DONE
    stream = calls(call(index=0, id="c", name="f", arguments="{}")) + stream
    added, done = "response.output_item.added", "response.output_item.done"
    item = {"id": "fc_s_4", "type": "function_call", "status": "in_progress", "call_id": "c", "name": "f"}
    thought = {"id": "rs_s_5", "type": "reasoning", "summary": []}
    said = {"id": "msg_s_6", "type": "message", "status": "in_progress", "role": "assistant", "content": []}
    assert decoder(first_index=4).feed(stream) == [
        Event(added, {"type": added, "output_index": 4, "item": {**item, "arguments": ""}}),
        Deltas("response.function_call_arguments.delta", "fc_s_4", 4, None, ["{}"]),
        Event(added, {"type": added, "output_index": 5, "item": thought}),
        Deltas("response.reasoning_summary_text.delta", "rs_s_5", 5, 0, ["r"]),
        Event(done, {"type": done, "output_index": 5}),
        Event(added, {"type": added, "output_index": 6, "item": said}),
        Deltas("response.output_text.delta", "msg_s_6", 6, 0, ["a", "b"]),
        Event(done, {"type": done, "output_index": 4}),
        Event(done, {"type": done, "output_index": 6}),
    ]


@pytest.mark.parametrize(
    ("reason", "status", "why"),
    [
        ("stop", "completed", None),
        ("STOP", "completed", None),
        ("end", "completed", None),
        ("tool_calls", "completed", None),
        ("function_call", "completed", None),
        ("a_reason_of_tomorrow", "completed", None),
        ("length", "incomplete", "max_output_tokens"),
        ("MAX_TOKENS", "incomplete", "max_output_tokens"),
        ("content_filter", "incomplete", "content_filter"),
        ("sensitive", "incomplete", "content_filter"),
    ],
)
def test_the_finish_reason_says_how_the_response_ended(reason: str, status: Any, why: str | None) -> None:
    chat = decoder()
    assert outline(chat.feed(chunk(content="hi") + chunk(reason))) == HI
    assert chat.closed is None
    assert chat.awaiting_close
    assert chat.feed(DONE) == []
    assert chat.closed == Close(status, why)


@pytest.mark.parametrize(("said", "kept"), [("END", {"stop_sequence": "END"}), (7, None), (None, None), ("", None)])
def test_a_host_may_say_which_sequence_stopped_it(said: Any, kept: Any) -> None:
    chat = decoder()
    end = frame({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "stop_reason": said}]})
    chat.feed(chunk(content="hi") + end + DONE)
    assert chat.closed == Close("completed", None, kept)


def test_a_cut_answer_stays_incomplete_when_a_stop_follows() -> None:
    chat = decoder()
    run([chunk(content="hi") + chunk("length") + STOP + DONE], chat)
    assert chat.closed == Close("incomplete", "max_output_tokens")


def test_arguments_cut_by_length_close_as_incomplete_with_the_pieces_kept() -> None:
    chat = decoder()
    stream = calls(call(index=0, id="a", name="f", arguments='{"a":"x')) + chunk("length") + DONE
    assert outline(run([stream], chat)) == [
        ("open", 0, "call", "a", "f"),
        ("arguments", 0, '{"a":"x'),
        ("done", 0),
    ]
    assert chat.closed == Close("incomplete", "max_output_tokens")


@pytest.mark.parametrize("cut", [chunk(content="hi"), chunk(content="hi") + b'data: {"choices', b": bye\n\n", b""])
def test_an_end_without_a_finish_reason_is_no_close(cut: bytes) -> None:
    chat = decoder()
    events = outline(run([cut], chat))
    assert events == (HI[:2] if cut.startswith(b"data") else [])
    assert chat.closed is None
    assert not chat.awaiting_close


@pytest.mark.parametrize(
    "tail",
    [
        STOP + frame({"choices": [], "usage": COUNTS}) + DONE,
        chunk("stop", more={"usage": COUNTS}) + DONE,
        STOP + frame({"choices": [], "usage": COUNTS}),
        frame({"choices": [{"delta": {}, "finish_reason": "stop", "usage": COUNTS}]}) + DONE,
        STOP + frame({"usage": COUNTS}) + frame({"choices": [], "usage": None}) + DONE,
        chunk(content="!", more={"usage": {"prompt_tokens": 1, "completion_tokens": 1}})
        + chunk("stop", more={"usage": COUNTS}),
    ],
)
def test_usage_is_found_wherever_it_stands_and_the_last_one_counts(tail: bytes) -> None:
    chat = decoder()
    run([chunk(content="hi") + tail], chat)
    assert chat.closed == Close("completed", usage=USAGE)


MESSAGE = {"role": "assistant", "content": "hi", "reasoning_content": "think", "refusal": None}
ENTRY = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize("reason", ["tool_calls", None])
def test_a_whole_body_gives_the_same_events_as_a_stream(reason: str | None) -> None:
    choice = {"index": 0, "message": {**MESSAGE, "tool_calls": [ENTRY]}, "finish_reason": reason}
    chat = decoder()
    events = chat.decode_whole(orjson.dumps({"object": "chat.completion", "choices": [choice], "usage": COUNTS}))
    assert outline(events) == [
        *THINK_HI,
        ("open", 2, "call", "a", "f"),
        ("arguments", 2, "{}"),
        ("done", 2),
    ]
    assert chat.closed == Close("completed", usage=USAGE)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "upstream_invalid_response"),
        (b"oops", "upstream_invalid_response"),
        (b"[]", "upstream_invalid_response"),
        (b"{}", "upstream_invalid_response"),
        (b'{"choices": []}', "upstream_empty"),
        (b'{"error": {"message": "boom"}}', "upstream_error"),
    ],
)
def test_a_whole_body_without_an_answer_is_a_failure(body: bytes, code: str) -> None:
    with pytest.raises(Failure) as caught:
        decoder().decode_whole(body)
    assert caught.value.code == code


def test_deltas_of_a_block_are_one_event_with_a_text_per_chunk() -> None:
    texts = [f"t{n}" for n in range(1000)]
    events = decoder().feed(b"".join(chunk(content=text) for text in texts))
    assert len(events) == 2
    assert isinstance(events[1], Deltas)
    assert events[1].texts == texts


CASSETTES = Path(__file__).parents[2] / "cassettes" / "chat"
"""Streams with the shape of llama.cpp's HTTP server (recorded in November 2026), with texts of our own."""


def kept(count: int, cached: int, written: int) -> dict[str, Any]:
    details = {"cached_tokens": cached, "cache_write_tokens": 0}
    return {**USAGE, "input_tokens": count, "input_tokens_details": details, "output_tokens": written,
            "total_tokens": count + written}  # fmt: skip


PATCH = '{"input": "*** Begin Patch\\n*** Add File: notes.txt\\n+tea\\n*** End Patch"}'


@pytest.mark.parametrize(
    ("name", "parts", "close"),
    [
        ("text_usage", ["Good morning!"], Close("completed", usage=kept(35, 34, 4))),
        ("patch_no_usage", [PATCH], Close("completed")),
        ("patch_cut_by_length", [PATCH[:14]], Close("incomplete", "max_output_tokens", usage=kept(220, 219, 14))),
        (
            "several_broken_calls",
            ["```\n# Plan\n", "{", '{"input": "tea"}', "{"],
            Close("incomplete", "max_output_tokens"),
        ),
        (
            "pings_then_text_where_a_call_was_required",
            ["```json\n{ }\n```"],
            Close("incomplete", "max_output_tokens", usage=kept(187, 4, 6)),
        ),
    ],
)
def test_cassettes_decode_to_whole_items(name: str, parts: list[str], close: Close) -> None:
    for _, pieces in splits((CASSETTES / f"{name}.sse").read_bytes()):
        chat = decoder()
        events = run(pieces, chat)
        assert ["".join(event.texts) for event in events if isinstance(event, Deltas)] == parts
        assert [line[1] for line in outline(events) if line[0] == "done"] == list(range(len(parts)))
        assert chat.closed == close


def test_a_cassette_that_ends_in_an_error_object_is_a_failure() -> None:
    with pytest.raises(Failure, match="expected format") as caught:
        run([(CASSETTES / "error_midstream.sse").read_bytes()], decoder())
    assert caught.value.code == "upstream_error"


WORDS = st.sampled_from(["", "a", "f", '{"a":1}', "{", "stop", "length", "error"])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-1, 2), st.floats(allow_nan=False), WORDS)
KEYS = st.sampled_from(
    ["choices", "delta", "message", "content", "tool_calls", "function", "name", "arguments", "index", "id", "usage",
     "error", "finish_reason", "reasoning", "reasoning_details", "text", "type", "function_call", "refusal"]
)  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)
CHOICES = st.dictionaries(KEYS, TREES, max_size=4)


@given(st.lists(st.one_of(TREES, CHOICES.map(lambda delta: {"choices": [{"delta": delta}]})), max_size=5))
def test_json_of_any_shape_never_raises_anything_but_a_failure(bodies: list[Any]) -> None:
    stream = b"".join(map(frame, bodies)) + STOP + DONE
    outcomes = []
    for _, pieces in splits(stream):
        chat = decoder()
        try:
            outcomes.append((run(pieces, chat), chat.closed))
        except Failure as failure:
            outcomes.append((failure.code, None))
    assert outcomes[0] == outcomes[1] == outcomes[2]


@given(st.lists(st.binary(), max_size=5))
def test_any_bytes_never_raise_anything_but_a_failure(blocks: list[bytes]) -> None:
    for feed in (decoder().feed, decoder().decode_whole):
        try:
            for block in blocks:
                merged(feed(block))
        except Failure:
            pass
