"""Repair of patch calls: one table of rules, and a search for the one patch that they lead to.

A call is read in every way that the rules allow, shapes and orders alike. If all ways that end in a patch end in the
same one, that is what the model meant; two different ones are no repair at all, and neither is a shape that a rule
recognises but cannot be sure about.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from translators.apply_patch.parse import WHITE, Patch, PatchError, parse
from translators.apply_patch.rules import command, envelope, hunks, json_text, markers, unified_diff, wrapper
from translators.apply_patch.rules.node import Node, Refusal, Rule
from translators.apply_patch.unwrap import UnwrapError, judge

__all__ = [
    "ELSEWHERE",
    "RULES",
    "Canonical",
    "Outcome",
    "Refused",
    "Repaired",
    "repair",
    "repair_text",
]

RULES: Final[tuple[Rule, ...]] = (
    Rule("bom", 21, "raw", "a byte order mark before the arguments", wrapper.strip_bom),
    Rule("bom", 21, "text", "a byte order mark before the patch", wrapper.strip_bom),
    Rule("bare_text", 8, "raw", "the arguments are the patch, not JSON", envelope.bare_text),
    Rule("raw_controls", 9, "raw", "raw line breaks, tabs, unknown escapes in a string", json_text.escape_controls),
    Rule("raw_controls", 9, "raw", "the same, read as text: only ever an objection", json_text.literal_escapes),
    Rule("unclosed_json", 11, "raw", "JSON without its end around a patch with its end", json_text.close_json),
    Rule("trailing_garbage", 13, "raw", "closing brackets, or a copy, after the JSON", json_text.cut_garbage),
    Rule("tool_call_tag", 33, "raw", "one <tool_call> element", envelope.tagged_call, default=False),
    Rule("duplicate_key", 6, "value", "a key twice with the same value", envelope.same_twice),
    Rule("extra_keys", 5, "value", "keys beside the one with the patch", envelope.extra_keys),
    Rule("other_key", 2, "value", "one string under another key than input", envelope.other_key),
    Rule("nested_input", 4, "value", "an object or a list under the key", envelope.carrier),
    Rule("nested_input", 4, "value", "the lines of the patch as a list", envelope.joined_lines),
    Rule("command", 3, "value", "the key command or cmd", envelope.command_key),
    Rule("command", 3, "value", "an argument list of apply_patch or a shell", envelope.argument_list),
    Rule("double_encoded", 7, "value", "a JSON string instead of an object", envelope.json_string),
    Rule("double_encoded", 7, "text", "JSON inside JSON", envelope.json_again),
    Rule("heredoc", 16, "text", "a shell command or heredoc around the patch", command.open_command),
    Rule("literal_newlines", 10, "text", r"one line with \n in it", wrapper.unescape_newlines),
    Rule("fence", 15, "text", "a code fence around the patch", wrapper.strip_fence),
    Rule("prose", 20, "text", "prose before or after the patch", wrapper.cut_prose),
    Rule("dedent", 28, "text", "every line indented alike", wrapper.dedent, suspect=True),
    Rule("merge_envelopes", 14, "text", "several envelopes for different files", wrapper.merge_envelopes),
    Rule("markers", 18, "text", "markers that are nearly right", markers.spell_markers),
    Rule("paths", 27, "text", "a path in quotes, or with *** after it", markers.plain_paths, suspect=True),
    Rule("missing_begin", 19, "text", "no Begin before the first file header", markers.add_begin),
    Rule("missing_end", 19, "text", "no End after the last section", markers.add_end),
    Rule("unified_diff", 23, "text", "a unified diff", unified_diff.convert_diff),
    Rule("diff_headers", 23, "text", "diff headers below a V4A header", unified_diff.drop_diff_headers, suspect=True),
    Rule("hunk_marks", 24, "text", "line numbers in an @@ line", hunks.plain_hunk_marks, suspect=True),
    Rule("added_lines", 25, "text", "an added file without + or with blank lines", hunks.mark_added),
    Rule("context_blank", 26, "text", "context lines without a blank", hunks.space_context, default=False),
    Rule("trailing_blanks", 29, "text", "blank lines before a marker", hunks.drop_trailing_blanks, suspect=True),
)
"""The table. Several lines may share an id: one shape, more than one way to write it. ``row`` is the row of the table
of malformed shapes in the documentation; markers outside (17) and inside (18) of the patch are one rule."""

ELSEWHERE: Final[dict[int, str]] = {
    1: "not malformed: exactly one key input with a string",
    12: "a patch without its end in a call that was cut off is refused: nothing is invented",
    17: "the rule markers",
    22: "Codex accepts CRLF: kept as it is by every rule",
    30: "HTML entities are left alone: they may be meant; Canonical and Repaired name them in notes",
    31: "empty arguments, null, a number, an envelope without a file: refused by the search",
    32: "names.drifted",
    34: "the stream decoders: identity of calls is no matter of the text",
    35: "refused by the search and by parse: half a surrogate pair has no UTF-8 form",
}
"""Rows of the table of malformed shapes that are no rule here, and where they are dealt with."""

LONGEST: Final = 1 << 20
"""Characters of argument text; a longer one is only taken when it is right: the search would take seconds."""

AROUND: Final = frozenset({"fence", "heredoc", "command", "prose"})
"""Rules that take away what stood around a patch: the line end before it belonged to that, not to the patch."""

READINGS: Final = 256
"""More readings of one call than this are not searched: such a call is not certain."""

_IDS: Final = frozenset(rule.id for rule in RULES)
_DECODE: Final = (json_text.decode, envelope.plain_input)
_ENTITIES: Final = ("&lt;", "&gt;", "&amp;", "&quot;", "&#39;")

_AMBIGUOUS: Final = "the text can be read as two different patches"
_TOO_LONG: Final = "the text is not right, and too long to be repaired"
_SURROGATE: Final = "half a surrogate pair stands in the text"
_TOO_MANY: Final = "the text can be read in too many ways"


@dataclass(frozen=True, slots=True)
class Canonical:
    """The call was right: ``text`` is exactly what the model wrote."""

    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repaired:
    """``text`` is a complete patch; ``rules`` are the ids of what was done, in the order of doing it."""

    text: str
    rules: tuple[str, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """No certain repair. ``text`` is the input as the model wrote it when the envelope was right, else None; line and
    column count from 1, in ``text`` if there is one, else in what came nearest to a patch. ``reason`` never contains
    the model's text."""

    reason: str
    line: int
    column: int
    text: str | None = None


