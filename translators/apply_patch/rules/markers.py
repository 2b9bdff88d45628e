"""The marker lines of a patch: their spelling, their paths, and those that are missing (rows 17 to 19, 27)."""

from __future__ import annotations

import re
from typing import Final

from translators.apply_patch.parse import BEGIN, END, END_OF_FILE, WHITE
from translators.apply_patch.rules.node import Node, carriage, header_of, is_begin, is_end, starts_patch

__all__ = ["add_begin", "add_end", "plain_paths", "spell_markers"]

_DASHED: Final = re.compile(r"[-=#]{3,}\s*(?P<rest>\S.*)")
_DECORATED: Final = re.compile(r"(?P<quote>[`'\"]|\*\*)(?P<path>(?:(?!(?P=quote)).)+)(?P=quote)")
_REMAINS: Final = re.compile(
    r"\*{3}\s*end\s*(?:of\s*)?patch|[\"']\s*[}\]]+\s*$|<\|[^|]*\|>\s*$|"
    r"</(?:\w+:)?(?:parameter|invoke|function\w*|tool\w*|arguments?|input|patch|apply_patch)>\s*$",
    re.I,
)
"""What a last line may end in that is not its own: an End without its line break, the end of the call's JSON or XML."""
_INDENTED: Final = re.compile(r"[ \t]+(?:@@|\*\*\* )")
"""The rest of the text is indented: that is settled first."""


def spell_markers(node: Node) -> Node | None:
    """Rows 17 and 18: markers that are nearly right (``*** Begin Patch ***``, ``***Update File:``, lower case)."""
    lines: list[str] = node.value.split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip(WHITE)]
    dashed = bool(filled) and is_begin(lines[filled[0]]) and not lines[filled[0]].startswith("*")
    spelled = [_spelled(line, dashed and at in (filled[0], filled[-1]), dashed) for at, line in enumerate(lines)]
    return node.then("text", "\n".join(spelled)) if spelled != lines else None


def _spelled(line: str, edge: bool, dashed: bool) -> str:
    """``dashed``: the patch begins with ``--- Begin Patch``, so its other markers may be spelled like that too."""
    if dashed and (match := _DASHED.fullmatch(line.rstrip(WHITE))):
        starred = "*** " + match["rest"]
        if edge or header_of(starred) is not None:
            return _spelled(starred + carriage(line), False, False)
    if not line.startswith("*"):
        return line
    trimmed = line.rstrip(WHITE)
    if trimmed in (BEGIN, END, END_OF_FILE):
        return line
    if is_begin(line):
        return BEGIN + carriage(line)
    if is_end(line):
        return END + carriage(line)
    header = header_of(line)
    if header is None or trimmed == header.prefix + header.path:
        return line
    return header.prefix + header.path + carriage(line)


def plain_paths(node: Node) -> Node | None:
    """Row 27: a path in quotes or backticks, or with `` ***`` after it."""
    if not re.search(r"(?m)^\*\*\*.*[`'\"*][ \t\r]*$", node.value):
        return None
    lines: list[str] = node.value.split("\n")
    plain = [_plain(line) for line in lines]
    return node.then("text", "\n".join(plain)) if plain != lines else None


def _plain(line: str) -> str:
    header = header_of(line)
    if header is None or not header.path:
        return line
    path = _without_stars(header.path)
    while match := _DECORATED.fullmatch(path):
        path = match["path"].strip(WHITE)
    if path == header.path or not path:
        return line
    trimmed = line.rstrip(WHITE)
    return trimmed[: len(trimmed) - len(header.path)] + path + carriage(line)


def _without_stars(path: str) -> str:
    """The path without a blank and three stars or more after it. No pattern: one that begins with blanks takes the
    square of a long run of them."""
    bare = path.rstrip("*")
    return bare.rstrip() if len(path) - len(bare) >= 3 and bare[-1:].isspace() else path


def _edges(lines: list[str]) -> tuple[int, int]:
    filled = [at for at, line in enumerate(lines) if line.strip(WHITE)]
    return (filled[0], filled[-1]) if filled else (-1, -1)


def add_begin(node: Node) -> Node | None:
    """Row 19: the text begins with a file header."""
    lines: list[str] = node.value.split("\n")
    first, _ = _edges(lines)
    if first < 0 or any(is_begin(line) for line in lines):
        return None
    header = header_of(lines[first])
    if header is None or not header.prefix.endswith("File: ") or _INDENTED.match("\n".join(lines[first + 1 :][:1])):
        return None
    return node.then("text", "\n".join([BEGIN + carriage(lines[first]), *lines[first:]]))


def _in_unmarked_file(lines: list[str], last: int) -> bool:
    """Whether the text ends in an added file without ``+``: its last lines may be prose."""
    if lines[last].startswith("+"):
        return False
    found = next((header for at in range(last, -1, -1) if (header := header_of(lines[at]))), None)
    return found is not None and found.prefix == "*** Add File: "


def add_end(node: Node) -> Node | None:
    """Row 19: the patch has no End, the call was not cut off, and its last section is not empty."""
    lines: list[str] = node.value.split("\n")
    first, last = _edges(lines)
    if first < 0 or node.truncated or "unclosed_json" in node.rules or any(is_end(line) for line in lines):
        return None
    if not (lines[first].startswith("*") and starts_patch(lines, first)) or first == last:
        return None
    header = header_of(lines[last])
    if (header is not None and header.prefix not in ("*** Delete File: ", END_OF_FILE)) or lines[last].startswith("@@"):
        return None
    if _in_unmarked_file(lines, last) or _REMAINS.search(lines[last]):
        return None
    end = next(at for at in range(len(lines) - 1, -1, -1) if lines[at].rstrip("\r"))
    return node.then("text", "\n".join([*lines[: end + 1], END + carriage(lines[first]), *lines[end + 1 :][:1]]))
