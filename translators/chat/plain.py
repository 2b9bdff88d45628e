"""Plain chunks: those that hold nothing but a piece of text, which is nearly all of them."""

from __future__ import annotations

from typing import Any

__all__ = ["plain_text"]


def plain_text(chunk: Any, name: str) -> str | None:
    """The text of a chunk that holds nothing but the delta ``name``, for an item that is already being written."""
    try:
        (choice,) = chunk["choices"]
        delta = choice["delta"]
        text = delta[name]
        if len(delta) > 1 and not (len(delta) == 2 and "role" in delta):
            return None
        if choice.get("finish_reason") or choice.get("index") or choice.get("usage"):
            return None
        if chunk.get("usage") or chunk.get("error"):
            return None
        return text if type(text) is str else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