Outcome: TypeAlias = Canonical | Repaired | Refused


def repair(arguments: str, *, truncated: bool = False, enabled: Mapping[str, bool] | None = None) -> Outcome:
    """The patch in the arguments of a call.

    Args:
        arguments: The argument text as the upstream sent it; need not be JSON.
        truncated: The call ended because a length limit was reached: nothing that is missing may be added.
        enabled: Rule ids switched on or off; others keep their default. Raises KeyError for an id that is no rule.
    """
    rules = _switched(enabled)
    try:
        text = judge(arguments)
    except UnwrapError as error:
        line = arguments.count("\n", 0, error.position) + 1
        column = error.position - arguments.rfind("\n", 0, error.position)
        return _Search(rules, Refused(error.reason, line, column)).run(Node("raw", arguments, truncated=truncated))
    return _repaired(text, truncated, rules)


def repair_text(text: str, *, truncated: bool = False, enabled: Mapping[str, bool] | None = None) -> Outcome:
    """The same for a patch text by itself, without the arguments around it (a file, a native custom call)."""
    return _repaired(text, truncated, _switched(enabled))


def _switched(enabled: Mapping[str, bool] | None) -> tuple[Rule, ...]:
    if not enabled:
        return _DEFAULT
    for name in enabled:
        if name not in _IDS:
            raise KeyError(f"no rule of apply_patch repair is called {name!r}: {', '.join(sorted(_IDS))}")
    return tuple(rule for rule in RULES if enabled.get(rule.id, rule.default))


_DEFAULT: Final = tuple(rule for rule in RULES if rule.default)


