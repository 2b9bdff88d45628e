"""Repair as a whole: the table, the search, and what it promises about files."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.patch_fixes import PATCH
from translators.apply_patch.parse import parse
from translators.apply_patch.repair import ELSEWHERE, RULES, Canonical, Refused, Repaired, repair, repair_text

dumps = json.dumps


def test_every_row_of_the_table_of_shapes_is_a_rule_or_named_elsewhere() -> None:
    rows = {rule.row for rule in RULES}
    assert rows | set(ELSEWHERE) == set(range(1, 36))
    assert rows & set(ELSEWHERE) == set()


def test_the_rules_that_are_off_by_default_are_the_uncertain_ones() -> None:
    assert {rule.id for rule in RULES if not rule.default} == {"tool_call_tag", "context_blank"}


def test_a_right_call_is_left_as_it_is() -> None:
    assert repair(dumps({"input": PATCH})) == Canonical(PATCH)
    assert repair_text(PATCH) == Canonical(PATCH)


def test_entities_are_named_and_left() -> None:
    text = PATCH.replace("+x", "+a &lt; b")
    assert repair_text(text) == Canonical(text, ("html_entities",))
    assert repair_text(f"```\n{text}```") == Repaired(text.removesuffix("\n"), ("fence",), ("html_entities",))


def test_a_rule_can_be_switched_off_and_on() -> None:
    fenced = f"```\n{PATCH}```"
    refused = repair_text(fenced, enabled={"fence": False, "prose": False})
    assert refused == Refused("the first line is not `*** Begin Patch`", 1, 1, fenced)
    loose = PATCH.replace(" one", "one")
    assert repair_text(loose, enabled={"context_blank": True}) == Repaired(PATCH, ("context_blank",))


def test_an_unknown_rule_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(KeyError, match="fence"):
        repair_text(PATCH, enabled={"fences": True})


def test_a_refusal_says_where_in_the_text_and_gives_it_back() -> None:
    text = PATCH.replace("+y", "y")
    reason = "a line of an added file does not begin with `+`"
    assert repair(dumps({"input": text})) == Refused(reason, 10, 1, text)


def test_a_refusal_says_where_in_the_arguments() -> None:
    assert repair('{"input":\n 7}') == Refused("`input` is not a string", 2, 2)


def test_no_refusal_quotes_the_model() -> None:
    for arguments in ('{"secret":"TOKEN"}', "TOKEN", '{"input":"TOKEN"}', '{"input":"*** Begin Patch\\n*** TOKEN: x"}'):
        outcome = repair(arguments)
        assert isinstance(outcome, Refused)
        assert "TOKEN" not in outcome.reason


@pytest.mark.parametrize("char", ["\ud83d", "\udc00"])
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(char: str) -> None:
    for arguments in (
        f'{{"input":"{PATCH}{char}"}}',
        f"{char}{PATCH}",
        f'{{"patch":"\\{char}"}}',
        f'{{"input":"{char}"}}',
    ):
        assert isinstance(repair(arguments), Refused)
    assert isinstance(repair(dumps({"patch": PATCH.replace("+x", "+" + char)})), Refused)


@pytest.mark.parametrize(
    "arguments",
    [
        "[" * 100_000,
        '{"input":' * 5000,
        "{" * 10 + '"',
        dumps({"input": "```\n" * 3000}),
        "\\" * 999,
        "cd a;" * 3000,
        '{"a":' * 900 + "1" + "}" * 900,
    ],
)
def test_nonsense_is_refused_quickly(arguments: str) -> None:
    assert isinstance(repair(arguments), Refused)


def test_a_text_that_is_too_long_is_only_taken_when_it_is_right() -> None:
    text = PATCH.replace("+x\n", "+x\n" * 400_000)
    assert repair_text(text) == Canonical(text)
    outcome = repair_text(f"```\n{text}```")
    assert isinstance(outcome, Refused)
    assert outcome.reason == "the text is not right, and too long to be repaired"


def test_a_right_patch_of_600_lines_costs_less_than_3_milliseconds() -> None:
    hunk = "@@ def f{0}():\n" + "     a = {0}\n-    b = {0}\n+    c = {0}\n" * 9
    files = "".join(f"*** Update File: f{n}.py\n" + hunk.format(n) for n in range(20))
    text = f"*** Begin Patch\n{files}*** End Patch\n"
    assert text.count("\n") > 580
    arguments = dumps({"input": text})
    took = []
    for _ in range(20):
        started = time.perf_counter()
        assert repair(arguments) == Canonical(text)
        took.append(time.perf_counter() - started)
    assert min(took) < 0.003


WORDS = st.sampled_from(
    [
        "x",
        "",
        "  ",
        "\tt",
        "    indent",
        "*** End Patch",
        "*** Begin Patch",
        "*** Update File: zz",
        "--- a/x",
        "+++ b/x",
        "```",
        "```python",
        "EOF",
        "@@",
        "@@ -1,2 +1,2 @@",
        "apply_patch <<'EOF'",
        "diff --git a/x b/x",
        "a\\nb",
        'print("a\\nb")',
        "it's",
        "$HOME `x`",
        "\\",
        "é😀",
        "&lt;",
        '{"input": 1}',
        "- item",
    ]
)


@st.composite
def patches(draw: st.DrawFn) -> str:
    text = "*** Begin Patch\n"
    paths = st.lists(st.sampled_from(["a.py", "src/b.txt", "my file.md"]), min_size=1, max_size=3, unique=True)
    for path in draw(paths):
        lines = draw(st.lists(WORDS, min_size=1, max_size=4))
        kind = draw(st.sampled_from(["Add", "Delete", "Update"]))
        text += f"*** {kind} File: {path}\n"
        if kind == "Add":
            text += "".join(f"+{line}\n" for line in lines)
        elif kind == "Update":
            mark = draw(st.sampled_from(["@@\n", "@@ def f():\n"]))
            text += mark + "".join(draw(st.sampled_from("+- ")) + line + "\n" for line in lines) + " kept\n-old\n"
    return text + "*** End Patch\n"


MALFORMED = {
    "fence": lambda text: f"```diff\n{text}```",
    "prose": lambda text: f"Here it is:\n\n{text}\nDone.",
    "bom": lambda text: "\ufeff" + text,
    "markers": lambda text: re.sub(r"(?m)^\*\*\* (Add|Update|End Patch)", r"***\1", text),
    "stars": lambda text: re.sub(r"(?m)^(\*\*\* (?:Begin|End) Patch)", r"\1 ***", text),
    "quotes": lambda text: re.sub(r"(?m)^(\*\*\* \w+ File: )(.+)", r"\1`\2`", text),
    "numbers": lambda text: re.sub(r"(?m)^@@", "@@ -1,4 +1,4 @@", text),
    "no begin": lambda text: text.removeprefix("*** Begin Patch\n"),
    "no end": lambda text: text.removesuffix("*** End Patch\n"),
    "indent": lambda text: re.sub(r"(?m)^(?=.)", "    ", text),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "one line": lambda text: text.replace("\n", "\\n"),
    "escaped": lambda text: dumps(text, ensure_ascii=False)[1:-1],
    "heredoc": lambda text: f"apply_patch <<'PATCH'\n{text}PATCH\n",
}
SENT = {
    "input": lambda text: dumps({"input": text}),
    "patch": lambda text: dumps({"patch": text, "why": "because"}),
    "twice": lambda text: dumps(dumps({"input": text})),
    "lines": lambda text: dumps({"input": text.split("\n")}),
    "bash": lambda text: dumps({"command": ["bash", "-lc", f"apply_patch <<'END_OF_IT'\n{text.rstrip()}\nEND_OF_IT"]}),
    "bare": lambda text: text,
    "open": lambda text: dumps({"input": text})[:-1],
    "more": lambda text: dumps({"input": text}) + "}",
    "unescaped": lambda text: '{"input":"' + text.replace('"', '\\"') + '"}',
}


@settings(max_examples=400, deadline=None)
@given(patches(), st.lists(st.sampled_from(sorted(MALFORMED)), max_size=2, unique=True), st.sampled_from(sorted(SENT)))
def test_a_malformed_patch_becomes_what_was_meant_or_is_refused(text: str, shapes: list[str], sent: str) -> None:
    parse(text)
    malformed = text
    for shape in sorted(shapes, key=list(MALFORMED).index):
        malformed = MALFORMED[shape](malformed)
    if sent == "unescaped" and ("one line" in shapes or "escaped" in shapes):
        return  # that is JSON again, and right
    outcome = repair(SENT[sent](malformed))
    meant = text.replace("\n", "\r\n") if "CRLF" in shapes else text
    if not isinstance(outcome, Refused):
        assert outcome.text.replace("\r", "").rstrip() == meant.replace("\r", "").rstrip(), (outcome, malformed)


@settings(max_examples=200, deadline=None)
@given(patches())
def test_every_right_patch_stays_byte_for_byte(text: str) -> None:
    outcome = repair(dumps({"input": text}))
    assert (type(outcome), outcome.text) == (Canonical, text)


@settings(max_examples=200, deadline=None)
@given(patches(), st.lists(st.sampled_from(["fence", "prose", "markers", "quotes", "numbers", "no end"]), unique=True))
def test_content_lines_of_hunks_come_out_as_they_went_in(text: str, shapes: list[str]) -> None:
    malformed = text
    for shape in shapes:
        malformed = MALFORMED[shape](malformed)
    outcome = repair_text(malformed)
    if not isinstance(outcome, Refused):
        content = [line for line in text.split("\n") if line[:1] in ("+", "-", " ")]
        assert [line for line in outcome.text.split("\n") if line[:1] in ("+", "-", " ")] == content
