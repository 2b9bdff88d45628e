"""Members in a JSON text that belongs to somebody else: put in beside what is there, and taken out again.

Bytes of the owner stay as they are: members are inserted as text, in the indentation and line endings of the file, and
where the file is still the one that was written they are cut out by their places. Where it was changed since they are
found by their names, and only what still has our value goes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentic_proxy.cli.jsonc import JsonError, Node, parse

Json: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]
Span: TypeAlias = tuple[int, int]
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/[ \t]*(?=[\r\n]))")
_BLANK = " \t\r\n"


class TakenError(ValueError):
    """The text has a member of that name already; the text of the error is its dotted path."""


@dataclass(frozen=True, slots=True)
class Edit:
    """``text`` with the members in it: cutting ``spans`` out of it gives the text before, character for character.

    ``made`` are the objects that were made around members, outer ones first.
    """

    text: str
    spans: tuple[Span, ...]
    made: tuple[Path, ...]


def insert(text: str, members: Json) -> Edit:
    """Put members in; an object among them goes into the one of that name where there is one.

    Raises JsonError for a text that is no JSON object, TakenError where a member is there already.
    """
    root = parse(text)
    if root.members is None:
        raise JsonError("it is not a JSON object")
    pieces = sorted(_pieces(text, root, root, members, ()), key=lambda piece: piece[0])
    made = tuple(path for path in objects(members) if _at(root, path) is None)
    spans: list[Span] = []
    for count, (place, piece) in enumerate(pieces):
        start = place + sum(len(each) for _, each in pieces[:count])
        text = text[:start] + piece + text[start:]
        spans.append((start, start + len(piece)))
    parse(text)
    return Edit(text, tuple(spans), made)


def cut(text: str, spans: tuple[Span, ...]) -> str:
    """The text without these places."""
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


def take_out(text: str, members: Json, made: tuple[Path, ...]) -> tuple[str, list[str]]:
    """The text without those members that still have the given values, and without the objects in ``made`` that are
    empty then; and the dotted paths of those that have another value now. Raises JsonError."""
    left: list[str] = []
    for path, value in _leaves(members, ()):
        node = _at(parse(text), path)
        if node is not None and node.value == value:
            text = _without(text, path)
        elif node is not None:
            left.append(".".join(path))
    for path in sorted(made, key=len, reverse=True):
        node = _at(parse(text), path)
        if node is not None and text[node.start + 1 : node.end - 1].strip(_BLANK) == "" and node.value == {}:
            text = _without(text, path)
    return text, left


def _leaves(members: Json, path: Path) -> Iterator[tuple[Path, Any]]:
    for name, value in members.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, name))
        else:
            yield (*path, name), value


def objects(members: Json, path: Path = ()) -> Iterator[Path]:
    """The paths of the objects among members, outer ones first."""
    for name, value in members.items():
        if isinstance(value, dict):
            yield (*path, name)
            yield from objects(value, (*path, name))


def _at(root: Node, path: Path) -> Node | None:
    node = root
    for name in path:
        member = (node.members or {}).get(name)
        if member is None:
            return None
        node = member.node
    return node


# ------------------------------------------------------------------------------------------------- Putting in


def _pieces(text: str, root: Node, node: Node, members: Json, path: Path) -> Iterator[tuple[int, str]]:
    """What to insert, and where in the text as it is."""
    assert node.members is not None, "only objects get members"
    new: Json = {}
    for name, value in members.items():
        there = node.members.get(name)
        if there is None:
            new[name] = value
        elif isinstance(value, dict) and there.node.members is not None:
            yield from _pieces(text, root, there.node, value, (*path, name))
        else:
            raise TakenError(".".join((*path, name)))
    if new:
        yield from _added(text, root, node, new)


def _added(text: str, root: Node, node: Node, new: Json) -> Iterator[tuple[int, str]]:
    """New members behind an object's last one."""
    assert node.members is not None, "only objects get members"
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _indent(text, root) or "  "
    if not node.members:
        outer = _line_indent(text, node.start)
        inside = text[node.start + 1 : node.end - 1]
        closing = "" if "\n" in inside else newline + outer
        yield node.start + 1, _lines(new, newline, outer + unit, unit) + closing
        return
    last = list(node.members.values())[-1]
    behind = last.node.end if last.comma is None else last.comma + 1
    indent = _indent(text, node)
    if indent is None:
        members = ", ".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in new.items())
        yield behind, f"{'' if last.comma is not None else ','} {members}"
        return
    note = _REST_OF_LINE.match(text, behind)
    if last.comma is None:
        yield last.node.end, ","
    yield note.end() if note is not None else behind, _lines(new, newline, indent, unit)


def _lines(new: Json, newline: str, indent: str, unit: str) -> str:
    """Members, each on lines of its own that begin with a line break."""
    written = []
    for name, value in new.items():
        lines = json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", newline + indent)
        written.append(f"{newline}{indent}{json.dumps(name)}: {lines}")
    return ",".join(written)


def _indent(text: str, node: Node) -> str | None:
    """What stands before the first member on its line; None where it stands on the line of the brace."""
    first = next(iter((node.members or {}).values()), None)
    if first is None or "\n" not in text[node.start : first.start]:
        return None
    return _line_indent(text, first.start)


def _line_indent(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


# ------------------------------------------------------------------------------------------------- Taking out


def _without(text: str, path: Path) -> str:
    """The text without one member, and without the comma that only it needed."""
    parent = _at(parse(text), path[:-1])
    assert parent is not None and parent.members is not None, "it was found before"
    names = list(parent.members)
    member = parent.members[path[-1]]
    if len(names) == 1 and _blank_around(text, parent):
        return text[: parent.start] + "{}" + text[parent.end :]
    start = len(text[: member.start].rstrip(_BLANK))
    if member.comma is not None:
        return text[:start] + text[member.comma + 1 :]
    text = text[:start] + text[member.node.end :]
    place = names.index(path[-1])
    comma = parent.members[names[place - 1]].comma if place else None
    return text if comma is None else text[:comma] + text[comma + 1 :]


def _blank_around(text: str, parent: Node) -> bool:
    """Whether an object has nothing but its one member: no comment either."""
    (member,) = (parent.members or {}).values()
    end = member.node.end if member.comma is None else member.comma + 1
    return not (text[parent.start + 1 : member.start] + text[end : parent.end - 1]).strip(_BLANK)
