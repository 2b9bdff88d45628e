"""Agent messages: what one agent of a team says to another, in a form that the model at hand reads.

Codex gives a sub-agent its task, and its parent the answer, as an item of type ``agent_message``. Its content is parts
of text and parts ``encrypted_content``: the words of the argument with which a model sent them. OpenAI seals an
argument whose schema says ``encrypted``; any other model writes it in the clear, and Codex puts what it gets into the
part (measured, 0.171.0). Nobody but OpenAI knows the item, and OpenAI takes only what it sealed for sealed.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json, Note

__all__ = ["as_users", "is_agent_message", "opened"]

KIND: Final = "agent_message"
SEALED: Final = "gAAAAA"
"""How everything begins that OpenAI sealed (public reports): a version and a time, in Base64."""
UNREADABLE: Final = "[This message was sealed by OpenAI for its own models: it cannot be read here.]"


def is_agent_message(item: Any) -> bool:
    """Whether an input item is a message between agents."""
    return isinstance(item, dict) and item.get("type") == KIND


def as_users(items: list[Any]) -> tuple[list[Any], list[Note]]:
    """The items with agents' messages as users' messages, each with a note ``agent_message_became_user``. Who speaks to
    whom is in the text that Codex writes before the words. What OpenAI sealed is left out by rule
    ``sealed_agent_message_left_out``, and the model told so. The same list if there are none."""
    places = [index for index, item in enumerate(items) if is_agent_message(item)]
    if not places:
        return items, []
    out, notes = list(items), [Note("agent_message_became_user", f"input[{index}]") for index in places]
    for index in places:
        content = items[index].get("content")
        told = [_readable(part) for part in content] if isinstance(content, list) else content
        if isinstance(content, list) and any(map(_is_sealed, content)):
            notes.append(Note("sealed_agent_message_left_out", f"input[{index}].content"))
        out[index] = {"type": "message", "role": "user", "content": told}
    return out, notes


def opened(items: list[Any]) -> tuple[list[Any], list[Note]]:
    """The items for OpenAI: words that stand in agents' messages as sealed, and are not, stand there as text, each
    message with a note ``agent_message_opened``. The same list if there are none."""
    out, notes = items, []
    for index, item in enumerate(items):
        content = item.get("content") if is_agent_message(item) else None
        if isinstance(content, list) and any(_is_open(part) for part in content):
            out = list(items) if out is items else out
            out[index] = {**item, "content": [_readable(part) if _is_open(part) else part for part in content]}
            notes.append(Note("agent_message_opened", f"input[{index}].content"))
    return out, notes


def _words(part: Any) -> str | None:
    """What stands in a part for sealed words; None in any other."""
    if not isinstance(part, dict) or part.get("type") != "encrypted_content":
        return None
    words = part.get("encrypted_content")
    return words if isinstance(words, str) else None


def _is_sealed(part: Any) -> bool:
    return (_words(part) or "").startswith(SEALED)


def _is_open(part: Any) -> bool:
    return _words(part) is not None and not _is_sealed(part)


def _readable(part: Json) -> Json:
    words = _words(part)
    return part if words is None else {"type": "input_text", "text": UNREADABLE if _is_sealed(part) else words}
