"""Lone surrogates: halves of a UTF-16 pair that stand alone in JSON text.

Some upstreams cut a stream between the two ``\\ud83d\\ude00`` escapes of one character; JSON allows that, UTF-8 and
orjson do not. Here such JSON is read, halves are joined, and what stays alone becomes U+FFFD. Not in the arguments of
a call, which would then be run with another text than the model's: there it becomes the escape that it is in JSON, and
whoever judges the arguments refuses it.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

REPLACEMENT = "\ufffd"
_LONE = re.compile("[\ud800-\udfff]")


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def real(digits: str) -> float:
    """A number as orjson reads it. Raises ValueError where it is too large for one."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is out of range")
    return number


def integer(digits: str) -> int | float:
    """A number without a fraction as orjson reads it: beyond 64 bits a float, for it writes no larger integer."""
    number = int(digits) if len(digits) < 21 else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else real(digits)


def loads(data: bytes) -> Any:
    """Parse JSON as orjson does, but accept lone surrogate escapes.

    Raises ValueError for anything else that is not JSON in UTF-8.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            raise
    try:
        return json.loads(data.decode(), parse_constant=_refuse, parse_int=integer, parse_float=real)
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None


def dumps(value: Any) -> bytes:
    """JSON as orjson writes it; with halves of characters as the standard writer escapes them."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, separators=(",", ":")).encode()


def clean(text: str) -> str:
    """The same text with surrogate pairs joined and lone surrogates replaced; nearly free when there are none."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def escaped(text: str) -> str:
    """JSON text with surrogate pairs joined and lone surrogates as escapes; nearly free when there are none."""
    if text.isascii() or _LONE.search(text) is None:
        return text
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return _LONE.sub(lambda half: f"\\u{ord(half[0]):04x}", joined)


def clean_tree(value: Any) -> Any:
    """A JSON value with ``clean`` applied to every string and key in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [clean_tree(item) for item in value]
    if isinstance(value, dict):
        return {clean(key): clean_tree(item) for key, item in value.items()}
    return value


class SurrogateJoiner:
    """Joins the halves of characters that were cut between two deltas of one text; ``in_json``: of JSON text."""

    __slots__ = ("_clean", "_half")

    def __init__(self, *, in_json: bool = False) -> None:
        self._clean = escaped if in_json else clean
        self._half = ""

    def __bool__(self) -> bool:
        """Whether a half is waiting for the next delta."""
        return bool(self._half)

    def feed(self, text: str) -> str:
        """The text that is certain now; a high surrogate at the end waits for the next call."""
        text = self._half + text
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return self._clean(text[:-1] if self._half else text)

    def finish(self) -> str:
        """What waited for a second half that never came, replaced."""
        rest = self._clean(self._half)
        self._half = ""
        return rest
