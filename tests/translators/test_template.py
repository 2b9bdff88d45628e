"""Template: blocks of one repeated frame pass without being parsed, and nothing else does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.events import Json
from translators.template import Template

ALL = 1 << 20
FIELD = re.compile(rb'"content": ?(?=")')


def content(chunk: Json) -> Any:
    return chunk["choices"][0]["delta"].get("content")


def frame(text: str | bytes, **more: Any) -> bytes:
    """A chunk; a text in bytes stands in it as it is."""
    body = {"id": "c", "choices": [{"index": 0, "delta": {"content": "~"}, "finish_reason": None}], **more}
    string = json.dumps(text)[1:-1].encode() if isinstance(text, str) else text
    return b"data: " + json.dumps(body).encode().replace(b"~", string) + b"\n\n"


def learned(first: bytes = frame("a"), **options: Any) -> Template:
    template = Template(FIELD, content, **options)
    assert template.learn(first)
    return template


@given(st.lists(st.text(), min_size=1))
def test_frames_that_differ_in_the_text_alone_pass_as_they_are(texts: list[str]) -> None:
    block = b"".join(map(frame, texts))
    assert learned().take(block, 0, ALL) == (block, len(block))


def test_only_the_frames_of_the_kind_are_taken() -> None:
    block, other = frame("b") + frame("c"), frame("d", usage={"total_tokens": 1})
    assert learned().take(block + other, 0, ALL) == (block, len(block))
    assert learned().take(other + block, 0, ALL) == (b"", 0)
    assert learned().take(other + block, len(other), ALL) == (block, len(other + block))


@given(st.lists(st.text(max_size=8), min_size=1, max_size=9), st.integers(0, 2000))
def test_a_window_ends_between_frames_and_has_one_at_least(texts: list[str], window: int) -> None:
    frames = list(map(frame, texts))
    block, template = b"".join(frames), learned()
    taken, position = b"", 0
    while position < len(block):
        raw, after = template.take(block, position, window)
        assert raw and after - position <= max(window + len(frame("")), len(frame(texts[0])), *map(len, frames))
        taken, position = taken + raw, after
    assert taken == block


def test_what_stays_the_same_is_changed_on_its_way_out_and_the_text_is_not() -> None:
    template = learned(change=lambda raw: raw.replace(b'"id": "c"', b'"id": "mine"'))
    text = 'say "id": "c"'
    block = frame(text) + frame("b")
    assert template.take(block, 0, ALL)[0] == frame(text, id="mine") + frame("b", id="mine")


BROKEN = {
    "a bare quote": [b'x"y'],
    "another member": [b'x","usage":"y'],
    "a backslash that takes the closing quote": [b"x\\"],
    "two faults that make up for each other": [b"x\\", b'y","z'],
    "no escape": [b"\\x"],
    "a bare line end": [b"x\ny"],
    "a control character": [b"x\x01y"],
    "no UTF-8": [b"x\xff"],
    "half a character": [b"x\\ud83d"],
}


@pytest.mark.parametrize("texts", BROKEN.values(), ids=BROKEN)
def test_a_text_that_is_no_json_string_is_not_taken(texts: list[bytes]) -> None:
    block = b"".join(map(frame, [b"a", *texts, b"b"]))
    assert learned().take(block, 0, ALL) == (b"", 0)


REFUSED = {
    "no such member": b'data: {"choices": [{"delta": {"role": "assistant"}}]}\n\n',
    "no string": b'data: {"choices": [{"delta": {"content": null}}]}\n\n',
    "a member of another place": b'data: {"content": "x", "choices": [{"delta": {}}]}\n\n',
    "no JSON": b'data: {"choices": [{"delta": {"content": "x"}}\n\n',
    "not the shape": b'data: {"choices": [], "content": "x"}\n\n',
    "several lines of data": b'data: {"choices": [{"delta":\ndata: {"content": "x"}}]}\n\n',
    "a line that is no data": b'data: {"choices": [{"delta":\n {"content": "x"}}]}\n\n',
    "another field behind it": b'data: {"choices": [{"delta": {"content": "x"}}]}\nid: 1\n\n',
    "no data": b'event: x\n: {"content": "x"}\n\n',
}


@pytest.mark.parametrize("odd", REFUSED.values(), ids=REFUSED)
def test_a_frame_that_cannot_be_the_one_that_repeats_is_not_learned(odd: bytes) -> None:
    template = learned()
    assert not template.learn(odd)
    assert template.take(odd, 0, ALL) == template.take(frame("a"), 0, ALL) == (b"", 0)


def test_without_a_lesson_nothing_is_taken() -> None:
    assert Template(FIELD, content).take(frame("a"), 0, ALL) == (b"", 0)
