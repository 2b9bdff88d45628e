"""The incremental reader of ``{"input": "<text>"}``: what a custom tool's call looks like as a function call.

It serves every custom tool; ``apply_patch`` is only the best-known one. The reader is strict and fails closed: one
object, one key ``input``, one string. Everything else is an error at the first character that proves it, wherever
the upstream happened to cut its deltas, because text that went out cannot be taken back.

A grammar in one table (``_STRUCTURE``), one string reader for the key and the value, and one fast path: a delta
inside the value without anything special in it costs one regex search.
"""

from __future__ import annotations

import io
import re
from typing import Final, NoReturn

import orjson

__all__ = ["InputReader", "UnwrapError", "judge"]

WHITE: Final = " \t\r\n"
KEY: Final = "input"

# Python strings can hold lone surrogates (a JSON parser other than orjson lets them in); they have no UTF-8 form.
_special = re.compile('["\\\\\x00-\x1f\ud800-\udfff]').search
# Possessive: nothing is kept for backtracking, whatever the length.
_run = re.compile(r'(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\["\\/bfnrt])*+').match
_white = re.compile(f"[{WHITE}]*").match
_head = re.compile(f'[{WHITE}]*\\{{[{WHITE}]*"{KEY}"[{WHITE}]*:').match

_SIMPLE: Final = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX: Final = frozenset("0123456789abcdefABCDEF")

(_BEFORE_OBJECT, _BEFORE_KEY, _IN_KEY, _BEFORE_COLON, _BEFORE_VALUE, _IN_VALUE, _AFTER_VALUE, _COMPLETE) = range(8)

_STRUCTURE: Final[dict[int, tuple[str, int, str]]] = {
    # state: (the only character that may follow besides white space, next state, reason when another one comes)
    _BEFORE_OBJECT: ("{", _BEFORE_KEY, "the arguments are not a JSON object"),
    _BEFORE_KEY: ('"', _IN_KEY, "the object does not begin with the key `input`"),
    _BEFORE_COLON: (":", _BEFORE_VALUE, "no colon follows the key `input`"),
    _BEFORE_VALUE: ('"', _IN_VALUE, "`input` is not a string"),
    _AFTER_VALUE: ("}", _COMPLETE, "the object does not end after the string `input`"),
    _COMPLETE: ("", _COMPLETE, "something follows the end of the object"),
}

_CUT_OFF: Final = "the arguments end before the object is complete"
_WRONG_KEY: Final = "a key other than `input` is in the object"
_CONTROL: Final = "a control character stands in the string without an escape"
_SURROGATE: Final = "half a surrogate pair stands in the string"
_ESCAPE: Final = "an escape sequence that JSON does not know"
_CONTRADICTION: Final = "the complete arguments contradict what was streamed"
_LATE: Final = "argument text arrived after the end of the arguments"


