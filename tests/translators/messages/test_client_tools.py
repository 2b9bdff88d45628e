"""Tools that Anthropic defines and the client runs, for models that do not know them."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes
from translators.messages.client_tools import client_tool
from translators.messages.hub_tools import tools_to_hub


@pytest.mark.parametrize(
    ("kind", "name", "required", "some"),
    [
        ("bash_20250124", "bash", [], {"command", "restart"}),
        ("text_editor_20250728", "str_replace_based_edit_tool", ["command", "path"], {"view_range", "insert_text"}),
        ("text_editor_20250124", "str_replace_editor", ["command", "path"], {"new_str", "insert_line"}),
        ("memory_20250818", "memory", ["command"], {"path", "old_path", "insert_text"}),
        ("computer_20251124", "computer", ["action"], {"coordinate", "scroll_amount", "region"}),
    ],
)
def test_each_is_a_function_of_its_own_name(kind: str, name: str, required: list[str], some: set[str]) -> None:
    notes = Notes()
    (made,) = tools_to_hub([{"type": kind, "name": name}], notes)
    assert (made["type"], made["name"], made["parameters"]["required"], notes.all) == ("function", name, required, [])
    assert made["parameters"]["properties"].keys() >= some
    assert made["description"]


@pytest.mark.parametrize(
    ("version", "undoes", "inserts"),
    [("20241022", True, False), ("20250124", True, False), ("20250429", False, False), ("20250728", False, True)],
)
def test_versions_of_the_editor_differ(version: str, undoes: bool, inserts: bool) -> None:
    made = client_tool({"type": f"text_editor_{version}", "name": "e"})
    assert made is not None
    properties = made["parameters"]["properties"]
    assert ("undo_edit" in properties["command"]["enum"], "insert_text" in properties) == (undoes, inserts)


def test_the_model_is_told_the_size_of_the_screen() -> None:
    size = {"display_width_px": 1280, "display_height_px": 800}
    made = client_tool({"type": "computer_20250124", "name": "computer", **size})
    assert made is not None and "1280 x 800" in made["description"]


@pytest.mark.parametrize(
    "tool", [{"type": "code_execution_20250825", "name": "x"}, {"type": "bash_20250124"}, {"type": 1, "name": "x"}, {}]
)
def test_anything_else_is_none_of_them(tool: dict[str, Any]) -> None:
    assert client_tool(tool) is None
