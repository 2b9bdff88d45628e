"""Blocks that are no calls as parts of the hub."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes
from translators.events import Note
from translators.messages.hub_parts import part_of

PNG = {"type": "base64", "media_type": "image/jpeg", "data": "AA"}


def words(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": "a"}, [words("a")]),
        ({"type": "image", "source": PNG}, [{"type": "input_image", "image_url": "data:image/jpeg;base64,AA"}]),
        (
            {"type": "image", "source": {"type": "url", "url": "https://h/x"}},
            [{"type": "input_image", "image_url": "https://h/x"}],
        ),
        (
            {"type": "document", "source": {**PNG, "media_type": "application/pdf"}, "title": "a.pdf"},
            [{"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"}],
        ),
        (
            {"type": "document", "source": {"type": "url", "url": "https://h/x"}},
            [{"type": "input_file", "file_url": "https://h/x"}],
        ),
        ({"type": "document", "source": {"type": "text", "data": "d"}, "title": "t"}, [words("t:\nd")]),
        ({"type": "document", "source": {"type": "content", "content": "d"}}, [words("d")]),
        (
            {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "d"}]}},
            [words("d")],
        ),
        (
            {"type": "search_result", "title": "t", "source": "u", "content": [{"type": "text", "text": "c"}]},
            [words("t u\nc")],
        ),
        ({"type": "tool_reference", "tool_name": "f"}, [words("The tool f can be called now.")]),
    ],
)
def test_each_kind_has_its_part(block: dict[str, Any], expected: list[dict[str, Any]]) -> None:
    notes = Notes()
    assert part_of(block, "p", notes) == expected
    assert notes.all == []


@pytest.mark.parametrize(
    ("block", "placeholder"),
    [
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, "[image omitted]"),
        ({"type": "image"}, "[image omitted]"),
        ({"type": "document", "source": {"type": "file", "file_id": "f"}}, "[document omitted]"),
        ({"type": "document"}, "[document omitted]"),
    ],
)
def test_a_source_that_cannot_travel_leaves_a_word(block: dict[str, Any], placeholder: str) -> None:
    notes = Notes()
    assert part_of(block, "p", notes) == [words(placeholder)]
    assert notes.all == [Note("media_left_out", "p")]
