"""Messages and their blocks as hub items."""

from __future__ import annotations

from typing import Any

import pytest

from translators.chat.parts import Notes
from translators.events import Note
from translators.messages.hub_items import SUMMED_UP, Items, system_text


def items(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return Items(Notes()).convert([*messages])


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_a_tool_loop_becomes_a_flat_list_in_its_order() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
    assert items(
        {"role": "user", "content": [text("a"), text("b")]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "thought", "signature": "sig"},
                {"type": "redacted_thinking", "data": "red"},
                text("So:"),
                {"type": "tool_use", "id": "1", "name": "f", "input": {"x": 1}},
                {"type": "tool_use", "id": "2", "name": "g", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "out"},
                {"type": "tool_result", "tool_use_id": "2", "content": [text("p"), image]},
                text("go on"),
            ],
        },
        {"role": "system", "content": "Later."},
    ) == [
        said("user", [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]),
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "thought"}],
            "encrypted_content": "sig",
        },
        {"type": "reasoning", "summary": [], "encrypted_content": "red"},
        said("assistant", "So:"),
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"x":1}'},
        {"type": "function_call", "call_id": "2", "name": "g", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "out"},
        {
            "type": "function_call_output",
            "call_id": "2",
            "output": [
                {"type": "input_text", "text": "p"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA"},
            ],
        },
        said("user", "go on"),
        said("system", "Later."),
    ]


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("boom", "Error: boom"),
        ("<tool_use_error>no such file</tool_use_error>", "<tool_use_error>no such file</tool_use_error>"),
        ("", "Error"),
        ([text("boom")], "Error: boom"),
        (text("boom"), "Error: boom"),
        (None, "Error"),
    ],
)
def test_a_failed_result_says_so(content: Any, output: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": content, "is_error": True}
    assert items({"role": "user", "content": [result]})[0]["output"] == output


@pytest.mark.requirement("NW7")
def test_a_result_may_be_one_block_without_a_list_around_it() -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": text("found")}
    assert items({"role": "user", "content": [result]})[0]["output"] == "found"


@pytest.mark.requirement("NW8")
@pytest.mark.parametrize(
    ("data", "shown"),
    [({"a": 1}, '{"a":1}'), ([{"a": 1}, 2], '[{"a":1},2]'), (5, "5"), ([text("one"), "two"], "one\ntwo"), (["a"], "a")],
)
def test_a_result_that_is_a_value_is_read_as_json_and_a_list_of_texts_as_texts(data: Any, shown: str) -> None:
    result = {"type": "tool_result", "tool_use_id": "1", "content": data}
    assert items({"role": "user", "content": [result]})[0]["output"] == shown


def test_empty_texts_make_no_message_and_unknown_blocks_are_noted() -> None:
    notes = Notes()
    made = Items(notes).convert(
        [
            {"role": "user", "content": [text(""), {"type": "server_tool_use"}, {**text("x"), "cache_control": {}}]},
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "", "signature": ""}], "novel": 1},
        ]
    )
    assert made == [said("user", "x")]
    assert notes.all == [
        Note("content_part_left_out", "messages[0].content[1]"),
        Note("cache_control_left_out", "content[].cache_control"),
        Note("message_field_left_out", "messages[].novel"),
    ]


def test_the_system_text_comes_without_numbers_for_accounting() -> None:
    blocks = [text("x-anthropic-billing-header: cc_version=2; cch=abc;"), text("You are."), text(""), text("Be.")]
    assert system_text(blocks, Notes()) == "You are.\n\nBe."
    assert system_text("You are.", Notes()) == "You are."
    assert system_text(None, Notes()) == ""


def test_an_earlier_search_is_a_call_and_its_output_and_one_without_a_result_is_left_out() -> None:
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    content = [text("Well."), use, {**use, "id": "srvtoolu_2"}, result, {**use, "name": "web_fetch"}, text("So.")]
    notes = Notes()
    made = Items(notes).convert([{"role": "assistant", "content": content}])
    assert [item["type"] for item in made] == ["message", "function_call", "function_call_output", "message"]
    assert (made[1]["call_id"], made[2]["call_id"]) == ("srvtoolu_1", "srvtoolu_1")
    assert notes.all == [
        Note("content_part_left_out", "messages[0].content[4]"),
        Note("search_without_result_left_out", "messages[0].content"),
    ]


def test_a_result_without_its_search_is_left_out() -> None:
    notes = Notes()
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    assert Items(notes).convert([{"role": "assistant", "content": [result]}]) == []
    assert notes.all == [Note("content_part_left_out", "messages[0].content[0]")]


@pytest.mark.parametrize(
    ("summary", "expected", "noted"),
    [
        ("They like blue.", [SUMMED_UP + "They like blue.", "So blue.", "go on"], "compacted_history_left_out"),
        (None, ["hi", "So blue.", "go on"], "content_part_left_out"),
    ],
)
def test_a_summary_of_anthropics_stands_for_what_it_sums_up(
    summary: str | None, expected: list[str], noted: str
) -> None:
    notes = Notes()
    blocks = [{"type": "compaction", "content": summary}, {"type": "text", "text": "So blue."}]
    history = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": blocks},
        {"role": "user", "content": "go on"},
    ]
    items = Items(notes).convert(history)
    assert [item["content"] for item in items] == expected
    assert [note.rule for note in notes.all] == [noted]
