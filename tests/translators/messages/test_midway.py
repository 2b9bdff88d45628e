"""What system messages within a Messages conversation change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from translators.messages.to_hub import to_hub

USER = {"role": "user", "content": "hi"}
ANSWER = {"role": "assistant", "content": "ho"}
SET = {"type": "mcp_toolset_reference", "server_name": "s"}


def tool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "input_schema": {"type": "object"}, **fields}


def reference(name: Any) -> dict[str, Any]:
    return {"type": "tool_reference", "name": name}


def defined(definition: Any) -> dict[str, Any]:
    return {"type": "tool_definition", "definition": definition}


def add(what: Any) -> dict[str, Any]:
    return {"type": "tool_addition", "tool": what}


def remove(what: Any) -> dict[str, Any]:
    return {"type": "tool_removal", "tool": what}


def system(*content: Any, **fields: Any) -> dict[str, Any]:
    return {"role": "system", "content": list(content), **fields}


def compacted(*changes: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "compaction", "content": "so far", "tool_changes": changes[0]}]}


@pytest.mark.parametrize(
    ("messages", "offered"),
    [
        ([system(add(defined(tool("late"))))], ["a", "b", "late"]),
        ([system(remove(reference("a")))], ["b"]),
        ([system(remove(reference("a"))), ANSWER, USER, system(add(reference("a")))], ["a", "b"]),
        ([system(add(defined(tool("late")))), ANSWER, USER, system(remove(reference("late")))], ["a", "b"]),
        ([system(remove(reference("a"))), ANSWER, USER, system(add(defined(tool("a"))))], ["a", "b"]),
        ([system(remove(reference("a")), remove(reference("b")))], []),
        ([system(add(defined(tool("late"))), clear_at="next_user_message"), ANSWER, USER], ["a", "b", "late"]),
        ([compacted([remove(reference("a")), add(defined(tool("late")))])], ["b", "late"]),
        ([compacted("none"), {"role": "user", "content": [add(defined(tool("no")))]}], ["a", "b"]),
    ],
)
def test_a_tool_is_offered_from_its_addition_to_its_removal(messages: list[Any], offered: list[str]) -> None:
    body = {"model": "m", "messages": [USER, *messages], "tools": [tool("a"), tool("b", defer_loading=True)]}
    before = copy.deepcopy(body)
    hub, notes = to_hub(body)
    assert [each["name"] for each in hub.get("tools", [])] == offered
    assert "content_part_left_out" not in {note.rule for note in notes if note.path.startswith("messages[1]")}
    assert body == before


def test_a_tool_that_was_defined_again_is_offered_as_it_was_defined_last() -> None:
    late = defined(tool("a", description="newer"))
    hub, _ = to_hub({"model": "m", "messages": [USER, system(add(late))], "tools": [tool("a", description="older")]})
    assert [each["description"] for each in hub["tools"]] == ["newer"]


@pytest.mark.parametrize("what", [SET, None, reference(None), defined({"type": "mcp_toolset"}), defined(None), "a", {}])
@pytest.mark.parametrize("change", [add, remove])
def test_what_names_no_tool_of_the_clients_is_noted(what: Any, change: Any) -> None:
    hub, notes = to_hub({"model": "m", "messages": [USER, system(change(what))], "tools": [tool("a")]})
    assert [each["name"] for each in hub["tools"]] == ["a"]
    assert [(note.rule, note.path) for note in notes] == [("content_part_left_out", "messages[1].content[0]")]


@pytest.mark.parametrize(
    ("message", "later", "said"),
    [
        (system({"type": "text", "text": "now"}, clear_at="next_user_message"), [], ["now"]),
        (system({"type": "text", "text": "now"}, clear_at="next_user_message"), [ANSWER, USER], []),
        ({"role": "system", "content": "now", "clear_at": "next_user_message"}, [ANSWER, USER], []),
        (system({"type": "text", "text": "now"}, clear_at="never"), [ANSWER, USER], ["now"]),
        (system(add(defined(tool("late"))), {"type": "text", "text": "now"}), [ANSWER, USER], ["now"]),
    ],
)
def test_a_system_message_is_shown_as_long_as_it_says(message: Any, later: list[Any], said: list[str]) -> None:
    hub, notes = to_hub({"model": "m", "messages": [USER, message, *later]})
    assert [item["content"] for item in hub["input"] if item["role"] == "system"] == said
    assert notes == []
