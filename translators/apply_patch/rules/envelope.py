"""Where the patch stands in the arguments: keys, nesting, commands, text instead of JSON (rows 1 to 8, 33)."""

from __future__ import annotations

import re
from posixpath import normpath
from typing import Any, Final

from translators.apply_patch.parse import WHITE
from translators.apply_patch.rules.command import is_shell, is_tool
from translators.apply_patch.rules.node import Node, Pairs, Refusal, is_fence, looks_like_patch, starts_patch

__all__ = ["KEYS", "argument_list", "bare_text", "carrier", "joined_lines", "json_again", "json_string", "tagged_call"]

KEYS: Final = ("input", "patch", "content", "diff", "text", "apply_patch", "arguments")
COMMANDS: Final = ("command", "cmd")
FOLDERS: Final = ("workdir", "cwd", "working_directory")
LEVELS: Final = 3

_TAG: Final = re.compile(r"\s*<tool_call>\s*(\{.*\})\s*</tool_call>\s*", re.S)


def bare_text(node: Node) -> Node | None:
    """Row 8: the arguments are no JSON at all but text."""
    text: str = node.value
    if not text.strip(WHITE) or text.lstrip(WHITE + "\ufeff")[:1] in ("{", "[", '"'):
        return None
    return node.then("text", text) if _anywhere(text) else None


def _anywhere(text: str) -> bool:
    return looks_like_patch(text) or re.search(r"begin\s+(?:of\s+)?patch", text, re.I) is not None


def json_again(node: Node) -> Node | None:
    """Row 7: the text is JSON once more."""
    if node.value.lstrip(WHITE)[:1] not in ("{", "[", '"') or node.level >= LEVELS:
        return None
    return node.then("raw", node.value, level=node.level + 1)


def json_string(node: Node) -> Node | None:
    """Row 7: the JSON value is the text itself, without an object around it."""
    return node.then("text", node.value) if isinstance(node.value, str) else None


def plain_input(node: Node) -> Node | None:
    """Row 1: exactly one key ``input`` with a string: no repair."""
    value = node.value
    if isinstance(value, Pairs) and len(value) == 1 and value[0][0] == "input" and isinstance(value[0][1], str):
        return node.then("text", value[0][1])
    return None


def _once(pairs: Pairs) -> dict[str, Any] | None:
    """The object without repeated keys; None when a key has two different values."""
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            return None
        found[key] = value
    return found


def same_twice(node: Node) -> Node | None:
    """Row 6: a key that stands twice with the same value."""
    if not isinstance(node.value, Pairs):
        return None
    found = _once(node.value)
    if found is None:
        raise Refusal("a key stands twice with different values")
    return node.then("value", Pairs(found.items())) if len(found) < len(node.value) else None


def _flat(value: Any) -> str:
    """All text in a value, to see whether a patch is among it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Pairs):
        return "\n".join(_flat(entry) for _, entry in value)
    if isinstance(value, list):
        return "\n".join(_flat(entry) for entry in value)
    return ""


def extra_keys(node: Node) -> Node | None:
    """Row 5: other keys beside the one with the patch."""
    once = _once(node.value) if isinstance(node.value, Pairs) else None
    if once is None or len(once) < 2:
        return None
    known = [key for key in once if key in KEYS or key in COMMANDS]
    patches = [key for key, value in once.items() if looks_like_patch(_flat(value))]
    if len(patches) > 1:
        raise Refusal("more than one value looks like a patch")
    chosen = patches[0] if patches else known[0] if len(known) == 1 else None
    if chosen is None:
        return None
    folder = _folder(once, command=chosen in COMMANDS) or node.folder
    return node.then("value", Pairs([(key, value) for key, value in node.value if key == chosen]), folder=folder)


def _folder(once: dict[str, Any], *, command: bool) -> str:
    """The relative folder that a command runs in; an absolute one is taken for where the client works anyway."""
    for key in FOLDERS:
        value = once.get(key)
        if not isinstance(value, str) or value.startswith("/") or normpath(value) == ".":
            continue
        if not command or value.startswith(("~", "$")):
            raise Refusal("a working folder stands beside the patch")
        return normpath(value)
    return ""


def other_key(node: Node) -> Node | None:
    """Row 2: one string under another name."""
    pair = _single(node)
    if pair is None or not isinstance(pair[1], str) or pair[0] == "input" or pair[0] in COMMANDS:
        return None
    return node.then("text", pair[1]) if pair[0] in KEYS or looks_like_patch(pair[1]) else None


def _single(node: Node) -> tuple[str, Any] | None:
    value = node.value
    return value[0] if isinstance(value, Pairs) and len(value) == 1 else None


def carrier(node: Node) -> Node | None:
    """Row 4: the value under the key is an object or a list itself, or a list holds one object."""
    value = node.value
    if node.level >= LEVELS or not isinstance(value, list) or len(value) != 1:
        return None
    inner = value[0][1] if isinstance(value, Pairs) else value[0]
    if isinstance(value, Pairs) and value[0][0] in COMMANDS:
        return None
    if isinstance(inner, Pairs) or (isinstance(value, Pairs) and isinstance(inner, list)):
        return node.then("value", inner, level=node.level + 1)
    return None


def joined_lines(node: Node) -> Node | None:
    """Row 4: the lines of the patch as a list of strings."""
    value = node.value
    if isinstance(value, Pairs) or not _strings(value) or is_tool(value[0]) or is_shell(value[0]):
        return None
    lines = "\n".join(line.removesuffix("\n") for line in value).split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip(WHITE)), None)
    if first is None or not (starts_patch(lines, first) or is_fence(lines[first])):
        return None
    return node.then("text", "\n".join(lines))


def _strings(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, str) for entry in value)


def command_key(node: Node) -> Node | None:
    """Row 3: ``command`` or ``cmd`` instead of ``input``."""
    pair = _single(node)
    if pair is None or pair[0] not in COMMANDS:
        return None
    if isinstance(pair[1], str):
        return node.then("text", pair[1])
    return node.then("value", pair[1]) if _strings(pair[1]) else None


def argument_list(node: Node) -> Node | None:
    """Row 3: ``["apply_patch", PATCH]`` or ``["bash", "-lc", SCRIPT]``."""
    value = node.value
    if isinstance(value, Pairs) or not _strings(value):
        return None
    if is_tool(value[0]):
        return node.then("text", value[1]) if len(value) == 2 else None
    if is_shell(value[0]) and len(value) > 2 and value[-2].startswith("-") and value[-2].endswith("c"):
        if any(not flag.startswith("-") for flag in value[1:-1]):
            return None
        return node.then("text", value[-1])
    return None


def tagged_call(node: Node) -> Node | None:
    """Row 33: the whole text is one ``<tool_call>`` element."""
    match = _TAG.fullmatch(node.value)
    return node.then("raw", match[1], level=node.level + 1) if match and node.level < LEVELS else None
