"""Parts of the hub as content blocks."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes
from translators.messages.parts import Blocks


def blocks(*parts: Any) -> tuple[list[dict[str, Any]], list[str]]:
    notes = Notes()
    return Blocks(notes).of([*parts], "p"), [note.rule for note in notes.all]


def source(**fields: str) -> dict[str, str]:
    return fields


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "input_text", "text": "a"}, {"type": "text", "text": "a"}),
        ({"type": "refusal", "refusal": "no"}, {"type": "text", "text": "no"}),
        ("a", {"type": "text", "text": "a"}),
        (
            {"type": "input_image", "image_url": "data:image/JPEG;base64,AA", "detail": "low"},
            {"type": "image", "source": source(type="base64", media_type="image/jpeg", data="AA")},
        ),
        (
            {"type": "input_image", "image_url": "data:image/jpg;base64,AA"},
            {"type": "image", "source": source(type="base64", media_type="image/jpeg", data="AA")},
        ),
        (
            {"type": "input_image", "image_url": "data:image/png;base64,/9j/4AAQ"},
            {"type": "image", "source": source(type="base64", media_type="image/jpeg", data="/9j/4AAQ")},
        ),
        (
            {"type": "input_image", "image_url": {"url": "https://h/x"}},
            {"type": "image", "source": source(type="url", url="https://h/x")},
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
            {
                "type": "document",
                "source": source(type="base64", media_type="application/pdf", data="AA"),
                "title": "a.pdf",
            },
        ),
        (
            {"type": "input_file", "file_data": "JVBERi0xLjQK"},
            {"type": "document", "source": source(type="base64", media_type="application/pdf", data="JVBERi0xLjQK")},
        ),
        (
            {"type": "input_file", "file_data": "data:text/markdown;base64,aGk="},
            {"type": "document", "source": source(type="text", media_type="text/plain", data="hi")},
        ),
        (
            {"type": "input_file", "file_url": "https://h/a.pdf"},
            {"type": "document", "source": source(type="url", url="https://h/a.pdf")},
        ),
    ],
)
def test_each_kind_has_its_block(part: Any, expected: dict[str, Any]) -> None:
    assert blocks(part) == ([expected], [])


@pytest.mark.parametrize(
    ("part", "word"),
    [
        ({"type": "input_image", "file_id": "f"}, "[image omitted]"),
        ({"type": "input_image", "image_url": "file:///etc/passwd"}, "[image omitted]"),
        ({"type": "input_image", "image_url": "data:image/svg+xml;base64,PHN2Zz4="}, "[image omitted]"),
        ({"type": "input_file", "file_id": "f"}, "[file omitted]"),
        ({"type": "input_file", "file_data": "data:application/zip;base64,AA"}, "[file omitted]"),
        ({"type": "input_file", "file_data": "data:text/plain;base64,/w=="}, "[file omitted]"),
        ({"type": "input_audio", "input_audio": {"data": "A"}}, "[audio omitted]"),
    ],
)
def test_what_cannot_travel_leaves_a_word(part: Any, word: str) -> None:
    assert blocks(part) == ([{"type": "text", "text": word}], ["media_left_out"])


def test_empty_texts_vanish_and_unknown_parts_and_fields_are_noted() -> None:
    made = blocks({"type": "input_text", "text": ""}, {"type": "novel"}, {"type": "input_text", "text": "a", "x": 1})
    assert made == ([{"type": "text", "text": "a"}], ["content_part_left_out", "part_field_left_out"])
    assert Blocks(Notes()).of("", "p") == []
