"""One item between added and done: what an upstream left out is added, in the order of the API."""

from __future__ import annotations

from typing import Any

import pytest

from translators.events import Deltas, Event, Run, StreamEvent
from translators.failure import Failure
from translators.openitem import PARTS, OpenItem, TextItem, family_of, split_run

Json = dict[str, Any]
TEXT = "response.output_text.delta"
SUMMARY = "response.reasoning_summary_text.delta"
NOTE = {"type": "url_citation", "url": "u"}


def message(**more: object) -> TextItem:
    return TextItem({"type": "message", "id": "m", **more}, 3)


def reasoning() -> TextItem:
    return TextItem({"type": "reasoning", "id": "r"}, 0)


def part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def kinds(events: list[StreamEvent]) -> list[str]:
    return [event.kind.removeprefix("response.") for event in events]


def happened(item: OpenItem, name: str, **body: object) -> list[StreamEvent]:
    return item.event(Event(f"response.{name}", {"output_index": 3, **body}))


def test_a_message_opens_with_the_keys_that_every_message_has() -> None:
    (added,) = message(role=None).added()
    item = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}
    assert added == Event("response.output_item.added", {"output_index": 3, "item": item})


def test_text_that_only_streamed_is_completed() -> None:
    item = message()
    first = item.deltas(Deltas(TEXT, "x", 9, 0, ["a", "b"]))
    assert first[-1] == Deltas(TEXT, "m", 3, 0, ["a", "b"])
    assert kinds(first) == ["content_part.added", "output_text.delta"]
    assert kinds(item.deltas(Deltas(TEXT, "x", 9, 0, ["c"]))) == ["output_text.delta"]
    last = item.finish(None, "incomplete")
    assert kinds(last) == ["output_text.done", "content_part.done", "output_item.done"]
    assert item.item == {
        "type": "message", "id": "m", "role": "assistant", "status": "incomplete", "content": [part("abc")],
    }  # fmt: skip


ENDINGS: dict[str, tuple[list[tuple[str, Json]], list[str]]] = {
    "nothing": ([], ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"]),
    "part added": (
        [("content_part.added", {"part": {"type": "output_text"}})],
        ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
    ),
    "text done": (
        [("output_text.done", {"text": "hi"})],
        ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
    ),
    "part done": (
        [("content_part.done", {"part": {"type": "output_text", "text": "hi"}})],
        ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
    ),
    "all of them twice": (
        [
            ("content_part.added", {"part": {"type": "output_text"}}),
            ("content_part.added", {"part": {"type": "output_text"}}),
            ("output_text.done", {"text": "hi"}),
            ("output_text.done", {"text": "hi"}),
            ("content_part.done", {"part": {"type": "output_text", "text": "hi"}}),
            ("content_part.done", {"part": {"type": "output_text", "text": "hi"}}),
        ],
        ["content_part.added", "output_text.delta", "output_text.done", "content_part.done"],
    ),
}


@pytest.mark.parametrize(("given", "expected"), ENDINGS.values(), ids=ENDINGS)
@pytest.mark.parametrize("content", [[part("hi")], "hi", [{"type": "output_text", "text": "hi"}]])
def test_a_message_whose_end_says_the_text_shows_it_once(
    given: list[tuple[str, Json]], expected: list[str], content: object
) -> None:
    item = message()
    events = [event for name, body in given for event in happened(item, name, **body)]
    events += item.finish({"type": "message", "content": content}, "completed")
    assert kinds(events) == [*expected, "output_item.done"]
    assert [event.texts for event in events if isinstance(event, Deltas)] == [["hi"]]
    assert item.item["content"] == [part("hi")]


def test_events_without_ids_and_indices_get_them() -> None:
    item = message()
    (event,) = happened(item, "content_part.added", part={"type": "output_text"})
    assert isinstance(event, Event)
    assert event.body == {"output_index": 3, "part": part(""), "content_index": 0, "item_id": "m"}
    done = happened(item, "output_text.done", text="")[-1]
    assert isinstance(done, Event)
    assert done.body == {"output_index": 3, "text": "", "content_index": 0, "item_id": "m", "logprobs": []}


def test_a_text_done_event_without_text_takes_what_was_streamed() -> None:
    item = message()
    item.deltas(Deltas(TEXT, "m", 3, 0, ["a", "b"]))
    (done,) = happened(item, "output_text.done", content_index=0)
    assert isinstance(done, Event) and done.body["text"] == "ab"


def test_text_and_refusal_are_parts_of_their_own() -> None:
    item = message()
    item.deltas(Deltas(TEXT, "m", 3, 0, ["well"]))
    item.deltas(Deltas("response.refusal.delta", "m", 3, 1, ["no"]))
    assert kinds(item.finish(None, "completed")) == [
        "output_text.done", "content_part.done", "refusal.done", "content_part.done", "output_item.done",
    ]  # fmt: skip
    assert item.item["content"] == [part("well"), {"type": "refusal", "refusal": "no"}]


def test_annotations_of_a_message_without_an_end_are_kept() -> None:
    item = message()
    item.deltas(Deltas(TEXT, "m", 3, 0, ["cited"]))
    happened(item, "output_text.annotation.added", annotation_index=0, annotation=NOTE)
    item.finish(None, "completed")
    assert item.item["content"] == [{**part("cited"), "annotations": [NOTE]}]


def test_a_reasoning_item_has_summary_before_content_and_no_status_of_ours() -> None:
    item = reasoning()
    item.deltas(Deltas("response.reasoning_text.delta", "r", 0, 0, ["raw"]))
    item.deltas(Deltas(SUMMARY, "r", 0, 0, ["one"]))
    item.deltas(Deltas(SUMMARY, "r", 0, 1, ["two"]))
    assert kinds(item.finish(None, "completed")) == [
        "reasoning_summary_text.done", "reasoning_summary_part.done",
        "reasoning_summary_text.done", "reasoning_summary_part.done",
        "reasoning_text.done", "content_part.done", "output_item.done",
    ]  # fmt: skip
    assert item.item == {
        "type": "reasoning",
        "id": "r",
        "summary": [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}],
        "content": [{"type": "reasoning_text", "text": "raw"}],
    }


