"""Annotations: what a text was drawn from, between Chat and the hub.

Wire fact: a ``url_citation`` is nested under its type in Chat and flat in Responses (OpenAI's types of both). Hosts
with a search of their own write them into deltas and into whole messages (OpenRouter's public API reference); OpenAI's
chunk type has no place for them.
"""

from __future__ import annotations

from typing import Any

import orjson

from translators.events import Json
from translators.surrogates import clean_tree

__all__ = ["Annotations", "of_text", "to_chat", "to_hub"]

CITATION = "url_citation"
INDICES = ("start_index", "end_index")


def of_text(part: Any) -> list[Any] | None:
    """The annotations of a hub part that is a text; None for any other part. Upstreams write what they like there."""
    if not isinstance(part, dict) or part.get("type") != "output_text":
        return None
    given = part.get("annotations")
    return given if isinstance(given, list) else []


def to_chat(given: Any, before: int = 0) -> Any:
    """A hub annotation as Chat writes it; kinds other than ``url_citation`` stay as they are.

    ``before`` are the characters of all texts in front of the one that it is about: in the hub each counts for itself,
    in Chat they are one.
    """
    if not isinstance(given, dict) or given.get("type") != CITATION:
        return given
    inner = {key: value for key, value in given.items() if key != "type"}
    for name in INDICES:
        if type(inner.get(name)) is int:
            inner[name] += before
    return {"type": CITATION, CITATION: inner}


def to_hub(given: Json) -> Json:
    """A Chat annotation as the hub writes it; some hosts write it flat in Chat as well. Clients of Responses check that
    a citation has all its fields."""
    inner = given.get(CITATION)
    if given.get("type") != CITATION:
        return given
    said = {**(inner if isinstance(inner, dict) else given), "type": CITATION}
    for name in INDICES:
        said[name] = said[name] if type(said.get(name)) is int else 0
    for name in ("url", "title"):
        said[name] = said[name] if isinstance(said.get(name), str) else str(said.get("url") or "")
    return said


class Annotations:
    """Those of one upstream response, each once: hosts repeat them, chunk by chunk and in the end. They wait here for
    the text that they are about."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self.waiting: list[Json] = []
        """Those that have not been taken yet, in their order."""

    def hear(self, given: Any) -> None:
        """What a delta or a message says; anything but a list of objects means nothing."""
        for each in given if isinstance(given, list) else ():
            if isinstance(each, dict):
                annotation: Json = clean_tree(to_hub(each))
                key = orjson.dumps(annotation, option=orjson.OPT_SORT_KEYS)
                if key not in self._seen:
                    self._seen.add(key)
                    self.waiting.append(annotation)

    def take(self) -> list[Json]:
        """All that wait; they do so no longer."""
        waiting, self.waiting = self.waiting, []
        return waiting
