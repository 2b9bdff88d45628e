"""The incremental reader of one ``apply_patch`` call: live while it is right, held where it has to be repaired.

A patch that begins as patches begin streams as any custom tool's input does, at no cost per delta. Everything else is
held and judged at the end. What was streamed is never taken back: a repair may then only add to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import orjson

from translators.apply_patch.parse import BEGIN, END, END_OF_FILE, HEADERS
from translators.apply_patch.repair import Canonical, Refused, repair
from translators.apply_patch.rules.hunks import hunk_mark
from translators.apply_patch.unwrap import _COMPLETE, _IN_VALUE, InputReader, UnwrapError, judge

__all__ = ["PatchReader"]

DELAY: Final = 64
"""Bytes of text that are held back at most once the first line was recognised."""

_PREFIXES: Final = (*HEADERS, "*** Environment ID: ", "*** Move to: ")
_RETRACTED: Final = "the repaired patch differs from what was streamed"
_CONTRADICTION: Final = "the complete arguments contradict what was streamed"
_LATE: Final = "argument text arrived after the end of the arguments"


class PatchReader(InputReader):
    """Reads and repairs the argument text of one ``apply_patch`` call, with the methods of ``InputReader``.

    After ``finish``: ``text()`` is the patch; ``rules`` are the ids of what was repaired; ``defect`` is None, or why
    the text is no patch although the arguments were right (then ``text()`` is what the model wrote, unchanged), with
    ``line`` and ``column`` beside it; ``notes`` names what was seen and left alone. Arguments that are broken beyond
    repair raise UnwrapError, as does a repair that would change what was streamed.
    """

    __slots__ = ("_deciding", "_enabled", "_held", "_raw", "column", "defect", "line", "notes", "rules")

    def __init__(self, *, live: bool = True, enabled: Mapping[str, bool] | None = None) -> None:
        """``live=False`` holds everything to the end; ``enabled`` switches rules by id (see ``repair``)."""
        super().__init__()
        self.rules: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.defect: str | None = None
        self.line = 0
        self.column = 0
        self._enabled = enabled
        self._deciding = live
        self._held = not live
        self._raw: list[str] = []

    @property
    def canonical_so_far(self) -> bool:
        """Whether what came so far is streamed live (False while nothing is decided, too)."""
        return not self._deciding and not self._held

    def _read(self, text: str) -> str:
        """Everything but the fast paths of ``feed`` comes here: the beginning, what is held (``in_plain_string`` stays
        False there, which keeps the fast paths away), and what is irregular."""
        if self.error is not None:
            raise self.error.with_traceback(None)
        if self._finished and text:
            self._fail(_LATE, self._position())
        if self._held:
            self._raw.append(text)
            return ""
        if self._deciding:
            return self._decide(text)
        before = self._state, self._escape, self._high
        try:
            return super()._read(text)
        except UnwrapError:
            self._hold_from(text, before)
            return ""

    def _hold_from(self, text: str, before: tuple[int, str, int]) -> None:
        """Streaming ends in front of a defect. The arguments so far are written again, in other words, so that they
        can be judged as a whole."""
        self._state, self._escape, self._high = before
        self.error = None
        self.in_plain_string = False
        self._held = True
        self._raw = [self._again(), text]

    def _again(self) -> str:
        """Arguments that say what was read so far."""
        head = '{"input":' + orjson.dumps(self.text()).decode()
        if self._state == _IN_VALUE:
            return head[:-1] + (f"\\u{self._high:04x}" if self._high else "") + self._escape
        return head + "}" if self._state == _COMPLETE else head

    def _decide(self, text: str) -> str:
        self._raw.append(text)
        try:
            super()._read(text)
        except UnwrapError:
            self.error = None
            self._held, self._deciding = True, False
            self._reset()
            return ""
        # A call that came whole costs no delay when it is held, and everything in it can still be repaired.
        decision = _begins_right(self._buffer.getvalue()) if self._state <= _IN_VALUE else False
        if decision is None:
            self.in_plain_string = False
            return ""
        self._deciding = False
        if not decision:
            self._held = True
            self._reset()
            return ""
        self._raw = []
        return self.text()

    def _reset(self) -> None:
        """Nothing was released: what was decoded to decide is forgotten."""
        self.in_plain_string = False
        self._buffer.seek(0)
        self._buffer.truncate()

    def finish(self, full: str | None = None, *, truncated: bool = False) -> str:
        """End of the arguments; returns the part of the patch that was not streamed.

        ``full`` is the upstream's complete arguments text, if it sent one; ``truncated`` says that the call ended
        because a length limit was reached. May be called again with equivalent arguments. Raises UnwrapError.
        """
        if self.error is not None:
            raise self.error.with_traceback(None)
        if self._deciding:
            self._deciding, self._held = False, True
            self._reset()
        streamed = self.text()
        arguments = full if full is not None else self._arguments()
        if arguments is None:
            return ""
        text = self._judged(arguments, truncated)
        if not text.startswith(streamed) or (self._finished and text != streamed):
            text = self._unrepaired(arguments, streamed)
        self._finished = True
        self.in_plain_string = False
        self._buffer.write(text[len(streamed) :])
        self._raw = []
        return text[len(streamed) :]

    def _arguments(self) -> str | None:
        """The complete arguments from what was fed; None when a repeated ``finish`` has nothing new to judge."""
        if self._finished:
            return None
        return "".join(self._raw) if self._held else self._again()

    def _judged(self, arguments: str, truncated: bool) -> str:
        outcome = repair(arguments, truncated=truncated, enabled=self._enabled)
        if isinstance(outcome, Refused):
            if outcome.text is None:
                self._fail(outcome.reason, self._position())
            self._tell(outcome.reason, outcome.line, outcome.column)
            return outcome.text
        self.rules = () if isinstance(outcome, Canonical) else outcome.rules
        self.notes = outcome.notes
        return outcome.text

    def _tell(self, defect: str, line: int, column: int) -> None:
        self.rules = ()
        self.defect, self.line, self.column = defect, line, column

    def _unrepaired(self, arguments: str, streamed: str) -> str:
        """The repair would change what was streamed: the text as the model wrote it, if that agrees."""
        try:
            text = judge(arguments)
        except UnwrapError as error:
            self._fail(error.reason, error.position)
        if not text.startswith(streamed) or (self._finished and text != streamed):
            self._fail(_CONTRADICTION, self._position())
        self._tell(_RETRACTED, 1, 1)
        return text


def _begins_right(text: str) -> bool | None:
    """Whether a text begins as a patch does; None: not yet known. Known after 64 bytes at the latest."""
    lines = text.split("\n")
    rest = lines.pop().removesuffix("\r")
    whole = [line.removesuffix("\r") for line in lines]
    if not whole:
        return None if BEGIN.startswith(rest) else False
    if whole[0] != BEGIN or not all(_right(line) for line in whole[1:]) or not _may_become_right(rest):
        return False
    second = whole[1] if len(whole) > 1 else rest
    if second and not second.startswith("*"):
        return False  # no header stands there: all lines but the first may be indented
    known = len(whole) > 1 and not whole[-1].startswith("***")
    return True if known or len(text.encode("utf-8", "surrogatepass")) >= DELAY else None


def _right(line: str) -> bool:
    """A complete line that no rule would touch at the top of a patch."""
    if line.startswith("***"):
        return (line.startswith(_PREFIXES) and line[-1] not in "`'\"*") or line in (END, END_OF_FILE)
    if line.startswith("@@"):
        return line == "@@" or (line.startswith("@@ ") and hunk_mark(line) is None)
    return line[:1] in (" ", "+", "-") and not line.startswith(("--- ", "+++ "))


def _may_become_right(rest: str) -> bool:
    """The same of a line that is not complete."""
    if rest.startswith("***"):
        return rest.startswith(_PREFIXES) or any(known.startswith(rest) for known in (*_PREFIXES, END, END_OF_FILE))
    if rest.startswith("@@"):
        return not rest.startswith("@@ -") and hunk_mark(rest) is None
    return rest[:1] in ("", " ", "+", "-", "*", "@") and not rest.startswith(("--- ", "+++ "))
