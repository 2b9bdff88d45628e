"""A unified diff becomes a V4A patch (row 23); diff headers that repeat what a V4A header says are dropped.

Hunk lines are taken over as they stand. Where a hunk ends is decided by the counts in its ``@@`` line when all counts
of the diff agree with its structure, else by what the lines look like; a removed line that looks like a header makes
the second way uncertain.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from translators.apply_patch.parse import BEGIN, END, WHITE
from translators.apply_patch.rules.hunks import HunkMark, hunk_mark
from translators.apply_patch.rules.node import Node, Refusal, carriage, header_of, is_begin, is_end

__all__ = ["convert_diff", "drop_diff_headers"]

_NOISE: Final = re.compile(
    r"(?:index [0-9a-f]+\.\.[0-9a-f]+|old mode |new mode |new file mode |deleted file mode |similarity index |"
    r"dissimilarity index |Index: |={20,}$|diff --git |diff -)"
)
_SPECIAL: Final = re.compile(r"(?:(?:old |new |new file |deleted file )mode|index \S+) 1[26]0000")
_BINARY: Final = re.compile(r"(?:Binary files .* differ|GIT binary patch)")
_PREFIXES: Final = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"))
_NULL: Final = "/dev/null"

_BINARY_FILE: Final = "a binary file is in the diff"
_RENAME_ONLY: Final = "a file is only renamed or changes its mode: a patch cannot say that"
_TWO_PATHS: Final = "the two file names of a diff header do not belong together"
_COUNTS: Final = "where a hunk of the diff ends is not certain"
_LINK: Final = "a symbolic link or a submodule is in the diff"
_COPY: Final = "a file is copied: a patch cannot say that"
_STRANGE: Final = "a line of the diff is neither a header nor part of a hunk"
_CONTENT: Final = "an added or deleted file has lines of the other kind"


@dataclass(slots=True)
class _Hunk:
    number: int
    mark: HunkMark | None
    text: str
    lines: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _File:
    """One file of a diff: its two names as they stand, what git says beside them, its hunks."""

    number: int
    old: str | None = None
    new: str | None = None
    rename: list[str] = field(default_factory=list)
    git: str = ""
    created: bool = False
    deleted: bool = False
    hunks: list[_Hunk] = field(default_factory=list)


def drop_diff_headers(node: Node) -> Node | None:
    """Row 23, inside V4A: ``--- a/x`` and ``+++ b/x`` after the V4A header of the same file, and git's lines there."""
    lines: list[str] = node.value.split("\n")
    if not any(header_of(line) for line in lines):
        return None
    drop: set[int] = set()
    for at, line in enumerate(lines):
        header = header_of(line)
        if line.startswith("\\ No newline"):
            drop.add(at)
        if header is None or not header.prefix.endswith("File: "):
            continue
        start = at + 1
        move = header_of(lines[start]) if start < len(lines) else None
        paths = {header.path}
        if move is not None and move.prefix == "*** Move to: ":
            paths.add(move.path)
            start += 1
        end = start
        while end < len(lines) and _NOISE.match(lines[end]):
            end += 1
        pair = lines[end : end + 3]
        if len(pair) == 3 and pair[0].startswith("--- ") and pair[1].startswith("+++ ") and _same(paths, pair):
            end += 2
        elif _is_pair(lines, end) and hunk_mark(lines[end + 2]):
            raise Refusal(_TWO_PATHS, end + 1)
        elif end == start:
            continue
        drop.update(range(start, end))
        if "Delete" in header.prefix and lines[end].startswith("@@"):
            drop.update(_removed_lines(lines, end))
    return node.then("text", "\n".join(line for at, line in enumerate(lines) if at not in drop)) if drop else None


def _same(paths: set[str], pair: list[str]) -> bool:
    """Whether the headers name the file of the V4A header and a hunk follows (else they may be content)."""
    names = {_bare(_name(line[4:])) for line in pair[:2]} - {_NULL}
    plain = {_name(line[4:]) for line in pair[:2]} - {_NULL}
    paths = {path.strip("`'\"").removeprefix("./") for path in paths}
    return pair[2].startswith("@@") and (names == paths or plain == paths)


def _removed_lines(lines: list[str], start: int) -> range:
    end = start + 1
    while end < len(lines) and lines[end].startswith("-"):
        end += 1
    return range(start, end)


def convert_diff(node: Node) -> Node | None:
    """Row 23: a diff instead of a patch, with or without the envelope around it."""
    lines: list[str] = node.value.split("\n")
    inside = _inside(node, lines)
    if inside is None:
        return None
    start, end = inside
    try:
        files = _Reader(lines, start, end, by_counts=True).read()
    except Refusal as refusal:
        if refusal.reason != _COUNTS:
            raise
        files = _Reader(lines, start, end, by_counts=False).read()
    eol = carriage(lines[start])
    out = [line for file in files for line in _section(file, eol)]
    rest = [""] if lines[-1] == "" else []
    return node.then("text", "\n".join([BEGIN + eol, *out, END + eol, *rest]))


