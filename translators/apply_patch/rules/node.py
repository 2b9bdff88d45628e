"""What the rules of repair work on: one reading of a call, and what a line of a drifted patch is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from translators.apply_patch.parse import BEGIN, END, WHITE

__all__ = [
    "Header",
    "Node",
    "NodeKind",
    "Refusal",
    "Rule",
    "carriage",
    "header_of",
    "is_begin",
    "is_end",
    "is_fence",
    "is_marker",
    "looks_like_patch",
    "starts_patch",
]

NodeKind: TypeAlias = Literal["raw", "value", "text"]


@dataclass(frozen=True, slots=True)
class Node:
    """One reading: ``raw`` is argument text that should be JSON, ``value`` a decoded value, ``text`` a patch text.

    JSON objects are ``Pairs``, so that a repeated key is seen. ``folder`` is where a ``cd`` led before the patch,
    ``level`` how often JSON was found inside JSON, ``rules`` what was applied so far, ``truncated`` whether the call
    was cut off by length. A ``doubtful`` reading only ever speaks against another one.
    """

    kind: NodeKind
    value: Any
    folder: str = ""
    level: int = 0
    truncated: bool = False
    doubtful: bool = False
    rules: tuple[str, ...] = ()

    def then(self, kind: NodeKind, value: Any, **more: Any) -> Node:
        """The reading that a rule makes of this one."""
        return replace(self, kind=kind, value=value, **more)


class Pairs(list[tuple[str, Any]]):
    """A JSON object as its pairs, in order."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One repair. ``does`` returns the repaired reading, or None when the shape is not there, and raises Refusal when
    it is there but what the model meant is not certain. ``suspect`` rules also look at text that parses."""

    id: str
    row: int
    takes: NodeKind
    recognises: str
    does: Callable[[Node], Node | None]
    default: bool = True
    suspect: bool = False


class Refusal(ValueError):
    """A malformed shape whose meaning is not certain. ``reason`` never contains the model's text."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.column = column


_STYLES: Final = ("*", "-", "=", "#")
# A run of blanks is taken at once (``*+``) where more of them may follow: else a long one costs its square.
_FENCE: Final = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*+[\w.+-]*[ \t\r]*")
_BEGIN: Final = re.compile(r"(?:\*{2,}|[-=#]{3,})\s*begin[ _]?(?:of )?(?:the )?patch\s*+:?\s*[-*=#]*", re.I)
_END: Final = re.compile(r"(?:\*{2,}|[-=#]{3,})\s*end[ _]?(?:of )?(?:the )?patch\s*+:?\s*[-*=#]*", re.I)
_HEADER: Final = re.compile(
    r"\*{3,}\s*(?P<verb>add|create|new|delete|remove|update|modify|edit)(?:e?d)?(?:\s*file\s*:\s*|\s*file\s+|\s*:\s*)"
    r"(?P<path>\S.*)",
    re.I,
)
_MOVE: Final = re.compile(r"\*{3,}\s*(?:moved?|renamed?)\s*(?:file\s*)?to(?:\s*:\s*|\s+)(?P<path>\S.*)", re.I)
_END_OF_FILE: Final = re.compile(r"\*{3,}\s*(?:end\s*of\s*file|end\s*file|eof)\s*+:?\s*\**", re.I)
_PREFIX: Final = {
    "add": "*** Add File: ",
    "create": "*** Add File: ",
    "new": "*** Add File: ",
    "delete": "*** Delete File: ",
    "remove": "*** Delete File: ",
    "update": "*** Update File: ",
    "modify": "*** Update File: ",
    "edit": "*** Update File: ",
}
_PATCH: Final = re.compile(
    r"(?:^|\n|\\n)[ \t]*(?:\*{3}\s*begin (?:of )?patch|\*{3}\s*(?:add|update|delete) file|diff --git |--- .*\n\+\+\+ )",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Header:
    """A marker line as it should be: ``prefix`` (with its blank) and the path as it stands ("" when it has none)."""

    prefix: str
    path: str


def header_of(line: str) -> Header | None:
    """The file header, move line or end-of-file mark that a line at column 0 means, exact or drifted."""
    if not line.startswith("***"):
        return None
    line = line.rstrip(WHITE)
    if match := _HEADER.fullmatch(line):
        return Header(_PREFIX[match["verb"].lower()], match["path"])
    if match := _MOVE.fullmatch(line):
        return Header("*** Move to: ", match["path"])
    if _END_OF_FILE.fullmatch(line):
        return Header("*** End of File", "")
    return None


def is_fence(line: str) -> bool:
    """Whether a line opens or closes a code fence and does nothing else."""
    return line.lstrip(" \t").startswith(("```", "~~~")) and _FENCE.fullmatch(line) is not None


def is_begin(line: str) -> bool:
    """Whether a line at column 0 means ``*** Begin Patch``."""
    return line[:1] in _STYLES and (line.rstrip(WHITE) == BEGIN or _BEGIN.fullmatch(line.rstrip(WHITE)) is not None)


def is_end(line: str) -> bool:
    """Whether a line at column 0 means ``*** End Patch``."""
    return line[:1] in _STYLES and (line.rstrip(WHITE) == END or _END.fullmatch(line.rstrip(WHITE)) is not None)


def is_marker(line: str) -> bool:
    """Whether a section of a patch ends before this line: a file header, or the begin or end of a patch."""
    if not line.startswith("*"):
        return False
    header = header_of(line)
    return is_begin(line) or is_end(line) or (header is not None and header.path != "" and "File" in header.prefix)


def starts_patch(lines: list[str], at: int) -> bool:
    """Whether a patch begins at this line: its envelope, a file header, or the header of a unified diff."""
    line = lines[at]
    header = header_of(line)
    if is_begin(line) or (header is not None and header.prefix.endswith("File: ")) or line.startswith("diff --git "):
        return True
    return line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def looks_like_patch(text: str) -> bool:
    """Whether a string that stands somewhere in the arguments may be (or hold) a patch."""
    return _PATCH.search(text) is not None


def carriage(line: str) -> str:
    """The carriage return that a rewritten line must keep."""
    return "\r" if line.endswith("\r") else ""
