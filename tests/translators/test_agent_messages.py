"""What one agent says to another, as any model reads it."""

from __future__ import annotations

from typing import Any

import pytest

from translators.agent_messages import UNREADABLE, as_users, opened
from translators.events import Note

HEAD = {"type": "input_text", "text": "Message Type: NEW_TASK\nSender: /root\nPayload:\n"}
SEALED = {"type": "encrypted_content", "encrypted_content": "Add 2 and 3."}
CLEAR = {"type": "input_text", "text": "Add 2 and 3."}
TASK = {
    "type": "agent_message",
    "id": "amsg_1",
    "author": "/root",
    "recipient": "/root/sums",
    "content": [HEAD, SEALED],
}
ASKED = {"type": "message", "role": "user", "content": "hi"}


def user(content: Any) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": content}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ([HEAD, SEALED], [HEAD, CLEAR]),
        ([CLEAR], [CLEAR]),
        ("in one piece", "in one piece"),
        ([5, SEALED], [5, CLEAR]),
        (None, None),
    ],
)
def test_the_words_of_an_agent_become_a_users(content: Any, told: Any) -> None:
    item = {**TASK, "content": content}
    before = repr(item)
    assert as_users([ASKED, item]) == ([ASKED, user(told)], [Note("agent_message_became_user", "input[1]")])
    assert repr(item) == before, "the client's items stay"


def test_a_history_without_agents_is_left_alone() -> None:
    items = [ASKED, {"type": "reasoning", "encrypted_content": "x"}, 7]
    seen, notes = as_users(items)
    assert seen is items
    assert notes == []


GIBBERISH = {"type": "encrypted_content", "encrypted_content": "gAAAAABqU2VhbGVkIGJ5IE9wZW5BSQ"}


def test_what_openai_sealed_is_told_to_other_models_as_sealed() -> None:
    seen, notes = as_users([{**TASK, "content": [HEAD, GIBBERISH]}])
    assert seen == [user([HEAD, {"type": "input_text", "text": UNREADABLE}])]
    assert [note.rule for note in notes] == ["agent_message_became_user", "sealed_agent_message_left_out"]


def test_openai_gets_as_sealed_only_what_it_sealed() -> None:
    theirs, ours = {**TASK, "content": [HEAD, GIBBERISH]}, {**TASK, "content": [HEAD, SEALED]}
    seen, notes = opened([theirs, ASKED, ours])
    assert seen == [theirs, ASKED, {**TASK, "content": [HEAD, CLEAR]}]
    assert notes == [Note("agent_message_opened", "input[2].content")]


@pytest.mark.parametrize("content", [[HEAD, GIBBERISH], [HEAD], "text", None, [{"type": "encrypted_content"}, 3]])
def test_openai_gets_everything_else_as_it_is(content: Any) -> None:
    items = [ASKED, {**TASK, "content": content}, 7]
    seen, notes = opened(items)
    assert seen is items
    assert notes == []
