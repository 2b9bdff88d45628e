"""Holding: the arguments of a call, let through while they stream except for what completes them.

Chat and Messages clients put the fragments together themselves, and some run a call as soon as the JSON is whole
(vercel/ai does). So the fragment that completes it stays behind, with all that follows, until the call is released.
"""

from __future__ import annotations

import re

__all__ = ["Gate"]

_IN_STRING = re.compile(r'["\\]')
_OUTSIDE = re.compile(r'["{}\[\].]')


class Gate:
    """One call's arguments.

    A number with a fraction also shuts the gate: the judge may write it as an integer. So does anything but an object,
    for instance an object that was encoded twice.
    """

    def __init__(self) -> None:
        self._passed: list[str] = []
        self._kept: list[str] = []
        self._shut = False
        self._begun = False
        self._depth = 0
        self._string = False
        self._escaped = False

    def feed(self, text: str) -> str:
        """What may leave now of the next fragment."""
        if not self._shut:
            if not self._begun and not text.strip(" \t\r\n"):
                self._kept.append(text)
                return ""
            self._shut = self._shuts(text)
        if self._shut:
            self._kept.append(text)
            return ""
        if self._kept:
            text = "".join((*self._kept, text))
            self._kept.clear()
        self._passed.append(text)
        return text

    def rest(self, final: str) -> str:
        """What is missing once the call was released with the arguments ``final``; where these were rewritten behind
        what has left, the rest as the model wrote it."""
        passed = "".join(self._passed)
        return final[len(passed) :] if final.startswith(passed) else "".join(self._kept)

    def _shuts(self, text: str) -> bool:
        if not self._begun:
            self._begun = True
            if not text.lstrip(" \t\r\n").startswith("{"):
                return True
        position, size = 0, len(text)
        while position < size:
            if self._string:
                position = self._through_string(text, position)
                continue
            match = _OUTSIDE.search(text, position)
            if match is None:
                return False
            position, mark = match.end(), match[0]
            if mark == '"':
                self._string = True
            elif mark in "{[":
                self._depth += 1
            elif mark == "." or self._depth <= 1:
                return True
            else:
                self._depth -= 1
        return False

    def _through_string(self, text: str, position: int) -> int:
        """The position behind the string that is open, or the end of the fragment."""
        if self._escaped:
            self._escaped = False
            return position + 1
        match = _IN_STRING.search(text, position)
        if match is None:
            return len(text)
        if match[0] == "\\":
            self._escaped = True
        else:
            self._string = False
        return match.end()
