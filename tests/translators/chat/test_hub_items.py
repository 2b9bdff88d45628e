"""Chat messages as hub items."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.hub_items import Items
from translators.chat.parts import Notes
from translators.events import Note
from translators.reasoning import NATIVE


def items(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return Items(Notes()).convert([*messages])


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def test_a_tool_loop_becomes_a_flat_list() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    custom = {"id": "b", "type": "custom", "custom": {"name": "c", "input": "text"}}
    assert items(
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "So:", "reasoning_content": "thought", "tool_calls": [call, custom]},
        {
            "role": "tool",
            "tool_call_id": "a",
            "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}],
        },
        {"role": "tool", "tool_call_id": "b", "content": "done"},
    ) == [
        said("developer", "Be brief."),
        said("user", "hi"),
        {"type": "reasoning", "summary": [], NATIVE: {"text": "thought"}},
        said("assistant", "So:"),
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
        {"type": "custom_tool_call", "call_id": "b", "name": "c", "input": "text"},
        {"type": "function_call_output", "call_id": "a", "output": "1\n2"},
        {"type": "custom_tool_call_output", "call_id": "b", "output": "done"},
    ]


def test_the_deprecated_call_and_its_answer_find_each_other() -> None:
    made = items(
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "out"},
    )
    assert made[0] == {"type": "function_call", "call_id": "call_legacy_0", "name": "f", "arguments": "{}"}
    assert made[1] == {"type": "function_call_output", "call_id": "call_legacy_0", "output": "out"}


def test_outputs_without_ids_answer_the_calls_of_the_last_message_in_their_order() -> None:
    named, nameless = {"id": "a", "function": {"name": "f"}}, {"custom": {"name": "g", "input": "x"}}
    made = items(
        {"role": "assistant", "tool_calls": [{"id": "old", "function": {"name": "f"}}]},
        {"role": "user", "content": "never mind"},
        {"role": "assistant", "tool_calls": [named, nameless, {"id": "c", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "of c"},
        {"role": "tool", "content": "of a"},
        {"role": "tool", "tool_call_id": "", "content": "of g"},
        {"role": "tool", "content": "of none"},
    )
    given = made[3]["call_id"]
    assert [(each["type"], each["call_id"], each["output"]) for each in made if "output" in each] == [
        ("function_call_output", "c", "of c"),
        ("function_call_output", "a", "of a"),
        ("custom_tool_call_output", given, "of g"),
        ("function_call_output", None, "of none"),
    ]


@pytest.mark.requirement("NW8")
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ({"a": 1}, '{"a":1}'),
        ([{"a": 1}, 2], '[{"a":1},2]'),
        (5, "5"),
        (None, ""),
        ({"type": "text", "text": "one"}, "one"),
        (["one", {"type": "text", "text": "two"}], "one\ntwo"),
    ],
)
def test_what_a_tool_gave_reaches_the_model_whatever_its_form(content: Any, shown: str) -> None:
    made = items(
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f"}}]},
        {"role": "tool", "tool_call_id": "a", "content": content},
    )
    assert made[1]["output"] == shown


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"type": "text", "text": "t"}, {"type": "input_text", "text": "t"}),
        (
            {"type": "image_url", "image_url": {"url": "data:x", "detail": "low"}},
            {"type": "input_image", "image_url": "data:x", "detail": "low"},
        ),
        ({"type": "image_url", "image_url": "data:x"}, {"type": "input_image", "image_url": "data:x"}),
        ({"type": "image_url", "image_url": {"file_id": "f"}}, {"type": "input_image", "file_id": "f"}),
        (
            {"type": "input_audio", "input_audio": {"data": "a", "format": "wav"}},
            {"type": "input_audio", "input_audio": {"data": "a", "format": "wav"}},
        ),
        ({"type": "file", "file": {"file_id": "f"}}, {"type": "input_file", "file_id": "f"}),
    ],
)
def test_parts_of_a_user_message(part: dict[str, Any], expected: dict[str, Any]) -> None:
    assert items({"role": "user", "content": [part]}) == [said("user", [expected])]
    assert items({"role": "user", "content": part}) == [said("user", [expected])]


def test_what_cannot_be_converted_is_noted_and_empty_messages_vanish() -> None:
    notes = Notes()
    made = Items(notes).convert(
        [
            {"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low"}}], "name": "n"},
            {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}], "audio": {"id": "x"}},
        ]
    )
    assert made == []
    assert notes.all == [
        Note("message_field_left_out", "messages[].name"),
        Note("content_part_left_out", "messages[0].content[0]"),
        Note("message_field_left_out", "messages[].audio"),
        Note("tool_call_left_out", "messages[1].tool_calls[0]"),
    ]


def test_arguments_that_are_an_object_become_text() -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": {"x": 1}}}
    assert items({"role": "assistant", "tool_calls": [call]})[0]["arguments"] == '{"x":1}'
