"""Thoughts: what each turn of the assistant brings back of its reasoning, for Responses upstreams that insist on it.

DeepSeek refuses a thinking request whose earlier turns come without their words ("The reasoning_text in the thinking
mode must be passed back to the API", public reports). Of a turn whose words are lost it gets a blank.
"""

from __future__ import annotations

from typing import Any, Final

from translators.events import Json

__all__ = ["TEXT", "thoughtful"]

TEXT: Final = "reasoning_text"
"""The kind of part that holds a model's own words."""
BLANK: Final[Json] = {"type": "reasoning", "summary": [], "content": [{"type": TEXT, "text": " "}]}
"""No text at all is refused like no item."""


def thoughtful(items: list[Any]) -> list[Any]:
    """The items with a reasoning item that has words in front of each turn of the assistant; ``items`` stays as it is.

    A turn ends with what the user or a tool says.
    """
    out: list[Any] = []
    thought = False
    for item in items:
        kind = item.get("type", "message") if isinstance(item, dict) else None
        if kind == "reasoning":
            if not (_has_words(item) or item.get("encrypted_content")):
                continue
            item = _in_its_form(item)
            thought = True
        elif kind == "function_call" or (kind == "message" and item.get("role") == "assistant"):
            out += [] if thought else [BLANK]
            thought = True
        else:
            thought = False
        out.append(item)
    return out


def _in_its_form(item: Json) -> Json:
    """The item with its words as the kind of part that is asked for: Codex writes them as ``text`` as well
    (openai/codex#42249)."""
    parts = item.get("content")
    if not isinstance(parts, list) or not any(map(_is_text, parts)):
        return item
    return {**item, "content": [{**part, "type": TEXT} if _is_text(part) else part for part in parts]}


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "text"


def _has_words(item: Json) -> bool:
    parts = item.get("content")
    return isinstance(parts, list) and any(isinstance(part, dict) and part.get("text") for part in parts)
