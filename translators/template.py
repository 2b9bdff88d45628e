"""Template: the one frame that a stream of content repeats, with another text each time.

While a model writes, most upstreams send the same frame again and again and only one string in it changes. Once such a
frame was parsed and understood, a whole block of its kind needs no parsing: it is cut at what stays the same, and the
texts between are checked as JSON strings in one call.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from translators.events import Json

__all__ = ["Template"]

_STRING = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_PROBE = "a text that stands nowhere else"
_BETWEEN = b'"\n,"'
"""Joins texts into a JSON array. The line end makes a text that ends in a lone backslash, and so would swallow the
quote behind it, invalid: JSON has no bare line ends in strings."""


class Template:
    """``field`` is the name of the member that changes, ``text`` reads it from a parsed frame (None: it is not there),
    and ``change`` is done to all that stays the same on its way out."""

    def __init__(
        self, field: re.Pattern[bytes], text: Callable[[Json], Any], change: Callable[[bytes], bytes] = bytes
    ) -> None:
        self._field = field
        self._text = text
        self.change = change
        self.known = False
        """Whether it has learned a frame."""
        self._prefix = self._suffix = b""
        self._between = b""
        self._leaves = (b"", b"", b"")

    def learn(self, frame: bytes) -> bool:
        """Take ``frame``, whole and valid, as the one that repeats; whether it can be."""
        self.known = False
        found = self._field.search(frame)
        string = _STRING.match(frame, found.end()) if found is not None else None
        data = frame.find(b"data: ")
        if string is None or data < 0 or frame.startswith(b"data:") + frame.count(b"\ndata:") != 1:
            return False
        if frame.find(b"\n", data) != len(frame) - 2:
            return False
        prefix, suffix = frame[: string.start() + 1], frame[string.end() - 1 :]
        try:
            there = self._text(orjson.loads(prefix[data + 6 :] + _PROBE.encode() + suffix))
        except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
            return False
        if there != _PROBE:
            return False
        self._prefix, self._suffix, self._between = prefix, suffix, suffix + prefix
        first, last = self.change(prefix), self.change(suffix)
        self._leaves = first, last + first, last
        self.known = True
        return True

    def forget(self) -> None:
        """No frame repeats."""
        self.known = False

    def take(self, block: bytes, position: int, window: int) -> tuple[bytes, int]:
        """The frames of this kind at ``position`` as they leave, and the place behind them; ``b""`` when what stands
        there is another one, or no JSON. Looks at about ``window`` bytes, and at one frame at least."""
        prefix, suffix = self._prefix, self._suffix
        if not self.known or not block.startswith(prefix, position):
            return b"", position
        start = position + len(prefix)
        end = start + window
        seen = block[start : end if end >= len(block) else max(end, block.find(b"\n\n", start) + 2)]
        texts = seen.split(self._between)
        last, found, rest = texts.pop().partition(suffix)
        left = len(rest)
        if found:
            texts.append(last)
        elif texts:
            # It begins like the others and ends in another way, or behind what was looked at.
            left = len(prefix) + len(last)
        else:
            return b"", position
        try:
            whole = orjson.loads(b'["' + _BETWEEN.join(texts) + b'"]')
        except orjson.JSONDecodeError:
            return b"", position
        if len(whole) != len(texts):
            return b"", position
        before, between, behind = self._leaves
        return before + between.join(texts) + behind, start + len(seen) - left
