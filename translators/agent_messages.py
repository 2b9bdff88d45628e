"""Agent messages: what one agent of a team says to another, in a form that every model reads.

Codex gives a sub-agent its task, and its parent the answer, as an item of type ``agent_message``. Its content is parts
of text and parts ``encrypted_content``: the words of the argument with which a model sent them. OpenAI seals an
argument whose schema says ``encrypted``; any other model writes it in the clear, and Codex puts what it gets into the
part (measured, 0.171.0). Nobody but OpenAI knows the item.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json, Note

__all__ = ["as_users", "is_agent_message"]

KIND: Final = "agent_message"


def is_agent_message(item: Any) -> bool:
    """Whether an input item is a message between agents."""
    return isinstance(item, dict) and item.get("type") == KIND


def as_users(items: list[Any]) -> tuple[list[Any], list[Note]]:
    """The items with agents' messages as users' messages, each with a note ``agent_message_became_user``. Who speaks to
    whom is in the text that Codex writes before the words. The same list if there are none."""
    places = [index for index, item in enumerate(items) if is_agent_message(item)]
    if not places:
        return items, []
    out = list(items)
    for index in places:
        out[index] = _as_user(items[index])
    return out, [Note("agent_message_became_user", f"input[{index}]") for index in places]


def _as_user(item: Json) -> Json:
    content = item.get("content")
    told = [_readable(part) for part in content] if isinstance(content, list) else content
    return {"type": "message", "role": "user", "content": told}


def _readable(part: Any) -> Any:
    if isinstance(part, dict) and part.get("type") == "encrypted_content":
        return {"type": "input_text", "text": part.get("encrypted_content")}
    return part
