"""V4A, the patch format of Codex, as a line state machine: what Codex accepts, with the place of the first defect.

The states and what each of them takes were measured with the parser of Codex CLI 0.171.0 (the native binary, started
as ``apply_patch``); it is more lenient than the grammar that Codex declares: CRLF, white space around the text and
after a marker, a ``<<EOF`` wrapper, blank lines for blank context, a hunk without ``@@``. Two things are stricter
here: a text without an operation is not a patch (Codex: "No files were modified"), and neither is a lone surrogate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

__all__ = ["BEGIN", "END", "END_OF_FILE", "HEADERS", "WHITE", "Hunk", "Operation", "Patch", "PatchError", "parse"]

BEGIN: Final = "*** Begin Patch"
END: Final = "*** End Patch"
ENVIRONMENT: Final = "*** Environment ID: "
MOVE: Final = "*** Move to: "
END_OF_FILE: Final = "*** End of File"

Kind: TypeAlias = Literal["add", "delete", "update"]
HEADERS: Final[dict[str, Kind]] = {
    "*** Add File: ": "add",
    "*** Delete File: ": "delete",
    "*** Update File: ": "update",
}

WHITE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a" + (
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Unicode white space as Rust trims it; Python's own list has four control characters more."""

_HEREDOCS: Final = ("<<EOF", "<<'EOF'", '<<"EOF"')


class PatchError(ValueError):
    """The text is not a V4A patch. ``reason`` never contains the model's text; line and column count from 1."""

    def __init__(self, reason: str, line: int, column: int = 1) -> None:
        super().__init__(f"line {line}, column {column}: {reason}")
        self.reason = reason
        self.line = line
        self.column = column


@dataclass(slots=True)
class Hunk:
    """One change of an update. ``context`` is the text after ``@@ `` (None: no ``@@`` line, or a bare one), ``lines``
    the lines with their signs as they stand (a blank line is blank context), ``line`` the number of its first line."""

    context: str | None
    line: int
    marked: bool
    lines: list[str] = field(default_factory=list)
    end_of_file: bool = False


@dataclass(slots=True)
class Operation:
    """What happens to one file. ``line`` is the number of its header, ``move_line`` that of ``*** Move to:`` (or 0)."""

    kind: Kind
    path: str
    line: int
    added: list[str] = field(default_factory=list)
    hunks: list[Hunk] = field(default_factory=list)
    move_to: str | None = None
    move_line: int = 0


@dataclass(slots=True)
class Patch:
    """A complete patch: at least one operation, in the order of the text."""

    operations: list[Operation]
    environment: str | None


_NO_BEGIN: Final = "the first line is not `*** Begin Patch`"
_NO_END: Final = "the last line is not `*** End Patch`"
_NOT_A_HEADER: Final = "neither a file header (`*** Add File: `, `*** Delete File: `, `*** Update File: `) nor the end"
_NOT_ADDED: Final = "a line of an added file does not begin with `+`"
_NOT_A_CHANGE: Final = "a line of a hunk begins with none of ` `, `+`, `-`"
_NEEDS_MARK: Final = "a new hunk has to begin with `@@`"
_EMPTY_UPDATE: Final = "an update has no hunk"
_EMPTY_HUNK: Final = "a hunk has no lines"
_NO_OPERATION: Final = "the patch names no file"
_ENVIRONMENT_EMPTY: Final = "`*** Environment ID:` names none"
_ENVIRONMENT_TWICE: Final = "`*** Environment ID:` stands twice"
_SURROGATE: Final = "half a surrogate pair stands in the text"


def parse(text: str) -> Patch:
    """The operations of a patch text, or PatchError at the first line that is wrong."""
    if not text.isascii():
        _check_characters(text)
    body = text.strip(WHITE)
    first = text[: len(text) - len(text.lstrip(WHITE))].count("\n") + 1
    lines = [line.rstrip("\r") for line in body.split("\n")] if "\r" in body else body.split("\n")
    return _Parser(*_inside(lines, first)).run()


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        raise PatchError(_SURROGATE, line, error.start - text.rfind("\n", 0, error.start)) from None


def _inside(lines: list[str], first: int) -> tuple[list[str], int]:
    """The lines between Begin and End, and the number of the first of them."""
    if lines[0] in _HEREDOCS and lines[-1].endswith("EOF") and len(lines) >= 4:
        lines = lines[1:-1]
        first += 1
    if lines[0].strip(WHITE) != BEGIN:
        raise PatchError(_NO_BEGIN, first)
    if len(lines) < 2 or lines[-1].strip(WHITE) != END:
        raise PatchError(_NO_END, first + len(lines) - 1)
    return lines[1:-1], first + 1