class UnwrapError(ValueError):
    """The arguments are not exactly ``{"input": "<text>"}``.

    ``reason`` is one of a fixed list and never contains the model's text; ``position`` counts the characters of
    argument text before the offending one (for a contradiction: the characters read so far).
    """

    def __init__(self, reason: str, position: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position


class InputReader:
    """Reads the argument text of one call; never share one between calls.

    ``in_plain_string`` is True inside the string value with no escape pending: the next delta is very likely plain.
    ``failed`` / ``error`` hold the first error for ever; every later call raises that same object.
    """

    __slots__ = ("_buffer", "_escape", "_finished", "_high", "_key", "_skew", "_state", "error", "in_plain_string")

    def __init__(self) -> None:
        self.in_plain_string = False
        self.error: UnwrapError | None = None
        # newline="": text must come back as it went in. StringIO keeps millions of small deltas compact.
        self._buffer = io.StringIO(newline="")
        self._state = _BEFORE_OBJECT
        self._escape = ""
        self._high = 0
        self._key = ""
        self._skew = 0  # argument characters read minus characters decoded: the position costs the fast path nothing
        self._finished = False

    @property
    def failed(self) -> bool:
        return self.error is not None

    def text(self) -> str:
        """The decoded input so far: exactly the concatenation of what ``feed`` and ``finish`` returned."""
        return self._buffer.getvalue()

    def feed(self, text: str) -> str:
        """Read one fragment of argument text; returns the newly decoded text ("" if none).

        A fragment with an error in it returns nothing, not even the good characters before the error.
        Raises UnwrapError.
        """
        if self.in_plain_string and _special(text) is None:
            self._buffer.write(text)
            return text
        return self._read_whole_escapes(text)

    def finish(self, full: str | None = None) -> str:
        """End of the arguments; returns the part of the input that was not streamed.

        ``full`` is the upstream's complete arguments text, if it sent one: a complete document whose input begins
        with what was streamed. Without it the streamed text must be a complete document. May be called again with
        an equivalent document. Raises UnwrapError.
        """
        if self.error is not None:
            raise self.error.with_traceback(None)
        if full is None:
            if self._state != _COMPLETE and not self._finished:
                self._fail(_CUT_OFF, self._position())
            tail = ""
        else:
            tail = self._tail(full)
        self._finished = True
        self.in_plain_string = False
        self._skew -= len(tail)
        self._buffer.write(tail)
        return tail

    def _tail(self, full: str) -> str:
        try:
            whole = judge(full)
        except UnwrapError as error:
            self._fail(error.reason, error.position)
        streamed = self._buffer.getvalue()
        closed = self._finished or self._state in (_AFTER_VALUE, _COMPLETE)
        if not whole.startswith(streamed) or (closed and len(whole) != len(streamed)):
            self._fail(_CONTRADICTION, self._position())
        return whole[len(streamed) :]

    def _position(self) -> int:
        return self._buffer.tell() + self._skew

    def _fail(self, reason: str, position: int) -> NoReturn:
        self.in_plain_string = False
        self.error = UnwrapError(reason, position)
        raise self.error

    def _read_whole_escapes(self, text: str) -> str:
        """Line breaks and quotes are frequent in code: a fragment that is by itself the inside of a JSON string is
        decoded in one call. orjson refuses whatever is not, and then the reader goes through it."""
        if self.in_plain_string:
            try:
                new: str = orjson.loads(f'"{text}"')
            except orjson.JSONDecodeError:
                pass
            else:
                self._buffer.write(new)
                self._skew += len(text) - len(new)
                return new
        return self._read(text)

    def _read(self, text: str) -> str:
        if self.error is not None:
            raise self.error.with_traceback(None)
        if self._finished and text:
            self._fail(_LATE, self._position())
        start = self._position()
        out: list[str] = []
        at = 0
        end = len(text)
        try:
            while at < end:
                if self._state == _IN_VALUE or self._state == _IN_KEY:
                    at = self._in_string(text, at, out)
                else:
                    at = self._between(text, at)
        except UnwrapError as error:
            self._fail(error.reason, start + error.position)
        new = "".join(out)
        self._buffer.write(new)
        self._skew += end - len(new)
        self.in_plain_string = self._state == _IN_VALUE and not self._escape and not self._high
        return new

    def _between(self, text: str, at: int) -> int:
        """Structure: white space, then the one character that may follow."""
        at = _white(text, at).end()  # type: ignore[union-attr]  # a star always matches
        if at == len(text):
            return at
        expected, after, reason = _STRUCTURE[self._state]
        if text[at] != expected:
            raise UnwrapError(reason, at)
        self._state = after
        return at + 1

    def _in_string(self, text: str, at: int, out: list[str]) -> int:
        """One step inside the key or the value: an escape's next character, a run of text, or the end."""
        if self._escape:
            self._unescape(text[at], at, out)
            return at + 1
        if not self._high:
            run: str = _run(text, at).group() if self._state == _IN_VALUE else _plain(text, at)  # type: ignore[union-attr]
            if run:
                self._emit(orjson.loads(f'"{run}"') if "\\" in run else run, at, out)
                return at + len(run)
        char = text[at]
        if char == "\\":
            self._escape = char
        elif self._high or "\ud800" <= char <= "\udfff":
            raise UnwrapError(_SURROGATE, at)
        elif char == '"':
            self._close_string(at)
        else:
            raise UnwrapError(_CONTROL, at)
        return at + 1

    def _close_string(self, at: int) -> None:
        if self._state == _IN_VALUE:
            self._state = _AFTER_VALUE
            return
        if self._key != KEY:
            raise UnwrapError(_WRONG_KEY, at)
        self._state = _BEFORE_COLON

    def _emit(self, decoded: str, at: int, out: list[str]) -> None:
        """Decoded characters: of the value they go out, of the key they must spell ``input``."""
        if self._state == _IN_VALUE:
            out.append(decoded)
            return
        for offset, char in enumerate(decoded):
            if len(self._key) == len(KEY) or KEY[len(self._key)] != char:
                raise UnwrapError(_WRONG_KEY, at + offset)
            self._key += char

    def _unescape(self, char: str, at: int, out: list[str]) -> None:
        r"""One more character of an escape (``self._escape`` holds what came before it)."""
        if self._escape == "\\":
            if char == "u":
                self._escape = "\\u"
                return
            if self._high:
                raise UnwrapError(_SURROGATE, at)
            if char not in _SIMPLE:
                raise UnwrapError(_ESCAPE, at)
            self._escape = ""
            self._emit(_SIMPLE[char], at, out)
            return
        if char not in _HEX:
            raise UnwrapError(_ESCAPE, at)
        self._escape += char
        self._check_pair(self._escape[2:].lower(), at)
        if len(self._escape) < 6:
            return
        unit = int(self._escape[2:], 16)
        self._escape = ""
        if 0xD800 <= unit < 0xDC00:
            self._high = unit
            return
        if self._high:
            unit = 0x10000 + ((self._high - 0xD800) << 10) + (unit - 0xDC00)
            self._high = 0
        self._emit(chr(unit), at, out)

    def _check_pair(self, digits: str, at: int) -> None:
        """A low half may follow a high half and nothing else: known from the first or second hex digit on."""
        low = digits[0] == "d" and (len(digits) == 1 or digits[1] in "cdef")
        certain = len(digits) >= 2 or not low
        if certain and low != bool(self._high):
            raise UnwrapError(_SURROGATE, at)


def _plain(text: str, at: int) -> str:
    found = _special(text, at)
    return text[at : found.start() if found else len(text)]


def judge(arguments: str) -> str:
    """The input of a complete arguments text; same rules as ``InputReader``. Raises UnwrapError."""
    # orjson is as strict about the string as the reader. Cutting the object off first keeps out what it would
    # tolerate: a second `input`. What does not fit this common form is left to the reader, which knows why.
    head = _head(arguments)
    body = arguments.rstrip(WHITE)
    if head is not None and body.endswith("}"):
        try:
            value = orjson.loads(body[head.end() : -1])
        except orjson.JSONDecodeError:
            value = None
        if isinstance(value, str):
            return value
    reader = InputReader()
    text = reader.feed(arguments)
    reader.finish()
    return text
