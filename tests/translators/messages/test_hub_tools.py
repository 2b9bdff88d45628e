"""Messages tools and their choice in the form of the hub."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes
from translators.events import Note
from translators.messages.hub_tools import choice_to_hub, search_limit, tools_to_hub

NONE = {"type": "object", "properties": {}}


def test_own_tools_are_functions_and_the_search_is_the_hubs() -> None:
    notes = Notes()
    search = {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a"], "defer_loading": True}
    tools = [
        {"name": "f", "description": "d", "input_schema": {"type": "object"}, "cache_control": {}},
        {"type": "custom", "name": "g", "strict": True},
        search,
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"input_schema": {}},
    ]
    assert tools_to_hub(tools, notes) == [
        {"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}, "strict": False},
        {"type": "function", "name": "g", "parameters": NONE, "strict": True},
        {"type": "web_search", "filters": {"allowed_domains": ["a"]}},
    ]
    assert notes.all == [
        Note("tool_field_left_out", "tools[].cache_control"),
        Note("tool_field_left_out", "tools[2].defer_loading"),
        Note("hosted_tool_left_out", "tools[3]"),
        Note("hosted_tool_left_out", "tools[4]"),
    ]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, {}),
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any"}, {"tool_choice": "required"}),
        ({"type": "none"}, {"tool_choice": "none"}),
        ({"type": "tool", "name": "f"}, {"tool_choice": {"type": "function", "name": "f"}}),
        (
            {"type": "auto", "disable_parallel_tool_use": True},
            {"tool_choice": "auto", "parallel_tool_calls": False},
        ),
    ],
)
def test_the_choice_has_the_hubs_words(choice: dict[str, Any] | None, expected: dict[str, Any]) -> None:
    hub: dict[str, Any] = {}
    choice_to_hub(choice, hub, Notes())
    assert hub == expected


def test_how_often_and_where_not_is_the_search_s_own() -> None:
    notes = Notes()
    search = {"type": "web_search_20260209", "name": "web_search", "blocked_domains": ["b"], "max_uses": 3}
    assert tools_to_hub([search], notes) == [{"type": "web_search", "filters": {"blocked_domains": ["b"]}}]
    assert notes.all == []
    assert search_limit([{"name": "f", "max_uses": 9}, search]) == 3
    assert [search_limit([{**search, "max_uses": given}]) for given in (None, 0, True, "3")] == [None] * 4


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        ([{"type": "web_search"}], {"type": "web_search"}),
        ([{"type": "function", "name": "web_search"}], {"type": "function", "name": "web_search"}),
    ],
)
def test_the_choice_of_the_search_is_that_of_a_tool_which_is_no_function(
    tools: list[dict[str, Any]], expected: dict[str, Any]
) -> None:
    hub: dict[str, Any] = {"tools": tools}
    choice_to_hub({"type": "tool", "name": "web_search"}, hub, Notes())
    assert hub["tool_choice"] == expected


def test_an_unknown_choice_is_noted() -> None:
    notes = Notes()
    choice_to_hub({"type": "some"}, {}, notes)
    assert notes.all == [Note("tool_choice_left_out", "tool_choice")]
