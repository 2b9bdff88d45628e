"""What stands around a patch text: BOM, fences, prose, indentation, a second envelope, escapes (rows 10, 14, 15, 20,
21, 28)."""

from __future__ import annotations

import re
from itertools import pairwise
from posixpath import normpath
from typing import Final

from translators.apply_patch.parse import WHITE
from translators.apply_patch.rules.command import COMMAND
from translators.apply_patch.rules.node import (
    Node,
    Refusal,
    header_of,
    is_begin,
    is_end,
    is_fence,
    starts_patch,
)

__all__ = ["cut_prose", "dedent", "merge_envelopes", "strip_bom", "strip_fence", "unescape_newlines"]

_NOT_PROSE: Final = re.compile(
    r"\s*(?:\*{3}|@@)|\+|-(?![ -]|$)|--- |diff --git |[\[{\"]|.*<<|.*&&|\s*cd\s|.*apply_?-?patch\s*['\"]"
)
_SENTENCE: Final = re.compile(r"[A-Z].*[.:!?][ \t\r]*$")
"""Before a command any other line may be a command as well."""
_ESCAPE: Final = re.compile(r"\\(.)", re.S)
_MEANINGS: Final = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/"}
_UNEVEN: Final = "some lines of the patch are indented and some are not"
_FROM_LITERAL: Final = "line breaks are written as text, and so may be others that belong to the code"


def strip_bom(node: Node) -> Node | None:
    """Row 21: a byte order mark before the text."""
    text: str = node.value
    stripped = text.lstrip(WHITE + "\ufeff")
    head = text[: len(text) - len(stripped)]
    return node.then(node.kind, head[head.rindex("\ufeff") + 1 :] + stripped) if "\ufeff" in head else None


def _first(lines: list[str]) -> int:
    """The first line that is not blank; the number of lines when all are."""
    return next((at for at, line in enumerate(lines) if line.strip(WHITE)), len(lines))


def _last(lines: list[str]) -> int:
    return next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip(WHITE)), -1)


def _opens_patch(lines: list[str], at: int) -> bool:
    """Whether a fence before this line holds a patch: itself, the command that applies it, or the JSON of a call."""
    at += _first(lines[at:])
    if at >= len(lines):
        return False
    line = lines[at].strip(WHITE)
    return starts_patch([entry.strip(WHITE) for entry in lines[at : at + 2]], 0) or bool(
        COMMAND.match(line) or line.startswith(("{", "cd "))
    )


def strip_fence(node: Node) -> Node | None:
    """Row 15: the text stands in one code fence. The opening or the closing line may be missing at a patch's edge."""
    lines = node.value.split("\n")
    first, last = _first(lines), _last(lines)
    if first >= last:
        return None
    opened = is_fence(lines[first])
    closed = is_fence(lines[last]) and not (opened and _deeper(lines[last], lines[first]))
    if opened and _opens_patch(lines, first + 1) and (closed or is_end(lines[last])):
        return node.then("text", _joined(lines, first + 1, last if closed else last + 1))
    if closed and not opened and is_end(lines[last - 1]) and starts_patch(lines, first):
        return node.then("text", _joined(lines, first, last))
    return None


def _deeper(line: str, other: str) -> bool:
    """Whether a line is indented more than the other: a fence below an opening one is then a line of context."""
    return len(_margin(line)) > len(_margin(other))


def _joined(lines: list[str], start: int, end: int) -> str:
    return "\n".join(lines[start:end]) + ("\n" if end < len(lines) else "")


def cut_prose(node: Node) -> Node | None:
    """Row 20: what a model says before and after the patch. Nothing that may belong to the patch is cut away."""
    lines = node.value.split("\n")
    kept = _kept(lines)
    if kept is None:
        return None
    start, end = kept
    outside = [line for line in (*lines[:start], *lines[end:]) if line.strip(WHITE)]
    if not outside or any(_NOT_PROSE.match(line) for line in outside):
        return None
    if COMMAND.match(lines[start]) and ("command" in node.rules or not all(map(_SENTENCE.match, outside))):
        return None
    return node.then("text", _joined(lines, start, end))


def _kept(lines: list[str]) -> tuple[int, int] | None:
    """From the first Begin to the last End; else the one fenced block; else from the first line of a patch on."""
    begin = next((at for at, line in enumerate(lines) if is_begin(line)), None)
    end = next((at for at in range(len(lines) - 1, -1, -1) if is_end(lines[at])), None)
    command = next((at for at, line in enumerate(lines) if COMMAND.match(line)), None)
    if begin is not None and end is not None and (command is None or command > begin):
        return (begin, end + 1) if begin < end else None
    fences = [at for at, line in enumerate(lines) if is_fence(line)]
    if len(fences) == 2 and _opens_patch(lines, fences[0] + 1) and not _deeper(lines[fences[1]], lines[fences[0]]):
        return fences[0], fences[1] + 1
    if command is not None:
        return command, len(lines)
    if begin is None and not fences:
        first = next((at for at in range(len(lines)) if starts_patch(lines, at)), None)
        return (first, len(lines)) if first is not None and not lines[first].startswith("***") else None
    return None


