"""What one agent says to another, as any model reads it."""

from __future__ import annotations

from typing import Any

import pytest

from translators.agent_messages import as_users
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
