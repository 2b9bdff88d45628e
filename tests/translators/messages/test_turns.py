"""The items of a hub request as messages of alternating roles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translators.chat.parts import NO_OUTPUT, Notes
from translators.messages.turns import FOLLOWS, GO_ON, Turns, fitting_id

THOUGHT = {"type": "thinking", "thinking": "t", "signature": "s"}


def said(role: str, content: Any) -> dict[str, Any]:
    return {"type": "message", "role": role, "content": content}


def call(call_id: str, arguments: str = "{}") -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "f", "arguments": arguments}


def output(call_id: str, value: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def use(call_id: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "f", "input": given}


def result(call_id: str, content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content}


def turns(*items: Any, instructions: Any = None, later_system: bool = False) -> Any:
    notes = Notes()
    system, messages = Turns(notes, later_system=later_system).build(instructions, [*items])
    return system, [(message["role"], message["content"]) for message in messages], [note.rule for note in notes.all]


def test_where_results_are_texts_their_images_stand_behind_all_of_them() -> None:
    seen = {"type": "input_image", "image_url": "https://h/x"}
    image = {"type": "image", "source": {"type": "url", "url": "https://h/x"}}
    calls = [call("a"), call("b"), call("c")]
    outputs = [output("a", [seen]), output("b", [{"type": "input_text", "text": "two"}, seen]), output("c", "three")]
    made = Turns(Notes(), later_system=False, text_results=True).build(None, [said("user", "hi"), *calls, *outputs])[1]
    assert made[-1]["content"] == [
        *(result("a", FOLLOWS), result("b", "two"), result("c", "three")),
        *(text("Attachments of the result of tool call a:"), image),
        *(text("Attachments of the result of tool call b:"), image),
    ]


def test_a_tool_loop_in_turns() -> None:
    sealed = {"type": "reasoning", "summary": [], "encrypted_content": json.dumps(THOUGHT)}
    system, messages, rules = turns(
        said("developer", "Be brief."),
        said("user", "hi"),
        sealed,
        said("assistant", "So:"),
        call("a", '{"x":1}'),
        call("b"),
        output("b", "two"),
        output("a", [{"type": "input_text", "text": "one"}, {"type": "input_image", "image_url": "https://h/x"}]),
        said("user", "go on"),
        instructions="First.",
    )
    image = {"type": "image", "source": {"type": "url", "url": "https://h/x"}}
    assert system == ["First.", "Be brief."]
    assert messages == [
        ("user", [text("hi")]),
        ("assistant", [THOUGHT, text("So:"), use("a", x=1), use("b")]),
        ("user", [result("a", [text("one"), image]), result("b", "two"), text("go on")]),
    ]
    assert rules == []


def test_calls_of_two_rounds_stay_apart() -> None:
    _, messages, _ = turns(said("user", "hi"), call("a"), output("a", "1"), call("b"), output("b", "2"))
    assert messages == [
        ("user", [text("hi")]),
        ("assistant", [use("a")]),
        ("user", [result("a", "1")]),
        ("assistant", [use("b")]),
        ("user", [result("b", "2")]),
    ]


def test_ids_that_calls_repeat_become_different_ones_and_each_result_stays_with_its_call() -> None:
    again = fitting_id("a#1", 0)
    history = [call("a", '{"x":1}'), output("a", "one"), call("a", '{"x":2}'), output("a", "two")]
    _, messages, _ = turns(said("user", "hi"), *history)
    assert messages[1:] == [
        ("assistant", [use("a", x=1)]),
        ("user", [result("a", "one")]),
        ("assistant", [use(again, x=2)]),
        ("user", [result(again, "two")]),
    ]
    _, messages, _ = turns(said("user", "hi"), call("a"), call("a"), call("a"), call("b"), output("b", "bee"))
    uses = [block["id"] for block in messages[1][1]]
    assert len(set(uses)) == 4
    assert [block["tool_use_id"] for block in messages[2][1]] == uses
    assert messages[2][1][3] == result("b", "bee")


def test_items_behind_a_finished_turn_change_nothing_before() -> None:
    items = [said("user", "hi"), call("a"), output("a", "1")]
    before = turns(*items)[1]
    assert turns(*items, said("assistant", "ok"), said("user", "more"))[1][:3] == before


@pytest.mark.requirement("NW8")
@pytest.mark.parametrize(("data", "shown"), [([{"a": 1}], '[{"a":1}]'), ({"a": 1}, '{"a":1}'), ([None], "[null]")])
def test_a_result_that_is_data_is_read_as_json(data: Any, shown: str) -> None:
    _, messages, rules = turns(said("user", "hi"), call("a"), {**output("a", ""), "output": data})
    assert messages[-1] == ("user", [result("a", shown)])
    assert rules == ["tool_output_became_text"]


def test_a_call_without_a_result_gets_one_and_an_orphan_becomes_text() -> None:
    _, messages, rules = turns(said("user", "hi"), output("z", "late"), call("a"), said("user", "and?"))
    assert messages == [
        ("user", [text("hi"), text("Result of an earlier tool call:"), text("late")]),
        ("assistant", [use("a")]),
        ("user", [result("a", NO_OUTPUT), text("and?")]),
    ]
    assert rules == ["orphan_tool_output_became_text", "missing_tool_output_filled"]


def test_the_first_and_the_last_word_are_the_users() -> None:
    _, messages, rules = turns(said("assistant", "Hello!"))
    assert messages == [("user", [text(GO_ON)]), ("assistant", [text("Hello!")]), ("user", [text(GO_ON)])]
    assert rules == ["user_turn_added"]
    assert turns()[1] == [("user", [text(GO_ON)])]


NOTED = ["later_system_became_user"]
USER, SYSTEM, HELLO = ("user", [text("hi")]), ("system", "Now."), ("assistant", [text("Hello!")])


@pytest.mark.parametrize(
    ("roles", "known", "unknown"),
    [
        (("user", "system"), [USER, SYSTEM], [("user", [text("hi"), text("Now.")])]),
        (("user", "system", "assistant", "user"), [USER, SYSTEM, HELLO, USER],
         [("user", [text("hi"), text("Now.")]), HELLO, USER]),
        (("user", "system", "system"), [USER, ("system", "Now.\n\nNow.")],
         [("user", [text("hi"), text("Now."), text("Now.")])]),
        (("user", "system", "user"), [("user", [text("hi"), text("Now."), text("hi")])], None),
        (("user", "assistant", "system", "user"), [USER, HELLO, ("user", [text("Now."), text("hi")])], None),
    ],
)  # fmt: skip
def test_a_later_system_message_stays_where_models_know_it_and_only_before_the_assistant(
    roles: tuple[str, ...], known: Any, unknown: Any
) -> None:
    """The API refuses a role ``system`` that neither precedes an assistant message nor ends the array."""
    words = {"user": "hi", "system": "Now.", "assistant": "Hello!"}
    items = [said(role, words[role]) for role in roles]
    for later_system, expected in ((True, known), (False, unknown or known)):
        _, messages, rules = turns(*items, later_system=later_system)
        assert messages == expected
        assert rules == ([] if ("system" in dict(messages)) else NOTED * roles.count("system"))


def test_thoughts_that_nobody_signed_are_left_out() -> None:
    unsigned = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "t"}]}
    foreign = {"type": "reasoning", "encrypted_content": "opaque"}
    _, messages, rules = turns(said("user", "hi"), unsigned, foreign, said("assistant", "a"), said("user", "b"))
    assert messages == [("user", [text("hi")]), ("assistant", [text("a")]), ("user", [text("b")])]
    assert rules == ["reasoning_left_out", "reasoning_left_out"]


def test_arguments_that_are_no_object_are_replaced_and_unknown_items_noted() -> None:
    _, messages, rules = turns(said("user", "hi"), call("a", "[1]"), {"type": "novel"}, output("a", {"k": 1}))
    assert messages[1:] == [("assistant", [use("a")]), ("user", [result("a", '{"k":1}')])]
    assert rules[:2] == ["tool_arguments_replaced", "item_left_out"]


def test_ids_have_the_form_that_is_taken() -> None:
    assert fitting_id("toolu_1-a", 3) == "toolu_1-a"
    assert fitting_id("", 3) == "call_3"
    odd = fitting_id("call:1|fc_2", 3)
    assert (odd, len(odd)) == (fitting_id("call:1|fc_2", 9), 37)