def _repaired(text: str, truncated: bool, rules: tuple[Rule, ...]) -> Outcome:
    """Most calls are right: they cost one parse and the look of the suspect rules."""
    try:
        patch: Patch | None = parse(text)
        nearest = Refused("", 1, 1, text)
    except PatchError as error:
        patch, nearest = None, Refused(error.reason, error.line, error.column, text)
    try:
        if patch is not None and not any(rule.does(Node("text", text)) for rule in rules if rule.suspect):
            return Canonical(text, _notes(text))
    except Refusal as refusal:
        return Refused(refusal.reason, refusal.line, refusal.column, text)
    return _Search(rules, nearest).run(Node("text", text, truncated=truncated))


def _notes(text: str) -> tuple[str, ...]:
    return ("html_entities",) if any(entity in text for entity in _ENTITIES) else ()


class _Search:
    """Breadth first over readings. ``nearest`` is the refusal when none of them is a patch."""

    def __init__(self, rules: tuple[Rule, ...], nearest: Refused) -> None:
        self.rules = rules
        self.nearest = nearest
        self.queue: deque[Node] = deque()
        self.seen: set[tuple[str, str, str]] = set()
        self.found: list[tuple[Repaired, bool]] = []
        self.placed = nearest.text is not None

    def run(self, start: Node) -> Outcome:
        try:
            if len(start.value) > LONGEST:
                raise Refusal(_TOO_LONG)
            self._push(start)
            while self.queue:
                if len(self.seen) > READINGS:
                    raise Refusal(_TOO_MANY)
                self._expand(self.queue.popleft())
        except Refusal as refusal:
            return replace(self.nearest, reason=refusal.reason, line=refusal.line, column=refusal.column)
        except RecursionError:  # JSON inside JSON, deeper than Python can walk
            return self.nearest
        if not self.found:
            return self.nearest
        texts = {found.text.rstrip(WHITE) for found, _ in self.found}
        certain = [found for found, doubtful in self.found if not doubtful]
        if len(texts) > 1 or not certain:
            return replace(self.nearest, reason=_AMBIGUOUS, line=1, column=1)
        return certain[0]

    def _push(self, node: Node | None) -> None:
        if node is None:
            return
        key = (node.kind, node.value if isinstance(node.value, str) else repr(node.value), node.folder)
        if key not in self.seen:
            if not _encodable(key[1]):
                raise Refusal(_SURROGATE)
            self.seen.add(key)
            self.queue.append(node)

    def _expand(self, node: Node) -> None:
        if node.kind == "text":
            patch = self._parsed(node)
        else:
            patch = None
            for step in _DECODE:
                self._push(step(node) if (node.kind == "raw") == (step is json_text.decode) else None)
        grown = False
        for rule in self.rules:
            if rule.takes != node.kind or (patch is not None and not (rule.suspect or _wrapped(rule, node))):
                continue
            after = rule.does(node)
            if after is not None:
                grown = True
                self._push(replace(after, rules=(*node.rules, rule.id)))
        if patch is not None and not grown:
            text = _in_folder(node, patch)
            if not AROUND.isdisjoint(node.rules):
                text = text.removesuffix("\n")
            self.found.append((Repaired(text, tuple(dict.fromkeys(node.rules)), _notes(text)), node.doubtful))

    def _parsed(self, node: Node) -> Patch | None:
        try:
            return parse(node.value)
        except PatchError as error:
            if not self.placed:
                self.placed = True
                self.nearest = Refused(error.reason, error.line, error.column)
            return None


def _encodable(text: str) -> bool:
    """Whether a text has a UTF-8 form. Half a surrogate pair shows that something is lost, wherever it stands."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrapped(rule: Rule, node: Node) -> bool:
    """Codex takes a patch in a bare heredoc; one that had to be repaired becomes plain."""
    return rule.id == "heredoc" and bool(node.rules) and node.value.lstrip(WHITE).startswith("<<")


def _in_folder(node: Node, patch: Patch) -> str:
    """The text with its relative paths taken from the folder that ``cd`` led to."""
    text: str = node.value
    if not node.folder:
        return text
    lines = text.split("\n")
    for operation in patch.operations:
        for number, path in ((operation.line, operation.path), (operation.move_line, operation.move_to)):
            if path and not path.startswith("/"):
                at = lines[number - 1].rindex(path)
                full = f"{node.folder.rstrip('/')}/{path.removeprefix('./')}"
                lines[number - 1] = lines[number - 1][:at] + full + lines[number - 1][at + len(path) :]
    return "\n".join(lines)
