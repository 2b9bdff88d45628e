"""Members: what a JSON object holds, each value as it is written.

Arguments inside arguments must survive digit by digit: what is parsed and written again loses long numbers, and with
them what a schema would say of them.
"""

from __future__ import annotations

import json
import re
from typing import Final

__all__ = ["members"]

_decode: Final = json.JSONDecoder(strict=False).raw_decode
_white: Final = re.compile(r"[ \t\r\n]*").match


def members(text: str) -> dict[str, str] | None:
    """The keys of the one object that a text is, and the raw text of each value; None for anything else, and for a key
    that stands twice with different values. Raw values need not be strict JSON: whoever takes one judges it."""
    found: dict[str, str] = {}
    try:
        at = _after(text, _skipped(text, 0), "{")
        while text[at] != "}":
            key, at = _decode(text, at)
            start = _skipped(text, _after(text, _skipped(text, at), ":"))
            at = _decode(text, start)[1]
            if not isinstance(key, str) or found.setdefault(key, text[start:at]) != text[start:at]:
                return None
            at = _skipped(text, at)
            if text[at] == "}":
                break
            at = _after(text, at, ",")
            if text[at] == "}":
                return None
    except (ValueError, IndexError, RecursionError):
        return None
    return found if _skipped(text, at + 1) == len(text) else None


def _skipped(text: str, at: int) -> int:
    """The place behind white space."""
    return _white(text, at).end()  # type: ignore[union-attr]  # a star always matches


def _after(text: str, at: int, sign: str) -> int:
    """The place behind ``sign`` and white space. Raises ValueError when another one stands there."""
    if text[at] != sign:
        raise ValueError(f"no {sign}")
    return _skipped(text, at + 1)