def _inside(node: Node, lines: list[str]) -> tuple[int, int] | None:
    """The lines of the diff; None when the text does not begin with one."""
    filled = [at for at, line in enumerate(lines) if line.rstrip("\r")]
    if not filled:
        return None
    start, end = filled[0], filled[-1] + 1
    begun, ended = is_begin(lines[start]), is_end(lines[end - 1])
    if node.truncated and not ended:
        return None
    if begun != ended or any(header_of(line) for line in lines[start:end]):
        return None
    if begun:
        start, end = start + 1, end - 1
        while start < end and not lines[start].strip(WHITE):
            start += 1
    if end - start < 2 or not (lines[start].startswith("--- ") or _NOISE.match(lines[start])):
        return None
    return (start, end) if any(_is_pair(lines, at) for at in range(start, end)) or _git(lines[start]) else None


def _git(line: str) -> bool:
    return line.startswith("diff --git ")


def _is_pair(lines: list[str], at: int) -> bool:
    """Whether the two header lines of a file stand here, with a hunk after them."""
    return (
        at + 2 < len(lines)
        and lines[at].startswith("--- ")
        and lines[at + 1].startswith("+++ ")
        and lines[at + 2].startswith("@@")
    )


class _Reader:
    """Reads the files of a diff from ``lines[start:end]``."""

    def __init__(self, lines: list[str], start: int, end: int, *, by_counts: bool) -> None:
        self.lines = lines
        self.at = start
        self.end = end
        self.by_counts = by_counts
        self.files: list[_File] = []

    def read(self) -> list[_File]:
        while self.at < self.end:
            line = self.lines[self.at]
            if _BINARY.match(line):
                raise Refusal(_BINARY_FILE, self.at + 1)
            if line.startswith("@@") and self.files and self.files[-1].old is not None:
                self._hunk(self.files[-1])
            elif _is_pair(self.lines, self.at):
                file = self.files[-1] if self.files and self.files[-1].old is None else self._new()
                file.old, file.new = _name(line[4:]), _name(self.lines[self.at + 1][4:])
                self.at += 2
            elif _git(line):
                self._new().git = line.rstrip(WHITE).removeprefix("diff --git ")
                self.at += 1
            elif not self._extended(line):
                raise Refusal(_STRANGE, self.at + 1)
        return self.files

    def _new(self) -> _File:
        self.files.append(_File(self.at + 1))
        return self.files[-1]

    def _extended(self, line: str) -> bool:
        """Git's own header lines, and blank lines between files."""
        if line.startswith(("copy from ", "copy to ")):
            raise Refusal(_COPY, self.at + 1)
        if _SPECIAL.match(line):
            raise Refusal(_LINK, self.at + 1)
        self.at += 1
        file = self.files[-1] if self.files else None
        if line.startswith(("rename from ", "rename to ")) and file is not None:
            file.rename.append(_name(line.split(" ", 2)[2]))
            return True
        if file is not None:
            file.created = file.created or line.startswith("new file mode")
            file.deleted = file.deleted or line.startswith("deleted file mode")
        return not line.strip(WHITE) or _NOISE.match(line) is not None or line.startswith("\\ ")

    def _hunk(self, file: _File) -> None:
        line = self.lines[self.at]
        hunk = _Hunk(self.at + 1, hunk_mark(line), line.rstrip(WHITE))
        file.hunks.append(hunk)
        self.at += 1
        if self.by_counts:
            self._counted(hunk)
        else:
            self._guessed(hunk)

    def _counted(self, hunk: _Hunk) -> None:
        if hunk.mark is None or hunk.mark.counts is None:
            raise Refusal(_COUNTS, self.at)
        old, new = hunk.mark.counts
        while (old > 0 or new > 0) and self.at < self.end:
            line = self.lines[self.at]
            sign = line[:1] if line.rstrip("\r") else " "
            old -= sign in " -"
            new -= sign in " +"
            if sign not in " -+\\":
                raise Refusal(_COUNTS, self.at)
            if sign != "\\":
                hunk.lines.append(line)
            self.at += 1
        while self.at < self.end and self.lines[self.at].startswith("\\ "):
            self.at += 1
        if old or new or not self._at_boundary():
            raise Refusal(_COUNTS, self.at)

    def _at_boundary(self) -> bool:
        at = self.at
        while at < self.end and not self.lines[at].strip(WHITE):
            at += 1
        line = self.lines[at] if at < self.end else ""
        return at == self.end or line.startswith("@@") or _is_pair(self.lines, at) or _NOISE.match(line) is not None

    def _guessed(self, hunk: _Hunk) -> None:
        old, new = (hunk.mark.counts if hunk.mark else None) or (-1, -1)
        while self.at < self.end:
            line = self.lines[self.at]
            if old == new == 0 and not line.rstrip("\r") and not self._at_boundary():
                raise Refusal(_COUNTS + " here", self.at + 1)
            old -= line[:1] in (" ", "-")
            new -= line[:1] in (" ", "+")
            if line.startswith("@@") or _is_pair(self.lines, self.at) or _NOISE.match(line):
                break
            if line.startswith(("--- ", "+++ ")):
                raise Refusal(_COUNTS + " here", self.at + 1)
            if line.startswith("\\ "):
                self.at += 1
                continue
            if line.rstrip("\r") and line[0] not in " +-":
                raise Refusal(_STRANGE, self.at + 1)
            hunk.lines.append(line)
            self.at += 1
        while hunk.lines and not hunk.lines[-1].rstrip("\r"):
            hunk.lines.pop()


