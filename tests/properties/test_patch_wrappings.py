"""A right patch with several habits at once, in it and around it: what comes out is that patch or a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st

from support.patch_cases import Outcome
from translators.apply_patch.repair import Canonical, Refused, repair

LINES: Final = (
    "",
    "plain",
    " one blank",
    "    four",
    "\ttab",
    "+ plus",
    "- minus",
    "-- sql",
    "++ b/x",
    "-- a/x",
    "@@",
    "@@ -1,2 +1,2 @@",
    "*** Begin Patch",
    "*** End Patch",
    "*** end patch",
    "--- End Patch ---",
    "*** Update File: z",
    "***Delete File: z",
    "```",
    "```sh",
    "EOF",
    "PATCH",
    "apply_patch <<'EOF'",
    "print(\"a\\n\\t\", '\\d')",
    "C:\\new\\table",
    '{"input": "x"}',
    "trailing  ",
    "diff --git a/x b/x",
    "\\ No newline at end of file",
    "&lt;b&gt; $HOME `date` ${x}",
    "a\x0cb\x85c\u2028d",
    "é那🌍",
)
"""Content that looks like something else. Each stands behind a sign, so it is content beyond doubt."""

PATHS: Final = ("a.txt", "src/b c.py", "__init__.py", "a/x.md")
"""Lower case, because one habit writes the whole header so."""

content = st.sampled_from(LINES)
added = st.lists(content, min_size=1, max_size=4).map(lambda lines: [f"+{line}" for line in lines])
signed = st.tuples(st.sampled_from(" -+"), content).map("".join)
# A change, and words around it: no hunk without effect and none that only inserts, whose place Codex decides.
hunk = st.tuples(st.sampled_from(["@@", "@@ def f():", "@@ class A:"]), st.lists(signed, max_size=3)).map(
    lambda made: [made[0], " above", *made[1], "-old", "+new", " below"]
)


def _section(kind: str, path: str, lines: list[str], hunks: list[list[str]]) -> list[str]:
    match kind:
        case "Add":
            return [f"*** Add File: {path}", *lines]
        case "Delete":
            return [f"*** Delete File: {path}"]
        case _:
            return [f"*** Update File: {path}", *(line for hunk in hunks for line in hunk)]


kinds = st.sampled_from(["Add", "Update", "Update", "Delete"])
sections = st.lists(
    st.tuples(
        kinds, st.sampled_from(PATHS), added, st.lists(hunk, min_size=1, max_size=2, unique_by=lambda hunk: hunk[0])
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda section: section[1],
)
patches = sections.map(
    lambda made: "\n".join(["*** Begin Patch", *(line for one in made for line in _section(*one)), "*** End Patch"])
)


def _each(prefix: str, change: Callable[[str], str]) -> Callable[[str], str]:
    """Change the lines that begin with ``prefix`` at column 0: content stands behind a sign."""
    return lambda text: "\n".join(change(line) if line.startswith(prefix) else line for line in text.split("\n"))


def _numbered(line: str) -> str:
    return f"@@ -12,4 +12,4 @@{line[2:]}"


def _quoted(line: str) -> str:
    head, _, path = line.partition(": ")
    return f'{head}: "{path}"' if path else line


def _without_plus(text: str) -> str:
    """Not where a sign or a marker would be left (content that begins with one), nor the blank lines that a file ends
    in: without their signs those are gone."""
    lines = text.split("\n")
    inside = False
    for at, line in enumerate(lines):
        inside = line.startswith("*** Add File") or (inside and not line.startswith("*** "))
        if inside and line.startswith("+") and not (line == "+" and lines[at + 1].startswith("*** ")):
            lines[at] = line[1:]
    return text if any(line.startswith(("++", "+***")) for line in text.split("\n")) else "\n".join(lines)


SECTIONS: Final[dict[str, Callable[[str], str]]] = {
    "numbers": _each("@@", _numbered),
    "quoted paths": _each("*** ", _quoted),
    "stars behind paths": _each("*** ", lambda line: f"{line} ***"),
    "no blank": _each("*** ", lambda line: f"***{line[4:]}"),
    "lower headers": _each("*** ", str.lower),
    "blank lines between": _each("*** ", lambda line: line if "Begin" in line else f"\n{line}"),
    "no plus": _without_plus,
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "indented": lambda text: "\n".join(f"    {line}" for line in text.split("\n")),
}


def _at_end(new: str) -> Callable[[str], str]:
    """Change the end of the patch, if it is still what it was."""
    return lambda text: text.removesuffix("*** End Patch") + new if text.endswith("*** End Patch") else text


def _at_start(new: str) -> Callable[[str], str]:
    """Change the beginning, likewise."""
    return lambda text: new + text.removeprefix("*** Begin Patch") if text.startswith("*** Begin Patch") else text


EDGES: Final[dict[str, Callable[[str], str]]] = {
    "stars": lambda text: _at_start("*** Begin Patch ***")(text) + " ***",
    "lower": lambda text: _at_end("*** end patch")(_at_start("*** begin patch")(text)),
    "no begin": lambda text: text.removeprefix("*** Begin Patch\n"),
    "no end": lambda text: text.removesuffix("\n*** End Patch"),
    "blank lines": _at_end("\n\n*** End Patch"),
}
AROUND: Final[dict[str, Callable[[str], str]]] = {
    "fence": lambda text: f"```patch\n{text}\n```",
    "open fence": lambda text: f"```\n{text}\n",
    "prose": lambda text: f"Here is the patch:\n\n{text}\n\nIt does what was asked.",
    "heredoc": lambda text: f"apply_patch <<'EOPATCH'\n{text}\nEOPATCH",
    "byte order mark": lambda text: f"\ufeff{text}",
}
CALL: Final[dict[str, Callable[[str], str]]] = {
    "input": lambda text: json.dumps({"input": text}),
    "patch": lambda text: json.dumps({"patch": text}, ensure_ascii=False),
    "nested": lambda text: json.dumps({"input": {"patch": text}}),
    "argv": lambda text: json.dumps({"command": ["apply_patch", text]}),
    "twice": lambda text: json.dumps(json.dumps({"input": text})),
    "twice inside": lambda text: json.dumps({"input": json.dumps({"input": text})}),
    "lines": lambda text: json.dumps({"input": text.split("\n")}),
    "bare": lambda text: text,
    "brace": lambda text: json.dumps({"input": text}) + "}",
    "copy": lambda text: json.dumps({"input": text}) * 2,
    "open": lambda text: json.dumps({"input": text})[:-2],
}


def _wrapped(text: str, section: str | None, edge: str | None, outer: str | None, call: str) -> Outcome:
    for habits, name in ((SECTIONS, section), (EDGES, edge), (AROUND, outer)):
        text = habits[name](text) if name is not None else text
    return repair(CALL[call](text))


@settings(max_examples=900, deadline=None)
@given(
    patches,
    st.sampled_from([None, *SECTIONS]),
    st.sampled_from([None, *EDGES]),
    st.sampled_from([None, *AROUND]),
    st.sampled_from(list(CALL)),
)
def test_a_wrapped_patch_comes_out_as_it_was_or_not_at_all(
    patch: str, section: str | None, edge: str | None, outer: str | None, call: str
) -> None:
    outcome = _wrapped(patch, section, edge, outer, call)
    if not isinstance(outcome, Refused):
        # One blank line before a marker may stay: Codex takes it or drops it. CRLF stays: Codex copes.
        assert outcome.text.strip("\r\n").replace("\r\n", "\n").replace("\n\n*** ", "\n*** ") == patch


@settings(max_examples=300, deadline=None)
@given(patches)
def test_a_right_patch_is_left_alone_whatever_it_contains(patch: str) -> None:
    assert repair(json.dumps({"input": patch})) == Canonical(patch, repair(json.dumps({"input": patch})).notes)  # type: ignore[union-attr]
