"""The lines inside the sections of a patch (rows 24, 25, 26, 29). Content is changed only where a rule says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from translators.apply_patch.parse import WHITE
from translators.apply_patch.rules.node import Node, Refusal, carriage, header_of, is_begin, is_end, is_marker

__all__ = ["HunkMark", "drop_trailing_blanks", "hunk_mark", "mark_added", "plain_hunk_marks", "space_context"]

_RANGE: Final = re.compile(r"@@\s*-(\d+)(?:,(\d+))?(?:\s*\+(\d+)(?:,(\d+))?)?\s*(?:@@+\s?(?P<context>.*))?")
_EMPTY: Final = re.compile(r"@@\s*+(?:\.{3}|…)?\s*@@+\s?(?P<context>(?!\s*-\d).*)")
_UNSIGNED: Final = re.compile(r"@@\s*(?:lines?\s+)?(\d+)(?:\s*[,-]\s*\d+)?\s*@@+\s?(?P<context>.*)")
_GLUED: Final = re.compile(r"@@(?P<context>[^\s@].*)")
_CLOSED: Final = re.compile(r"@@ (?P<context>(?!@@|-\d).*\S)\s+@@+")
_INSERTION: Final = "a hunk with line numbers only adds lines: where they belong is not certain"
_ANYWHERE: Final = "without its line numbers a hunk may fit in several places"
_CONTENT: Final = "a line may be a marker or content of the file that is added without `+`"
_TELLING: Final = 3
"""So many old lines say where they are."""


@dataclass(frozen=True, slots=True)
class _Section:
    """The lines after one file header, up to the next marker: ``lines[start:end]``."""

    kind: str
    start: int
    end: int


def _sections(lines: list[str]) -> Iterator[_Section]:
    start = -1
    kind = ""
    for at, line in enumerate(lines):
        if not is_marker(line):
            continue
        if kind:
            yield _Section(kind, start, at)
        header = header_of(line)
        kind = "" if header is None or is_end(line) else header.prefix.split(" ")[1].lower()
        if is_begin(line):
            kind = "begin"
        start = at + 1
    if kind:
        yield _Section(kind, start, len(lines))


def mark_added(node: Node) -> Node | None:
    """Row 25: an added file without any ``+``, or with blank lines between its ``+`` lines."""
    lines: list[str] = node.value.split("\n")
    out = list(lines)
    for section in _sections(lines):
        if section.kind != "add":
            continue
        end = section.end
        while end > section.start and not lines[end - 1].strip(WHITE):
            end -= 1
        content = lines[section.start : end]
        filled = [line for line in content if line.strip(WHITE)]
        if not filled or not content[0].strip(WHITE) or section.end == len(lines):
            continue
        plus = [line.startswith("+") for line in filled]
        if not any(plus):
            if all(line[0] in " \t" for line in filled) or any(line.startswith("@@") for line in filled):
                continue
            closing = lines[section.end]
            header = header_of(closing)
            if header is not None and closing.rstrip(WHITE) != header.prefix + header.path:
                raise Refusal(_CONTENT, section.end + 1)
            out[section.start : end] = ["+" + line for line in content]
        elif all(plus):
            out[section.start : end] = [line if line.strip(WHITE) else "+" + carriage(line) for line in content]
    return node.then("text", "\n".join(out)) if out != lines else None


def space_context(node: Node) -> Node | None:
    """Row 26 (off): context lines of an update without their leading blank."""
    lines: list[str] = node.value.split("\n")
    out = list(lines)
    for section in _sections(lines):
        body = lines[section.start : section.end]
        if section.kind == "update" and any(line[:1] in ("+", "-", " ") for line in body):
            out[section.start : section.end] = [
                " " + line if line.strip(WHITE) and line[0] not in " +-@*" else line for line in body
            ]
    return node.then("text", "\n".join(out)) if out != lines else None


def drop_trailing_blanks(node: Node) -> Node | None:
    """Row 29: blank lines before a marker. One blank line at the end of an update is left: Codex tries with and without
    it. More of them it takes for context, and finds nothing where they are none."""
    lines: list[str] = node.value.split("\n")
    if any(hunk_mark(line) for line in lines):
        return None  # what a hunk says of its place is settled first
    drop: set[int] = set()
    for section in _sections(lines):
        if section.end == len(lines):
            continue
        update = section.kind == "update"
        blank = "\r" if update else WHITE  # in an update white space is a line of context
        start = section.end
        while start > section.start and not lines[start - 1].strip(blank):
            start -= 1
        if update and section.end - start > 1:
            drop.update(range(start + _kept_blanks(lines, section.start, start), section.end))
        elif section.kind == "add" or (not update and start == section.start):
            drop.update(range(start, section.end))
    return node.then("text", "\n".join(line for at, line in enumerate(lines) if at not in drop)) if drop else None


def _kept_blanks(lines: list[str], start: int, end: int) -> int:
    """How many of the blank lines behind ``lines[start:end]`` stay: one, which may decide between places and which
    Codex does without where it is not found, and all where nothing else is there to be found."""
    for at in range(end - 1, start - 1, -1):
        if lines[at].startswith("@@"):
            break
        if lines[at][:1] in (" ", "-"):
            return 1
    return len(lines)


@dataclass(frozen=True, slots=True)
class HunkMark:
    """A drifted ``@@`` line. ``context`` is the text that says where ("" if none); ``start`` the number of the first
    old line (None: no line numbers); ``counts`` the old and the new number of lines; ``from_nothing``: the old file
    had no lines at all."""

    context: str
    start: int | None = None
    counts: tuple[int, int] | None = None
    from_nothing: bool = False

    def line(self, body: list[str], shown: set[str], number: int, following: int) -> str:
        """The V4A line for the hunk with the lines ``body``; ``shown``: the (stripped) lines that the hunks of
        the file before it show, ``following``: the number of the line behind them (0: not known).

        A patch has no line numbers: the old lines must say as much. Codex looks for the context after the previous
        hunk, and for the old lines after the context. Raises Refusal, at line ``number``.
        """
        plain = f"@@ {self.context}" if self.context else "@@"
        if self.start is None:
            return plain
        own = [line[1:] for line in body if line[:1] in (" ", "-")]
        if not own:
            raise Refusal(_INSERTION, number)
        telling = len(own) >= _TELLING and any(line.startswith(" ") for line in body)
        if not self.context:
            if self.start != following and not any(line.startswith(" ") for line in body) and len(own) < _TELLING:
                raise Refusal(_ANYWHERE, number)
            return plain
        place = self.context.strip(WHITE)
        if any(line.strip(WHITE) == place for line in own):
            # Above the hunk, as diffs mean it, or the hunk's own first line, as some models do.
            raise Refusal(_ANYWHERE, number)
        if place in shown:
            # It was passed and would not be found again, unless two functions have the same first line.
            if not telling:
                raise Refusal(_ANYWHERE, number)
            return "@@"
        return plain

    def following(self, body: list[str]) -> int:
        """The number of the old line behind a hunk with the lines ``body``; 0 when it is not known."""
        if self.start is None or not all(line[:1] in (" ", "-", "+") for line in body):
            return 0
        return self.start + sum(line[0] != "+" for line in body)


def hunk_mark(line: str) -> HunkMark | None:
    """What a line means that is nearly ``@@`` or ``@@ context``; None for exact ones and for other lines."""
    if not line.startswith("@@"):
        return None
    line = line.rstrip(WHITE)
    if match := _RANGE.fullmatch(line):
        old = int(match[2] or 1)
        counts = (old, int(match[4] or 1)) if match[3] else None
        return HunkMark(match["context"] or "", int(match[1]), counts, int(match[1]) == 0 and old == 0)
    if match := _UNSIGNED.fullmatch(line):
        return HunkMark(match["context"], int(match[1]))
    for form in (_EMPTY, _CLOSED, _GLUED):
        if match := form.fullmatch(line):
            return HunkMark(match["context"].removesuffix("@@").rstrip(WHITE))
    return None


def plain_hunk_marks(node: Node) -> Node | None:
    """Row 24: ``@@`` lines with line numbers, and other spellings of them, in the sections of a V4A patch."""
    lines: list[str] = node.value.split("\n")
    if not any(line.startswith("@@") and hunk_mark(line) for line in lines) and not _marked_addition(lines):
        return None
    out = list(lines)
    for section in _sections(lines):
        if section.kind == "update":
            _plain_section(lines, out, section)
    for at in _marked_addition(lines):
        out[at] = "\0"
    out = [line for line in out if line != "\0"]
    return node.then("text", "\n".join(out)) if out != lines else None


def _marked_addition(lines: list[str]) -> list[int]:
    """The ``@@`` lines directly after the header of an added file whose other lines all begin with ``+``."""
    found = []
    for section in _sections(lines):
        body = [line for line in lines[section.start : section.end] if line.strip(WHITE)]
        if section.kind == "add" and len(body) > 1 and body[0].startswith("@@") and lines[section.start] == body[0]:
            mark = hunk_mark(body[0])
            known = body[0].rstrip(WHITE) == "@@" or (mark is not None and mark.from_nothing)
            if known and all(line.startswith("+") for line in body[1:]):
                found.append(section.start)
    return found


def _plain_section(lines: list[str], out: list[str], section: _Section) -> None:
    shown: set[str] = set()
    following = 1
    for at in range(section.start, section.end):
        line = lines[at]
        mark = hunk_mark(line)
        if mark is None:
            following = 0 if line.startswith("@@") else following
            if line.startswith("@@ "):
                shown.add(line[3:].strip(WHITE))
            elif line[:1] in (" ", "-"):
                shown.add(line[1:].strip(WHITE))
            continue
        body = _hunk_body(lines, at + 1, section.end)
        out[at] = mark.line(body, shown, at + 1, following) + carriage(line)
        following = mark.following(body)
        if mark.context:
            shown.add(mark.context.strip(WHITE))


def _hunk_body(lines: list[str], start: int, end: int) -> list[str]:
    stop = next((at for at in range(start, end) if lines[at].startswith("@@")), end)
    return lines[start:stop]
