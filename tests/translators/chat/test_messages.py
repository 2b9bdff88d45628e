"""Hub items as Chat messages: turns, results behind their calls, reasoning, system messages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from translators.chat.messages import MessageBuilder
from translators.chat.parts import Notes
from translators.dialects.base import Dialect
from translators.reasoning import NATIVE

Item = dict[str, Any]
PNG = "data:image/png;base64,AAAA"
IMAGE = {"type": "input_image", "image_url": PNG}
SENT_IMAGE = {"type": "image_url", "image_url": {"url": PNG}}


def said(role: str, content: Any) -> Item:
    return {"type": "message", "role": role, "content": content}


def call(identity: str, arguments: Any = "{}") -> Item:
    return {"type": "function_call", "call_id": identity, "name": "f", "arguments": arguments}


def out(identity: str, value: Any = "ok") -> Item:
    return {"type": "function_call_output", "call_id": identity, "output": value}


def thought(text: str, **more: Any) -> Item:
    return {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}], **more}


def asked(*ids: str, content: str = "", reasoning: str | None = None, arguments: str = "{}") -> Item:
    entries = [{"id": each, "type": "function", "function": {"name": "f", "arguments": arguments}} for each in ids]
    extra = {"reasoning_content": reasoning} if reasoning else {}
    return {"role": "assistant", "content": content, **extra, "tool_calls": entries}


def result(identity: str, content: Any = "ok") -> Item:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def system(text: str) -> Item:
    return {"role": "system", "content": text}


def user(content: Any) -> Item:
    return {"role": "user", "content": content}


def assistant(text: str, **more: Any) -> Item:
    return {"role": "assistant", "content": text, **more}


USER = said("user", "hi")
CASES: dict[str, tuple[list[Any], list[Item], list[tuple[str, str]]]] = {
    "leading developer and system messages merge": (
        [said("developer", "a"), said("system", [{"type": "input_text", "text": "b"}]), USER],
        [system("a\n\nb"), user("hi")],
        [],
    ),
    "later ones stay in place as system": (
        [said("developer", "a"), USER, said("developer", "b"), said("user", "go")],
        [system("a"), user("hi"), system("b"), user("go")],
        [],
    ),
    "parallel calls are one message, results in the order of the calls": (
        [USER, call("a"), call("b"), out("b", "B"), out("a", "A")],
        [user("hi"), asked("a", "b"), result("a", "A"), result("b", "B")],
        [],
    ),
    "calls one after the other are two": (
        [call("a"), out("a"), call("b"), out("b")],
        [asked("a"), result("a"), asked("b"), result("b")],
        [],
    ),
    "text, reasoning and calls of a turn are one message": (
        [thought("plan"), said("assistant", "Part 1."), call("a"), out("a")],
        [asked("a", content="Part 1.", reasoning="plan"), result("a")],
        [],
    ),
    "reasoning between calls stays in their message": (
        [thought("one"), call("a"), thought("two"), call("b"), out("a"), out("b")],
        [asked("a", "b", reasoning="one\n\ntwo"), result("a"), result("b")],
        [],
    ),
    "text behind a call begins another message": (
        [call("a"), said("assistant", "and"), call("b"), out("a"), out("b")],
        [asked("a"), result("a"), asked("b", content="and"), result("b")],
        [],
    ),
    "two texts are two messages": (
        [said("assistant", "a"), said("assistant", "b"), USER],
        [assistant("a"), assistant("b"), user("hi")],
        [],
    ),
    "what stands between a call and its output moves behind it": (
        [call("a"), said("developer", "note"), said("user", "wait"), out("a")],
        [asked("a"), result("a"), system("note"), user("wait")],
        [],
    ),
    "reasoning between a call and its output goes to the next answer": (
        [call("a"), thought("next"), out("a"), said("assistant", "so")],
        [asked("a"), result("a"), assistant("so", reasoning_content="next")],
        [],
    ),
    "reasoning that no answer follows": (
        [thought("lost"), USER, thought("last")],
        [user("hi")],
        [("reasoning_without_message_left_out", "input[0]"), ("reasoning_without_message_left_out", "input[2]")],
    ),
    "encrypted reasoning of another provider": (
        [{"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, said("assistant", "a")],
        [assistant("a")],
        [("foreign_reasoning_left_out", "input[0].encrypted_content")],
    ),
    "reasoning text is preferred to its summary": (
        [thought("short", content=[{"type": "reasoning_text", "text": "long"}]), said("assistant", "a")],
        [assistant("a", reasoning_content="long")],
        [("reasoning_summary_left_out", "input[0].summary")],
    ),
    "an empty answer": (
        [said("assistant", []), said("assistant", ""), said("user", ""), said("developer", None)],
        [],
        [
            ("empty_assistant_left_out", "input[0]"),
            ("empty_assistant_left_out", "input[1]"),
            ("empty_message_left_out", "input[2]"),
            ("empty_message_left_out", "input[3]"),
        ],
    ),
    "an empty output": ([call("a"), out("a", " \n")], [asked("a"), result("a", "(no output)")], []),
    "a missing output": (
        [call("a"), USER],
        [asked("a"), result("a", "(no output)"), user("hi")],
        [("missing_tool_output_filled", "input[0]")],
    ),
    "output parts are joined": (
        [call("a"), out("a", [{"type": "input_text", "text": "x"}, {"type": "input_text", "text": "y"}])],
        [asked("a"), result("a", "x\ny")],
        [],
    ),
    "an orphan output becomes user text": (
        [USER, out("z", "lost"), {"type": "function_call_output", "output": [IMAGE]}],
        [
            user("hi"),
            user("Result of tool call z:\nlost"),
            user([{"type": "text", "text": "Result of tool call:\n(no output)"}, SENT_IMAGE]),
        ],
        [("orphan_tool_output_became_text", "input[1]"), ("orphan_tool_output_became_text", "input[2]")],
    ),
    "an output before its call is an orphan": (
        [out("a", "early"), call("a"), out("a")],
        [user("Result of tool call a:\nearly"), asked("a"), result("a")],
        [("orphan_tool_output_became_text", "input[0]")],
    ),
    "ids that repeat over turns": (
        [call("a"), out("a", "1"), call("a"), out("a", "2"), out("a", "3")],
        [asked("a"), result("a", "1"), asked("a"), result("a", "2"), user("Result of tool call a:\n3")],
        [("orphan_tool_output_became_text", "input[4]")],
    ),
    "images of results follow the whole block": (
        [call("a"), call("b"), out("a", [{"type": "input_text", "text": "shot"}, IMAGE]), out("b", [IMAGE])],
        [
            asked("a", "b"),
            result("a", "shot"),
            result("b", "(the attachments are in the next message)"),
            user(
                [
                    {"type": "text", "text": "Attachments of the result of tool call a:"},
                    SENT_IMAGE,
                    {"type": "text", "text": "Attachments of the result of tool call b:"},
                    SENT_IMAGE,
                ]
            ),
        ],
        [],
    ),
    "arguments that are no object": (
        [call("a", '{"a":'), out("a"), call("b", "[1]"), out("b")],
        [asked("a"), result("a"), asked("b"), result("b")],
        [("tool_arguments_replaced", "input[0].arguments"), ("tool_arguments_replaced", "input[2].arguments")],
    ),
    "good arguments stay byte for byte": (
        [call("a", '{ "b": 1.0,\n"a":2}'), out("a")],
        [asked("a", arguments='{ "b": 1.0,\n"a":2}'), result("a")],
        [],
    ),
    "unknown items": (
        [{"type": "compaction", "encrypted_content": "x"}, said("developer", "a"), {"id": "ref"}, "text", USER, None],
        [system("a"), user("hi")],
        [("item_left_out", f"input[{n}]") for n in (0, 2, 3, 5)],
    ),
    "an item without a type but with a role": ([{"role": "user", "content": "hi"}], [user("hi")], []),
    "an unknown role": ([said("critic", "hm")], [user("hm")], [("role_became_user", "input[0]")]),
    "item fields without a place are noted once": (
        [{**said("user", "a"), "id": "m1", "phase": "x"}, {**said("user", "b"), "status": "completed", "phase": "y"}],
        [user("a"), user("b")],
        [("item_field_left_out", "input[].phase")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_items_become_these_messages(name: str) -> None:
    items, expected, expected_notes = CASES[name]
    notes = Notes()
    assert MessageBuilder(Dialect(), notes).build(None, items) == expected
    assert [(note.rule, note.path) for note in notes.all] == expected_notes


@pytest.mark.parametrize(
    ("instructions", "first"),
    [
        ("base", "base\n\nrules"),
        ([said("developer", "base"), "more"], "base\n\nmore\n\nrules"),
        ("", "rules"),
        (None, "rules"),
    ],
)
def test_instructions_come_first_in_the_one_system_message(instructions: Any, first: str) -> None:
    items = [said("developer", "rules"), USER]
    assert MessageBuilder(Dialect(), Notes()).build(instructions, items) == [system(first), user("hi")]


def test_input_may_be_a_string_or_missing() -> None:
    assert MessageBuilder(Dialect(), Notes()).build(None, "hi") == [user("hi")]
    assert MessageBuilder(Dialect(), Notes()).build("base", None) == [system("base")]


def test_images_stay_in_the_result_where_the_dialect_takes_them() -> None:
    items = [call("a"), out("a", [{"type": "input_text", "text": "shot"}, IMAGE])]
    assert MessageBuilder(Dialect(images_in_tool_results=True), Notes()).build(None, items) == [
        asked("a"),
        result("a", [{"type": "text", "text": "shot"}, SENT_IMAGE]),
    ]


def test_a_later_system_message_is_users_text_where_the_host_refuses_it() -> None:
    items = [
        {"role": "developer", "content": "first"},
        {"role": "user", "content": "hi"},
        {"role": "developer", "content": "note"},
    ]
    notes = Notes()
    assert MessageBuilder(Dialect(later_system=False), notes).build(None, items) == [
        {"role": "system", "content": "first"},
        {"role": "user", "content": "hi"},
        {"role": "user", "content": "note"},
    ]
    assert [note.rule for note in notes.all] == ["later_system_became_user"]


def test_opened_reasoning_goes_back_in_full_and_its_summary_is_not_said_twice() -> None:
    opened = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "short"}],
        NATIVE: {"text": "all of it", "details": [{"type": "reasoning.text"}]},
    }
    items = [opened, {"role": "assistant", "content": "hi"}]
    for replay, field, value in (
        ("reasoning_content", "reasoning_content", "all of it"),
        ("reasoning_details", "reasoning_details", [{"type": "reasoning.text"}]),
    ):
        notes = Notes()
        (message,) = MessageBuilder(replace(Dialect(), replay=replay), notes).build(None, items)
        assert (message[field], notes.all) == (value, [])
    notes = Notes()
    (message,) = MessageBuilder(Dialect(replay="none"), notes).build(None, items)
    assert (message.keys(), [note.rule for note in notes.all]) == ({"role", "content"}, ["reasoning_left_out"])


def test_ids_that_the_host_refuses_change_in_the_call_and_in_its_result() -> None:
    call = {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}
    spoken, result = MessageBuilder(Dialect(call_id_length=9), Notes()).build(None, [call, output])
    assert spoken["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) == 9
    long = [{**call, "call_id": "c" * 90}, {**output, "call_id": "c" * 90}]
    spoken, result = MessageBuilder(Dialect(call_id_limit=40), Notes()).build(None, long)
    assert spoken["tool_calls"][0]["id"] == result["tool_call_id"]
    assert len(result["tool_call_id"]) <= 40


def test_what_the_proxy_has_to_say_comes_behind_the_instructions() -> None:
    built = MessageBuilder(Dialect(), Notes()).build("base", [{"role": "developer", "content": "more"}], "told")
    assert built == [{"role": "system", "content": "base\n\ntold\n\nmore"}]
