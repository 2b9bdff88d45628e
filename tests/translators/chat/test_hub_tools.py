"""Chat tools and their choice in the form of the hub."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.hub_tools import choice_to_hub, tools_to_hub
from translators.chat.parts import Notes
from translators.events import Note

FUNCTION = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
NONE = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        (
            FUNCTION,
            {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False},
        ),
        (
            {"function": {"name": "f", "strict": True}},
            {"type": "function", "name": "f", "parameters": NONE, "strict": True},
        ),
        ({"type": "custom", "custom": {"name": "c"}}, {"type": "custom", "name": "c"}),
        (
            {
                "type": "custom",
                "custom": {
                    "name": "c",
                    "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "x"}},
                },
            },
            {"type": "custom", "name": "c", "format": {"type": "grammar", "syntax": "lark", "definition": "x"}},
        ),
    ],
)
def test_tools_are_flat_in_the_hub(tool: dict[str, Any], expected: dict[str, Any]) -> None:
    assert tools_to_hub({"tools": [tool]}, Notes()) == [expected]


def test_what_is_no_tool_is_noted() -> None:
    notes = Notes()
    tools = [{"type": "function"}, {"type": "other", "other": {"name": "x"}}]
    assert tools_to_hub({"tools": tools, "functions": [{}]}, notes) == []
    assert notes.all == [Note("tool_left_out", path) for path in ("tools[0]", "tools[1]", "functions[0]")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, None),
        ({"tool_choice": "required"}, "required"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, {"type": "function", "name": "f"}),
        ({"tool_choice": {"type": "custom", "custom": {"name": "c"}}}, {"type": "custom", "name": "c"}),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [FUNCTION]}}},
            {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]},
        ),
        ({"function_call": "none"}, "none"),
        ({"function_call": {"name": "f"}}, {"type": "function", "name": "f"}),
    ],
)
def test_the_choice_is_flat_too(body: dict[str, Any], expected: Any) -> None:
    notes = Notes()
    assert choice_to_hub(body, notes) == expected
    assert notes.all == []


@pytest.mark.parametrize("choice", ["sometimes", {"type": "function"}, {"type": "allowed_tools", "allowed_tools": {}}])
def test_a_choice_that_names_nothing_is_noted(choice: Any) -> None:
    notes = Notes()
    assert choice_to_hub({"tool_choice": choice}, notes) is None
    assert notes.all == [Note("tool_choice_left_out", "tool_choice")]


def test_the_search_options_are_a_tool_of_the_hub_behind_the_others() -> None:
    notes = Notes()
    place = {"country": "DE", "city": "Kiel"}
    location = {"type": "approximate", "approximate": place}
    options = {"search_context_size": "high", "user_location": location, "novel": 1}
    *_, search = tools_to_hub({"tools": [FUNCTION], "web_search_options": options}, notes)
    assert search == {
        "type": "web_search",
        "search_context_size": "high",
        "user_location": {"type": "approximate", **place},
    }
    assert notes.all == [Note("tool_field_left_out", "web_search_options.novel")]
    assert tools_to_hub({"web_search_options": {"user_location": None}}, Notes()) == [{"type": "web_search"}]
    assert tools_to_hub({"web_search_options": None}, Notes()) == []