def test_the_final_sealed_content_of_reasoning_is_the_one_kept() -> None:
    item = TextItem({"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "first"}, 0)
    item.finish(
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "last", "status": "completed"}, "completed"
    )
    assert item.item == {
        "type": "reasoning", "id": "r", "summary": [], "encrypted_content": "last", "status": "completed",
    }  # fmt: skip


def test_more_parts_than_any_model_writes_are_refused() -> None:
    item = message()
    item.deltas(Deltas(TEXT, "m", 3, PARTS - 1, ["x"]))
    with pytest.raises(Failure) as caught:
        item.deltas(Deltas(TEXT, "m", 3, PARTS, ["x"]))
    assert caught.value.code == "upstream_invalid_response"


def test_an_item_of_an_unknown_kind_passes_as_it_came() -> None:
    item = OpenItem({"type": "hologram", "id": "h", "beam": 1}, 2)
    event = Event("response.hologram.ready", {"output_index": 2, "frames": 3})
    assert item.event(event) == [Event("response.hologram.ready", {"output_index": 2, "frames": 3})]
    final = {"type": "hologram", "id": "other", "beam": 2, "new": None}
    assert item.finish(final, "completed") == [
        Event("response.output_item.done", {"output_index": 2, "item": {**final, "id": "h"}})
    ]


@pytest.mark.parametrize("given", [None, 3, "output_text", [], {}, {"type": None}, {"type": []}, {"type": "picture"}])
def test_what_is_no_text_part_has_no_family(given: object) -> None:
    assert family_of(given) is None


RUNS: dict[str, tuple[bytes, list[Deltas]]] = {
    "one part": (
        b'data: {"item_id":"a","output_index":1,"content_index":0,"delta":"x"}\n\n'
        b'data: {"item_id":"a","output_index":1,"content_index":0,"delta":"y"}\n\n',
        [Deltas(TEXT, "a", 1, 0, ["x", "y"])],
    ),
    "two items": (
        b'data: {"item_id":"a","output_index":1,"delta":"x"}\n\ndata: {"output_index":2,"delta":"y"}\n\n',
        [Deltas(TEXT, "a", 1, 0, ["x"]), Deltas(TEXT, "", 2, 0, ["y"])],
    ),
    "odd parts": (
        b'data: {"item_id":7,"output_index":1,"content_index":"1","delta":"x"}\n\n'
        b'data: {"output_index":1,"content_index":-2,"delta":"y"}\n\n',
        [Deltas(TEXT, "", 1, 0, ["x", "y"])],
    ),
    "no index": (b'data: {"item_id":"a","delta":"x"}\n\n', [Deltas(TEXT, "a", -1, 0, ["x"])]),
}


@pytest.mark.parametrize(("block", "expected"), RUNS.values(), ids=RUNS)
def test_a_run_is_read_into_deltas_of_one_part_each(block: bytes, expected: list[Deltas]) -> None:
    assert split_run(Run(TEXT, block, block.count(b"\n\n"), None)) == expected


@pytest.mark.parametrize(
    "data", [b"{", b"[1]", b'{"delta":1}', b'{"output_index":0}', b'{"delta":"x","output_index":"0"}']
)
def test_a_frame_that_is_no_delta_is_the_upstreams_fault(data: bytes) -> None:
    with pytest.raises(Failure) as caught:
        split_run(Run(TEXT, b"data: " + data + b"\n\n", 1, None))
    assert caught.value.code == "upstream_invalid_response"