class _Parser:
    """One method per state; each takes a line that the common part (headers, the end) did not."""

    def __init__(self, lines: list[str], first: int) -> None:
        self.lines = lines
        self.number = first - 1
        self.operations: list[Operation] = []
        self.environment: str | None = None
        self.state = self._started

    def run(self) -> Patch:
        for line in self.lines:
            self.number += 1
            if line.startswith("+") and self.state == self._added:
                self.operations[-1].added.append(line)
            else:
                self.state(line)
        self._leave(self.number + 1)
        if not self.operations:
            raise PatchError(_NO_OPERATION, self.number + 1)
        return Patch(self.operations, self.environment)

    def _header(self, line: str) -> bool:
        """Whether the (trimmed) line opens the next file or ends the patch."""
        if not line.startswith("*** "):
            return False
        if line == END:
            self._leave(self.number)
            self.state = self._ended
            return True
        colon = line.find(": ") + 2
        kind = HEADERS.get(line[:colon])
        if kind is None:
            return False
        self._leave(self.number)
        self.operations.append(Operation(kind, line[colon:], self.number))
        self.state = {"add": self._added, "delete": self._deleted, "update": self._updated}[kind]
        return True

    def _leave(self, number: int) -> None:
        """An update must have changed something before the next file begins."""
        if not self.operations or self.operations[-1].kind != "update":
            return
        last = self.operations[-1]
        if not last.hunks:
            raise PatchError(_EMPTY_UPDATE, last.line)
        if not last.hunks[-1].lines:
            raise PatchError(_EMPTY_HUNK, number)

    def _started(self, line: str) -> None:
        trimmed = line.strip(WHITE)
        if trimmed.startswith(ENVIRONMENT.rstrip()) and not self._header(trimmed):
            name = trimmed.removeprefix(ENVIRONMENT.rstrip()).strip(WHITE)
            if not name:
                raise PatchError(_ENVIRONMENT_EMPTY, self.number)
            if self.environment is not None:
                raise PatchError(_ENVIRONMENT_TWICE, self.number)
            self.environment = name
        elif not self._header(trimmed):
            raise PatchError(_NOT_A_HEADER, self.number)

    def _added(self, line: str) -> None:
        if not self._header(line.strip(WHITE)):
            raise PatchError(_NOT_ADDED, self.number)

    def _deleted(self, line: str) -> None:
        if not self._header(line.strip(WHITE)):
            raise PatchError(_NOT_A_HEADER, self.number)

    def _ended(self, line: str) -> None:
        if line.strip(WHITE):
            raise PatchError(_NO_END, self.number)

    def _updated(self, line: str) -> None:
        operation = self.operations[-1]
        hunks = operation.hunks
        sign = line[:1]
        if (sign == " " or sign == "+" or sign == "-" or not sign) and hunks and not hunks[-1].end_of_file:
            hunks[-1].lines.append(line)
            return
        trimmed = line.rstrip(WHITE)
        if self._header(trimmed) or self._marker(operation, trimmed):
            return
        if hunks and hunks[-1].end_of_file:
            if line.strip(WHITE):
                raise PatchError(_NEEDS_MARK, self.number)
        elif not sign or sign in " +-":
            hunks.append(Hunk(None, self.number, False, [line]))
        else:
            raise PatchError(_NEEDS_MARK if hunks and hunks[-1].lines else _NOT_A_CHANGE, self.number)

    def _marker(self, operation: Operation, line: str) -> bool:
        hunks = operation.hunks
        if line == "@@" or line.startswith("@@ "):
            if hunks and not hunks[-1].lines:
                raise PatchError(_NOT_A_CHANGE, self.number)
            hunks.append(Hunk(line[3:] or None, self.number, True))
            return True
        if line == END_OF_FILE:
            if hunks and not hunks[-1].lines:
                raise PatchError(_EMPTY_HUNK, self.number)
            if hunks:
                if hunks[-1].end_of_file:
                    raise PatchError(_NEEDS_MARK, self.number)
                hunks[-1].end_of_file = True
            return True
        if line.startswith(MOVE) and not hunks and operation.move_to is None:
            operation.move_to, operation.move_line = line.removeprefix(MOVE), self.number
            return True
        return False