def _name(text: str) -> str:
    """A file name of a diff header without its time stamp and quotes."""
    text = text.split("\t")[0].rstrip(WHITE)
    if len(text) > 1 and text[0] == text[-1] == '"':
        if "\\" in text:
            raise Refusal("a file name of the diff is escaped")
        text = text[1:-1]
    return text


def _bare(name: str) -> str:
    return name[2:] if name[:2] in ("a/", "b/", "i/", "w/", "c/", "o/") else name


def _paths(file: _File) -> tuple[str | None, str | None]:
    """The old and the new path (None: there is none) without the prefixes that diff tools put before them."""
    if file.old is None or file.new is None:
        return _without_hunks(file)
    old, new = file.old, file.new
    if file.git and any(name != _NULL and name not in file.git for name in (old, new)):
        raise Refusal(_TWO_PATHS, file.number)
    if file.rename and len(file.rename) == 2:
        return file.rename[0], file.rename[1]
    if old == _NULL and new != _NULL:
        return None, new.removeprefix("b/")
    if new == _NULL and old != _NULL:
        return old.removeprefix("a/"), None
    for before, after in _PREFIXES:
        if old.startswith(before) and new.startswith(after) and old[2:] == new[2:]:
            return old[2:], new[2:]
    if old == new:
        return old, new
    if _bare(old) == new or old == _bare(new):
        return min(old, new, key=len), min(old, new, key=len)
    raise Refusal(_TWO_PATHS, file.number)


def _without_hunks(file: _File) -> tuple[str | None, str | None]:
    """Git writes no names for an empty file that comes or goes."""
    half = len(file.git) // 2
    first, second = file.git[:half], file.git[half + 1 :]
    if first[2:] != second[2:] or not (file.created or file.deleted):
        raise Refusal(_RENAME_ONLY, file.number)
    return (None, second[2:]) if file.created else (first[2:], None)


def _section(file: _File, eol: str) -> list[str]:
    """The V4A lines of one file."""
    old, new = _paths(file)
    if new is None:
        if not _whole(file.hunks):
            raise Refusal(_CONTENT, file.number)
        return [f"*** Delete File: {old}{eol}"]
    if old is None:
        lines = [line for hunk in file.hunks for line in hunk.lines]
        if len(file.hunks) > 1 or any(line[:1] != "+" for line in lines):
            raise Refusal(_CONTENT, file.number)
        return [f"*** Add File: {new}{eol}", *lines]
    if not file.hunks:
        raise Refusal(_RENAME_ONLY, file.number)
    head = [f"*** Update File: {old}{eol}"] + ([f"*** Move to: {new}{eol}"] if new != old else [])
    return head + _hunks(file, eol)


def _whole(hunks: list[_Hunk]) -> bool:
    """Whether hunks remove a file from its first line on, without a gap (where they end nobody says)."""
    at = 1
    for hunk in hunks:
        if any(line[:1] != "-" for line in hunk.lines) or (hunk.mark and hunk.mark.counts and hunk.mark.counts[1]):
            return False
        if hunk.mark and hunk.mark.start is not None:
            if hunk.mark.start not in (at, 0):
                return False
            at += len(hunk.lines)
        elif len(hunks) > 1:
            return False
    return True


def _hunks(file: _File, eol: str) -> list[str]:
    out: list[str] = []
    shown: set[str] = set()
    following = 1
    for hunk in file.hunks:
        mark = hunk.mark
        out.append((mark.line(hunk.lines, shown, hunk.number, following) if mark else hunk.text) + eol)
        following = mark.following(hunk.lines) if mark else 0
        out += hunk.lines
        shown.update(line[1:].strip(WHITE) for line in hunk.lines if line[:1] in (" ", "-"))
        if hunk.mark:
            shown.add(hunk.mark.context.strip(WHITE))
    return out
