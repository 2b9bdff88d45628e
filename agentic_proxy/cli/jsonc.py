"""JSON as settings files have it, with the place of everything in the text: comments and trailing commas are allowed.

Who edits such a file for somebody else must leave every other character alone; so this keeps where members begin and
end, and nothing is ever written anew.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
BOM = "\ufeff"


class JsonError(ValueError):
    """The text is no JSON; says to a person where it stops being one."""


@dataclass(slots=True)
class Node:
    """A value in ``text[start:end]``. ``members``: an object's, in their order; None for anything else."""

    start: int
    end: int
    value: Any
    members: dict[str, Member] | None = None


@dataclass(slots=True)
class Member:
    """A member whose key begins at ``start``. ``comma``: where the comma behind it is, None where there is none."""

    start: int
    node: Node
    comma: int | None = None


def parse(text: str) -> Node:
    """The value of a whole text. Raises JsonError."""
    reader = _Reader(text)
    try:
        node = reader.value()
    except RecursionError:
        raise JsonError("it is nested too deeply") from None
    if reader.place != len(text):
        raise reader.error()
    return node


@dataclass(slots=True)
class _Reader:
    text: str
    place: int = field(init=False)

    def __post_init__(self) -> None:
        self.place = len(BOM) if self.text.startswith(BOM) else 0
        self._space()

    def error(self) -> JsonError:
        line = self.text.count("\n", 0, self.place) + 1
        return JsonError(f"line {line} is not what JSON may have there")

    def value(self) -> Node:
        """The value here; leaves the place behind it and the space that follows."""
        start = self.place
        match self.text[start : start + 1]:
            case "{":
                node = self._object()
            case "[":
                node = self._array()
            case '"':
                node = Node(start, 0, self._string())
            case _:
                node = Node(start, 0, json.loads(self._match(_SCALAR)))
        node.end = self.place
        self._space()
        return node

    def _object(self) -> Node:
        node = Node(self.place, 0, {}, {})
        assert node.members is not None
        self._step()
        while not self._at("}"):
            start = self.place
            name = self._string()
            self._space()
            self._expect(":")
            inner = self.value()
            # Of two members with one name the last one counts, for every reader of JSON.
            node.members.pop(name, None)
            member = node.members[name] = Member(start, inner)
            node.value[name] = inner.value
            if self._at(","):
                member.comma = self.place
                self._step()
            elif not self._at("}"):
                raise self.error()
        self.place += 1
        return node

    def _array(self) -> Node:
        node = Node(self.place, 0, [])
        self._step()
        while not self._at("]"):
            node.value.append(self.value().value)
            if self._at(","):
                self._step()
            elif not self._at("]"):
                raise self.error()
        self.place += 1
        return node

    def _string(self) -> str:
        try:
            return str(json.loads(self._match(_STRING)))
        except ValueError:
            raise self.error() from None

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise self.error()
        self.place = found.end()
        return found[0]

    def _at(self, character: str) -> bool:
        return self.text.startswith(character, self.place)

    def _expect(self, character: str) -> None:
        if not self._at(character):
            raise self.error()
        self._step()

    def _step(self) -> None:
        self.place += 1
        self._space()

    def _space(self) -> None:
        found = _SPACE.match(self.text, self.place)
        assert found is not None, "the pattern takes nothing, too"
        self.place = found.end()
