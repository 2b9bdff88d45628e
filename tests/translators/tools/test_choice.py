from __future__ import annotations

from typing import Any

import pytest

from translators.events import Note
from translators.failure import Failure
from translators.tools.choice import convert_choice
from translators.tools.declarations import ToolMap, collect

LONG = "x" * 70
TOOLS: list[dict[str, Any]] = [
    {"type": "function", "name": "run"},
    {"type": "custom", "name": "apply_patch"},
    {"type": "namespace", "name": "mcp__demo", "tools": [{"type": "function", "name": "add"}]},
    {"type": "namespace", "name": "functions", "tools": [{"type": "custom", "name": "exec"}]},
    {"type": "function", "name": LONG},
    {"type": "tool_search", "execution": "client"},
    {"type": "web_search"},
    {"type": "mcp", "server_label": "s"},
    {"type": "file_search"},
]


def tools() -> ToolMap:
    return collect({"tools": TOOLS}, hosted=frozenset({"file_search"}))[0]


def chosen(flat: str) -> dict[str, Any]:
    return {"type": "function", "name": flat}


CONVERTED: list[tuple[Any, Any]] = [
    (None, None),
    ("auto", "auto"),
    ("none", "none"),
    ("required", "required"),
    ({"type": "function", "name": "run"}, chosen("run")),
    ({"type": "custom", "name": "apply_patch"}, chosen("apply_patch")),
    ({"type": "function", "name": "apply_patch"}, chosen("apply_patch")),
    ({"type": "function", "name": "add", "namespace": "mcp__demo"}, chosen("mcp__demo__add")),
    ({"type": "function", "name": "mcp__demo__add"}, chosen("mcp__demo__add")),
    ({"type": "custom", "name": "exec", "namespace": "functions"}, chosen("functions__exec")),
    ({"type": "function", "name": LONG}, chosen(tools().flat(LONG, None))),
    ({"type": "tool_search"}, chosen("tool_search")),
    ({"type": "file_search"}, {"type": "file_search"}),
    (
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "apply_patch"}]},
        {"type": "allowed_tools", "mode": "required", "tools": [chosen("apply_patch")]},
    ),
    ({"type": "allowed_tools", "mode": "auto", "tools": []}, {"type": "allowed_tools", "mode": "auto", "tools": []}),
]


@pytest.mark.parametrize(("choice", "expected"), CONVERTED)
def test_a_choice_names_the_upstreams_function(choice: Any, expected: Any) -> None:
    assert convert_choice(choice, tools()) == (expected, [])


WEB: dict[str, Any] = {"type": "web_search"}


@pytest.mark.parametrize(
    ("choice", "declared", "says"),
    [
        (WEB, TOOLS, "tools.web_search"),
        ({"type": "web_search_preview"}, TOOLS, "tools.web_search"),
        ({"type": "mcp", "server_label": "s"}, TOOLS, "forces 'mcp'"),
        ({"type": "tool_search"}, [{"type": "tool_search"}], "forces 'tool_search'"),
        ({"type": "allowed_tools", "mode": "required", "tools": [WEB]}, TOOLS, "tools.web_search"),
        ("required", [WEB], "tools.web_search"),
    ],
)
def test_a_choice_that_forces_a_hosted_tool_which_nobody_can_run_is_refused_with_the_reason(
    choice: Any, declared: list[Any], says: str
) -> None:
    with pytest.raises(Failure) as caught:
        convert_choice(choice, collect({"tools": declared}, hosted=frozenset())[0])
    assert (caught.value.code, caught.value.status) == ("invalid_request_error", 400)
    assert caught.value.param == "tool_choice"
    assert says in caught.value.message


@pytest.mark.parametrize("declared", [[], [WEB, TOOLS[0]]])
def test_a_call_may_be_required_where_tools_are_left_or_none_was_declared(declared: list[Any]) -> None:
    assert convert_choice("required", collect({"tools": declared}, hosted=frozenset())[0]) == ("required", [])


def test_left_out_tools_are_dropped_from_a_list_of_allowed_ones() -> None:
    listed = [{"type": "web_search"}, {"type": "function", "name": "run"}, {"type": "mcp", "server_label": "s"}]
    left = [Note("hosted_choice_left_out", f"tool_choice.tools[{i}]") for i in (0, 2)]
    choice = {"type": "allowed_tools", "mode": "auto", "tools": listed}
    assert convert_choice(choice, tools()) == ({**choice, "tools": [chosen("run")]}, left)
    assert choice["tools"] is listed


def test_when_nothing_allowed_is_left_no_tool_may_be_called() -> None:
    choice = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "web_search"}]}
    assert convert_choice(choice, tools()) == ("none", [Note("hosted_choice_left_out", "tool_choice.tools[0]")])


@pytest.mark.parametrize(
    "choice",
    [
        "any",
        "",
        7,
        True,
        [],
        {},
        {"name": "run"},
        {"type": 7},
        {"type": "function"},
        {"type": "function", "name": "unknown"},
        {"type": "custom", "name": "unknown"},
        {"type": "function", "name": "add"},
        {"type": "function", "name": "add", "namespace": "other"},
        {"type": "function", "name": "mcp__demo__add", "namespace": "x"},
        {"type": "function", "name": "run", "namespace": 7},
        {"type": "image_generation"},
        {"type": "allowed_tools", "mode": "auto"},
        {"type": "allowed_tools", "mode": "auto", "tools": ["run"]},
        {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "unknown"}]},
    ],
)
def test_a_choice_that_no_declared_tool_answers_is_the_clients_fault(choice: Any) -> None:
    with pytest.raises(Failure) as caught:
        convert_choice(choice, tools())
    assert (caught.value.code, caught.value.param) == ("invalid_request_error", "tool_choice")


def test_a_tool_search_of_the_upstream_is_not_a_function() -> None:
    search = {"type": "tool_search"}
    kept = collect({"tools": [search]}, hosted=frozenset({"tool_search"}))[0]
    assert convert_choice(search, kept) == (search, [])