def dedent(node: Node) -> Node | None:
    """Row 28: every line is indented alike (of the first one the indentation may have been trimmed)."""
    lines = node.value.split("\n")
    first = _first(lines)
    if first == len(lines) or not lines[first].lstrip(" \t").startswith(("*", "-", "d")):
        return None
    margin = _margin(lines[first])
    rest = first
    if not margin:
        rest = first + 1 + _first(lines[first + 1 :])
        margin = _margin(lines[rest]) if rest < len(lines) and starts_patch(lines, first) else ""
    filled = [line for line in lines[rest:] if line.strip(WHITE)]
    if not margin:
        return None
    if not all(line.startswith(margin) for line in filled):
        if any(line.startswith((margin + "@@", margin + "***")) for line in filled[0 if rest > first else 1 :]):
            raise Refusal(_UNEVEN, rest + 1)
        return None
    inner = [line.removeprefix(margin) for line in filled[:2]]
    if not starts_patch([*inner, ""], 0) and not (rest > first and inner[0].startswith("@@")):
        return None
    cut = [line.removeprefix(margin) if line.strip(WHITE) else line[len(margin) :] for line in lines[rest:]]
    return node.then("text", "\n".join(lines[first:rest] + cut))


def _margin(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def merge_envelopes(node: Node) -> Node | None:
    """Row 14: several envelopes, one after the other, become one if no file is in two of them."""
    lines = node.value.split("\n")
    marks = [(at, is_begin(line)) for at, line in enumerate(lines) if is_begin(line) or is_end(line)]
    if len(marks) < 4 or [begin for _, begin in marks] != [True, False] * (len(marks) // 2):
        return None
    parts = [(marks[at][0], marks[at + 1][0]) for at in range(0, len(marks), 2)]
    if any(line.strip(WHITE) for (_, end), (begin, _) in pairwise(parts) for line in lines[end + 1 : begin]):
        return None
    bodies = ["\n".join(lines[begin + 1 : end]) for begin, end in parts]
    kept: list[int] = []
    for number, body in enumerate(bodies):
        if body not in bodies[:number]:
            kept.append(number)
    seen: set[str] = set()
    for number in kept:
        paths = _paths(bodies[number].split("\n"))
        if not paths or paths & seen:
            raise Refusal("two patches change the same file", parts[number][0] + 1)
        seen |= paths
    head, tail = lines[: parts[0][0] + 1], lines[parts[-1][1] :]
    return node.then("text", "\n".join([*head, *(bodies[number] for number in kept), *tail]))


def _paths(lines: list[str]) -> set[str]:
    headers = [header_of(line) for line in lines]
    decoration = re.compile(r"^[`'\"]*(?:\./)*|[`'\"]*(?:\s*\*{3})?$")
    return {normpath(decoration.sub("", found.path)) for found in headers if found and found.path}


def unescape_newlines(node: Node) -> Node | None:
    r"""Row 10: one physical line with ``\n`` in it. Undone once, and only if no line break can belong to the code."""
    text: str = node.value.strip(WHITE)
    if "\n" in text or "\\n" not in text or text.startswith(("{", "[", '"')):
        return None
    escapes = {match[1] for match in _ESCAPE.finditer(text)}
    # Escaped quotes, and no other ones, show that the whole text was escaped.
    escaped = '"' in escapes and '"' not in _ESCAPE.sub("", text)
    breaks = {"n", "r"} if text.count("\\r") == text.count("\\r\\n") else {"n"}
    if not escapes <= (set(_MEANINGS) if escaped else breaks):
        raise Refusal(_FROM_LITERAL)
    lines = _ESCAPE.sub(lambda match: _MEANINGS[match[1]], text).split("\n")
    if any(not line.strip(WHITE) for line in lines[:-1]):
        raise Refusal(_FROM_LITERAL)
    for before, after in pairwise(lines):
        if any(_cut_quote(before, quote) and _cut_quote(after, quote) for quote in ("'", '"', "`")):
            raise Refusal(_FROM_LITERAL)
    return node.then("text", "\n".join(lines))


def _cut_quote(line: str, quote: str) -> bool:
    """Whether a string may be open at the edge of the line; triple quotes span lines by right."""
    return line.replace(quote * 3, "").count(quote) % 2 == 1
