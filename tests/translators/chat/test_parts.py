"""Content parts of the hub as Chat parts and text."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes, Parts, tool_arguments

URL = "https://host/a.png"


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("content", "sent", "rules"),
    [
        ("hi", "hi", []),
        ("a\ud83d", "a\ufffd", []),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}, "c"], "a\n\nb\n\nc", []),
        ([{"type": "refusal", "refusal": "no"}], "no", []),
        ([{"type": "input_text", "text": None}], "", []),
        (
            [{"type": "input_text", "text": "look"}, {"type": "input_image", "image_url": URL, "detail": "high"}],
            [text("look"), {"type": "image_url", "image_url": {"url": URL, "detail": "high"}}],
            [],
        ),
        (
            [{"type": "input_image", "image_url": URL, "detail": "original"}],
            [{"type": "image_url", "image_url": {"url": URL, "detail": "high"}}],
            ["image_detail_lowered"],
        ),
        (
            [{"type": "input_image", "image_url": URL, "detail": 3}],
            [{"type": "image_url", "image_url": {"url": URL}}],
            ["image_detail_lowered"],
        ),
        (
            [{"type": "input_text", "text": ""}, {"type": "input_image", "image_url": {"url": URL}}],
            [{"type": "image_url", "image_url": {"url": URL}}],
            [],
        ),
        ([{"type": "input_image", "file_id": "file-1"}], "[image omitted]", ["media_left_out"]),
        (
            [{"type": "input_file", "filename": "a.pdf", "file_data": "data:x"}],
            [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:x"}}],
            [],
        ),
        ([{"type": "input_file", "file_id": "file-1"}], [{"type": "file", "file": {"file_id": "file-1"}}], []),
        ([{"type": "input_file", "file_url": URL}], "[file omitted]", ["media_left_out"]),
        (
            [{"type": "input_audio", "data": "AAAA", "format": "wav"}],
            [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}],
            [],
        ),
        ([{"type": "input_audio"}], "[audio omitted]", ["media_left_out"]),
        ([{"type": "hologram"}, 3], "", ["content_part_left_out", "content_part_left_out"]),
        ([{"type": "output_text", "text": "a", "annotations": []}] * 2, "a\n\na", ["part_field_left_out"]),
        (None, "", []),
    ],
)
def test_user_content_is_a_string_unless_it_holds_media(content: Any, sent: Any, rules: list[str]) -> None:
    notes = Notes()
    assert Parts(notes).user_content(content, "input[0].content") == sent
    assert [note.rule for note in notes.all] == rules


@pytest.mark.parametrize(
    "part",
    [
        {"type": "input_image", "image_url": URL},
        {"type": "input_file", "file_id": "f"},
        {"type": "input_audio", "data": "AAAA", "format": "wav"},
    ],
)
def test_media_where_only_text_can_stand_leaves_a_placeholder_and_a_note(part: dict[str, Any]) -> None:
    notes = Notes()
    said = Parts(notes).text([{"type": "input_text", "text": "a"}, part], "p", "\n\n")
    assert said == f"a\n\n[{part['type'].removeprefix('input_')} omitted]"
    assert [(note.rule, note.path) for note in notes.all] == [("media_left_out", "p")]


@pytest.mark.parametrize(
    ("output", "expected", "rules"),
    [
        ("ok", "ok", []),
        ("", "", []),
        (None, "", []),
        ({"a": "x\ud83d"}, '{"a":"x\ufffd"}', ["tool_output_became_text"]),
        (3, "3", ["tool_output_became_text"]),
        ([{"a": 1}, "x"], '[{"a":1},"x"]', ["tool_output_became_text"]),
        ([{"type": "output_text"}, 3], '[{"type":"output_text"},3]', ["tool_output_became_text"]),
    ],
)
def test_tool_output_becomes_text(output: Any, expected: str, rules: list[str]) -> None:
    notes = Notes()
    assert Parts(notes).output(output, "p") == (expected, [])
    assert [note.rule for note in notes.all] == rules


@pytest.mark.parametrize(
    ("arguments", "sent", "kept"),
    [
        ('{"a": 1}', '{"a": 1}', True),
        ('{"a": "\\ud83d"}', '{"a": "\\ud83d"}', True),
        ('{"a": "é"}', '{"a": "é"}', True),
        ('{"a": "\ud83d"}', '{"a": "\ufffd"}', False),
        ({"a": 1}, '{"a":1}', True),
        ("", "{}", False),
        ("[]", "{}", False),
        ('{"a":', "{}", False),
        (None, "{}", False),
    ],
)
def test_arguments_in_a_history_are_an_object_string(arguments: Any, sent: str, kept: bool) -> None:
    assert tool_arguments(arguments) == (sent, kept)


def test_a_repeated_note_is_kept_once() -> None:
    notes = Notes()
    for _ in range(2):
        notes.once("rule", "path")
        notes.add("other", "path")
    assert [note.rule for note in notes.all] == ["rule", "other", "other"]
