"""Numbered hub events to the bytes of a Responses stream."""

from __future__ import annotations

import orjson
import pytest

from support.streams import events_of
from translators.events import PART_FIELD, Deltas, Event, Run
from translators.responses.encode import DONE, ResponsesEncoder

TEXT = "response.output_text.delta"
encode = ResponsesEncoder().encode


def run(*numbers: int, first: int | None, space: str = "") -> Run:
    frames = (f'event: {TEXT}\ndata: {{"type":"{TEXT}","sequence_number":{space}{n},"delta":"w"}}\n\n' for n in numbers)
    return Run(TEXT, "".join(frames).encode(), len(numbers), first)


def test_an_event_is_written_with_its_type_and_number_first() -> None:
    event = Event("vendor.x", {"type": "other", "sequence_number": 99, "a": "é\n\n"})
    assert encode([(7, event)]) == (
        'event: vendor.x\ndata: {"type":"vendor.x","sequence_number":7,"a":"é\\n\\n"}\n\n'.encode()
    )
    assert encode([(0, Event("keepalive", {}))]) == (
        b'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n'
    )


@pytest.mark.parametrize("kind", PART_FIELD)
def test_deltas_become_one_event_each_with_the_fields_of_their_kind(kind: str) -> None:
    field = PART_FIELD[kind]
    events = events_of(encode([(3, Deltas(kind, 'i"d', 2, 1 if field else None, ["a", '"\\\u2028🌅']))]))
    where = {"item_id": 'i"d', "output_index": 2, **({field: 1} if field else {})}
    more = {"logprobs": []} if kind == TEXT else {}
    assert events == [
        {"type": kind, "sequence_number": 3, **where, "delta": "a", **more},
        {"type": kind, "sequence_number": 4, **where, "delta": '"\\\u2028🌅', **more},
    ]


def test_a_run_with_the_right_numbers_leaves_as_the_slice_that_came() -> None:
    right = run(5, 6, 7, first=5)
    assert encode([(5, right)]) == right.block


@pytest.mark.parametrize("space", ["", " "])
@pytest.mark.parametrize("raw", [run(5, 6, 7, first=5), run(1, 1, 900, first=None)])
def test_wrong_numbers_are_spliced_in_the_bytes(raw: Run, space: str) -> None:
    raw = Run(raw.kind, raw.block.replace(b'number":', b'number":' + space.encode()), raw.count, raw.first)
    assert encode([(98, raw)]) == run(98, 99, 100, first=98, space=space).block


def test_text_that_looks_like_a_number_field_is_left_alone() -> None:
    block = run(1, first=1).block.replace(b'"w"', b'"say \\"sequence_number\\":5 please"')
    assert encode([(2, Run(TEXT, block, 1, 1))]) == block.replace(b'number":1', b'number":2')


@pytest.mark.parametrize(
    ("kind", "end"), [("response.completed", DONE), ("response.incomplete", DONE), ("response.failed", b"")]
)
def test_done_follows_every_ending_but_a_failure(kind: str, end: bytes) -> None:
    assert ResponsesEncoder().end(kind) == end


def test_nothing_is_nothing() -> None:
    assert encode([]) == b""


@pytest.mark.requirement("U4")
@pytest.mark.parametrize("kind", ["a\nb", "a\r\ndata: x", "\n"])
def test_a_type_with_a_line_break_gets_no_event_line(kind: str) -> None:
    data = ResponsesEncoder().encode([(3, Event(kind, {"x": 1}))])
    assert data == b'data: {"type":%b,"sequence_number":3,"x":1}\n\n' % orjson.dumps(kind)


@pytest.mark.requirement("U2")
def test_the_text_of_an_error_is_escaped_json() -> None:
    text = 'a "quoted"\n\ndata: [DONE]\r\n\u2028 text'
    data = ResponsesEncoder().encode([(0, Event("response.failed", {"response": {"error": {"message": text}}}))])
    assert data.count(b"\n") == 3
    assert orjson.loads(data.partition(b"data: ")[2])["response"]["error"]["message"] == text


def test_half_a_character_that_the_client_sent_comes_back_escaped() -> None:
    event = Event("response.created", {"response": {"metadata": {"a": "x\ud83d"}}})
    (read,) = events_of(ResponsesEncoder().encode([(0, event)]))
    assert read["response"] == {"metadata": {"a": "x\ud83d"}}
