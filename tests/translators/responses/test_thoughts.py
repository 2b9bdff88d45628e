"""Turns of the assistant and the words that they bring back."""

from __future__ import annotations

from typing import Any

import pytest

from translators.responses.thoughts import BLANK, thoughtful

USER = {"type": "message", "role": "user", "content": "hi"}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}
WORDS = {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": "think"}]}
SEALED = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "blob"}
LOST: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "rs", "summary": [], "content": None},
    {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "short"}], "content": []},
    {"type": "reasoning", "content": [{"type": "reasoning_text", "text": ""}]},
]


def call(name: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": name, "name": "f", "arguments": "{}"}


def output(name: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": name, "output": "ok"}


@pytest.mark.parametrize(
    ("items", "sent"),
    [
        ([USER], [USER]),
        ([USER, SAID, USER], [USER, BLANK, SAID, USER]),
        ([USER, WORDS, SAID, call("a"), output("a")], [USER, WORDS, SAID, call("a"), output("a")]),
        ([SEALED, call("a"), output("a")], [SEALED, call("a"), output("a")]),
        (
            [WORDS, call("a"), call("b"), output("a"), output("b"), call("c"), output("c")],
            [WORDS, call("a"), call("b"), output("a"), output("b"), BLANK, call("c"), output("c")],
        ),
        ([{"role": "assistant", "content": "Hello."}], [BLANK, {"role": "assistant", "content": "Hello."}]),
        ([{"role": "user", "content": "hi"}, "odd"], [{"role": "user", "content": "hi"}, "odd"]),
        *[([lost, call("a")], [BLANK, call("a")]) for lost in LOST],
    ],
)
def test_every_turn_of_the_assistant_begins_with_words(items: list[Any], sent: list[Any]) -> None:
    given = list(items)
    assert thoughtful(given) == sent
    assert given == items
    assert thoughtful(sent) == sent


def test_words_are_brought_back_as_the_kind_of_part_that_is_asked_for() -> None:
    """ "reasoning_text in the thinking mode must be passed back": Codex had written ``text`` (openai/codex#42249)."""
    thought: dict[str, Any] = {"type": "reasoning", "summary": [], "content": [{"type": "text", "text": "so"}, "odd"]}
    said = {"type": "message", "role": "assistant", "content": "a"}
    sent = thoughtful([thought, said])
    assert sent == [{**thought, "content": [{"type": "reasoning_text", "text": "so"}, "odd"]}, said]
    assert thought["content"][0]["type"] == "text"
