"""Argument text that is nearly JSON: where its first value ends, and what in it no JSON parser takes.

Three defects, each repaired on the text by itself: control characters and unknown escapes inside strings (row 9), an
end that is missing (row 11), and something after the end (row 13).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from translators.apply_patch.parse import WHITE
from translators.apply_patch.rules.node import Node, Pairs, Refusal

__all__ = ["close_json", "cut_garbage", "decode", "escape_controls", "literal_escapes"]

_TOKEN: Final = re.compile(r'"(?P<body>(?:[^"\\]|\\.)*+)(?P<close>"?)|[{}\[\]]|[^"{}\[\]]+', re.S)
_CLOSERS: Final = re.compile(r"[\s}\])]*")
_MARK: Final = re.compile(r"\\u[0-9a-fA-F]{4}|\\.|[\x00-\x1f]", re.S)
_WITH_BREAKS: Final = frozenset("bfnrtu/\\")
_WITH_TABS: Final = frozenset("t")
_TELLING: Final = frozenset("bfnrtu/\\")
_CONTROL: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_OPEN: Final = {"{": "}", "[": "]"}
_ENDS: Final = re.compile(
    r"\*{3}\s*end\s*(?:of\s+)?patch(?:\s*\*{3})?(?:\\[nrt]|\s)*(?:(?:```|[A-Z][A-Z_]*)(?:\\[nrt]|\s)*)?\Z", re.I
)
_UNCERTAIN: Final = "known and unknown escapes stand side by side: what the known ones mean is not certain"


@dataclass(frozen=True, slots=True)
class _Scan:
    """``end``: where the first value ends (None: it does not); ``open``: the closers that are missing, innermost last;
    ``in_string``: whether a string is open; ``strings``: where the strings stand (inside their quotes)."""

    end: int | None
    open: str
    in_string: bool
    strings: list[tuple[int, int]]


def _scan(text: str) -> _Scan:
    stack: list[str] = []
    strings: list[tuple[int, int]] = []
    start = len(text) - len(text.lstrip(WHITE))
    if text[start : start + 1] not in ("{", "[", '"'):
        return _Scan(None, "", False, strings)
    for match in _TOKEN.finditer(text, start):
        token = match.group()
        if match["body"] is not None:
            strings.append(match.span("body"))
            if not match["close"]:
                return _Scan(None, "".join(stack), True, strings)
        elif token in _OPEN:
            stack.append(_OPEN[token])
        elif token in ("}", "]") and (not stack or stack.pop() != token):
            return _Scan(None, "", False, strings)
        if not stack and (match["body"] is not None or token in ("}", "]")):
            return _Scan(match.end(), "", False, strings)
    return _Scan(None, "".join(stack), False, strings)


def _parse(text: str) -> Any:
    """Strict JSON with objects as ``Pairs``. Raises ValueError."""
    try:
        return json.loads(text, object_pairs_hook=Pairs)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parses(text: str) -> bool:
    try:
        _parse(text)
    except ValueError:
        return False
    return True


def decode(node: Node) -> Node | None:
    """Argument text that is JSON becomes its value."""
    try:
        return node.then("value", _parse(node.value))
    except ValueError:
        return None


def escape_controls(node: Node) -> Node | None:
    """Row 9, read as JSON: controls inside strings get their escape, the backslash of an unknown escape is kept."""
    return _mend_strings(node, literal=False)


def literal_escapes(node: Node) -> Node | None:
    r"""Row 9, read as text: who broke lines without escaping them may have meant ``\n`` and ``\\`` as they stand, and
    who did not escape tabs ``\t``. Doubtful: it only shows that the other reading is not certain."""
    return _mend_strings(node, literal=True)


def _mend_strings(node: Node, *, literal: bool) -> Node | None:
    text: str = node.value
    scan = _scan(text)
    out: list[str] = []
    at = 0
    found = False
    for start, end in scan.strings:
        body = text[start:end]
        mended = _mend(body, literal)
        found = found or mended != body
        out += (text[at:start], mended)
        at = end
    if not found:
        return None
    return node.then("raw", "".join(out) + text[at:], doubtful=node.doubtful or literal)


def _unknown(mark: str) -> bool:
    return len(mark) == 2 and mark[1] not in '"\\/bfnrt'


def _mend(body: str, literal: bool) -> str:
    marks = _MARK.findall(body)
    escapes = {mark[1] for mark in marks if mark[0] == "\\" and not _unknown(mark)}
    if any(_unknown(mark) for mark in marks) and escapes & _TELLING:
        raise Refusal(_UNCERTAIN)
    doubtful = (
        (_WITH_BREAKS if "\n" in marks else _WITH_TABS if "\t" in marks else frozenset()) if literal else frozenset()
    )
    if literal and not escapes & doubtful:
        return body

    def mend(match: re.Match[str]) -> str:
        mark = match.group()
        if mark[0] != "\\":
            return _CONTROL.get(mark) or f"\\u{ord(mark):04x}"
        if _unknown(mark):
            return "\\\\" + (_CONTROL.get(mark[1]) or mark[1])
        return "\\" + mark if mark[1] in doubtful else mark

    return _MARK.sub(mend, body)


def close_json(node: Node) -> Node | None:
    """Row 11: the JSON ends early, but the patch in it is complete. Never when the call was cut off by length."""
    text: str = node.value
    scan = _scan(text)
    if node.truncated or scan.end is not None or not (scan.open or scan.in_string):
        return None
    if not scan.in_string:
        complete = any(_holds_end(text[start:end]) for start, end in scan.strings)
        return node.then("raw", text.rstrip(WHITE + ",") + scan.open[::-1]) if complete else None
    start = scan.strings[-1][0]
    # A closing brace may have come without the quote before it.
    kept = text if _holds_end(text[start:]) else text.rstrip(WHITE + "}]")
    return node.then("raw", kept + '"' + scan.open[::-1]) if _holds_end(kept[start:]) else None


def _holds_end(body: str) -> bool:
    """Whether the end of a patch (and at most the end of what it is wrapped in) is the end of a string's body."""
    return _ENDS.search(body) is not None


def cut_garbage(node: Node) -> Node | None:
    """Row 13: what follows the value is only closing brackets, white space, or the same value again."""
    text: str = node.value
    scan = _scan(text)
    if scan.end is None:
        return None
    rest = text[scan.end :].strip(WHITE)
    value = text[: scan.end].strip(WHITE)
    if rest.startswith(value) and rest:
        return node.then("raw", value + rest[len(value) :])
    if not rest or not _parses(value):
        return None
    if _CLOSERS.fullmatch(rest):
        return node.then("raw", value)
    again = _scan(rest)
    if again.end is not None and _parses(rest[: again.end]):
        if _parse(rest[: again.end]) != _parse(value):
            raise Refusal("two different argument objects stand one after the other")
        return node.then("raw", value + rest[again.end :])
    return None
