"""The V4A parser: what it reads, where it refuses, and that it agrees with Codex and with the grammar."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.patch_engine import accepts
from support.patch_grammar import grammar_accepts
from translators.apply_patch.parse import Hunk, Operation, Patch, PatchError, parse

BEGIN, END = "*** Begin Patch\n", "*** End Patch\n"
UPDATE = BEGIN + "*** Update File: a\n"
ADD = BEGIN + "*** Add File: n\n"


def parses(text: str) -> bool:
    try:
        parse(text)
    except PatchError:
        return False
    return True


def test_every_part_of_a_patch_is_read() -> None:
    text = (
        BEGIN + "*** Environment ID: box\n*** Add File: n.txt\n+one\n+\n*** Delete File: old name.txt\n"
        "*** Update File: a.py\n*** Move to: b.py\n@@ def f():\n x\n-y\n+z\n\n@@\n-q\n*** End of File\n" + END
    )
    assert parse(text) == Patch(
        [
            Operation("add", "n.txt", 3, added=["+one", "+"]),
            Operation("delete", "old name.txt", 6),
            Operation(
                "update",
                "a.py",
                7,
                hunks=[Hunk("def f():", 9, True, [" x", "-y", "+z", ""]), Hunk(None, 14, True, ["-q"], True)],
                move_to="b.py",
                move_line=8,
            ),
        ],
        "box",
    )


REFUSED = {
    # what is wrong: (text, line, column)
    "nothing": ("", 1, 1),
    "no begin": ("*** Add File: n\n+x\n" + END, 1, 1),
    "a BOM": ("\ufeff" + ADD + "+x\n" + END, 1, 1),
    "no end": (ADD + "+x\n", 3, 1),
    "text after the end": (ADD + "+x\n" + END + "done\n", 5, 1),
    "an end in between": (ADD + "+x\n" + END + "*** Add File: m\n+y\n" + END, 5, 1),
    "no operation": (BEGIN + END, 2, 1),
    "a blank line before a header": (BEGIN + "\n*** Add File: n\n+x\n" + END, 2, 1),
    "an unknown header": (BEGIN + "*** Rename File: n\n" + END, 2, 1),
    "a header in lower case": (BEGIN + "*** add file: n\n+x\n" + END, 2, 1),
    "a header without a path": (BEGIN + "*** Add File: \n+x\n" + END, 2, 1),
    "an added line without plus": (ADD + "+x\ny\n" + END, 4, 1),
    "a blank line in an added file": (ADD + "+x\n\n+y\n" + END, 4, 1),
    "lines below a deletion": (BEGIN + "*** Delete File: a\n-x\n" + END, 3, 1),
    "an update without hunks": (UPDATE + END, 2, 1),
    "a rename without hunks": (UPDATE + "*** Move to: b\n" + END, 2, 1),
    "an empty hunk": (UPDATE + "@@\n" + END, 4, 1),
    "two marks in a row": (UPDATE + "@@ one\n@@ two\n-x\n" + END, 4, 1),
    "a mark without its blank": (UPDATE + "@@one\n-x\n" + END, 3, 1),
    "a context line without its blank": (UPDATE + "@@\n one\ntwo\n-x\n" + END, 5, 1),
    "a tab instead of the blank": (UPDATE + "@@\n\tone\n-x\n" + END, 4, 1),
    "an indented mark at the top": (UPDATE + "\t@@\n-x\n" + END, 3, 1),
    "lines after the end of the file": (UPDATE + "@@\n-x\n*** End of File\n+y\n" + END, 6, 1),
    "a move after a hunk": (UPDATE + "@@\n-x\n*** Move to: b\n" + END, 5, 1),
    "an environment without a name": (BEGIN + "*** Environment ID: \n*** Delete File: a\n" + END, 2, 1),
    "two environments": (BEGIN + "*** Environment ID: a\n*** Environment ID: b\n*** Delete File: a\n" + END, 3, 1),
    "a late environment": (ADD + "+x\n*** Environment ID: a\n" + END, 4, 1),
    "another heredoc": ("<<'PATCH'\n" + ADD + "+x\n" + END + "PATCH\n", 1, 1),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_defect_is_refused_at_its_place_as_codex_refuses_it(name: str) -> None:
    text, line, column = REFUSED[name]
    with pytest.raises(PatchError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert not accepts(text, {"a": "x\n"})


def test_half_a_surrogate_pair_is_refused_with_its_column() -> None:
    with pytest.raises(PatchError) as caught:
        parse(ADD + "+a\ud83d\n" + END)
    assert (caught.value.line, caught.value.column) == (3, 3)


ACCEPTED = {
    "no newline at the end": ADD + "+x\n*** End Patch",
    "white space around it": "\u00a0\n  " + ADD + "+x\n  " + END + "\u3000\n",
    "CRLF": (UPDATE + "@@ one\n-x\n+y\n*** End of File\n" + END).replace("\n", "\r\n"),
    "a bare heredoc": "<<'EOF'\n" + ADD + "+x\n" + END + "EOF\n",
    "white space after markers": UPDATE.replace("a\n", "a  \n") + "@@  \n-x\n+y\n*** End of File \n" + END,
    "indented headers between files": ADD + "+x\n  *** Delete File: a\n" + END,
    "no mark before the first hunk": UPDATE + "-x\n+y\n" + END,
    "a blank line of context": UPDATE + "@@\n-x\n+y\n\n" + END,
    "an empty added file": ADD + END,
    "line separators of other kinds": ADD + "+x\x0b\x85\u2028y\n" + END,
    "markers inside content": ADD + "+*** End Patch\n+*** Begin Patch\n" + END,
    "the end twice": ADD + "+x\n" + END + END,
    "an end of file before any hunk": UPDATE + "*** End of File\n-x\n+y\n" + END,
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_codex_is_lenient_about_parses(name: str) -> None:
    parse(ACCEPTED[name])
    assert accepts(ACCEPTED[name], {"a": "x\n"})


LINES = st.sampled_from(
    [
        "*** Begin Patch",
        "*** End Patch",
        "*** Add File: n",
        "*** Delete File: a",
        "*** Update File: a",
        "*** Move to: b",
        "*** End of File",
        "*** Environment ID: e",
        " *** Add File: m",
        "@@",
        "@@ x",
        "@@x",
        " @@",
        "",
        " ",
        "+",
        "+y",
        "-x",
        " x",
        "x",
        "*",
        "\tx",
        " *** End Patch",
    ]
)
INNER = st.lists(LINES, max_size=7)
SOUP = st.one_of(
    INNER.map(lambda lines: "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""])),
    st.tuples(st.sampled_from([UPDATE, ADD, UPDATE + "@@\n"]), INNER).map(
        lambda parts: parts[0] + "".join(line + "\n" for line in parts[1]) + END
    ),
    INNER.map("\n".join),
)


@settings(max_examples=250, deadline=None)
@given(SOUP)
def test_the_parser_and_codex_agree_about_any_lines(text: str) -> None:
    assert parses(text) == accepts(text, {"a": "x\n"})


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r", exclude_categories=["Cc", "Cs"]), max_size=12)
PATHS = st.from_regex(r"[a-z][a-z0-9 ./_-]{0,10}[a-z]", fullmatch=True)
CHANGES = st.lists(st.tuples(st.sampled_from("+- "), WORDS).map("".join), min_size=1, max_size=4)


@st.composite
def operations(draw: st.DrawFn) -> str:
    path = draw(PATHS)
    match draw(st.sampled_from(["add", "delete", "update"])):
        case "add":
            return f"*** Add File: {path}\n" + "".join(
                f"+{line}\n" for line in draw(st.lists(WORDS, min_size=1, max_size=4))
            )
        case "delete":
            return f"*** Delete File: {path}\n"
    text = f"*** Update File: {path}\n" + (f"*** Move to: {draw(PATHS)}\n" if draw(st.booleans()) else "")
    for number in range(draw(st.integers(1, 3))):
        context = draw(st.sampled_from(["@@", "@@ def f():"] + ([""] if number == 0 else [])))
        text += (context + "\n" if context else "") + "".join(line + "\n" for line in draw(CHANGES))
    return text + ("*** End of File\n" if draw(st.booleans()) else "")


PATCHES = st.tuples(st.lists(operations(), min_size=1, max_size=3), st.booleans(), st.booleans()).map(
    lambda parts: (
        BEGIN + ("*** Environment ID: e\n" if parts[1] else "") + "".join(parts[0]) + (END if parts[2] else END[:-1])
    )
)


@settings(max_examples=100, deadline=None)
@given(PATCHES)
def test_every_patch_of_the_grammar_parses(text: str) -> None:
    assert grammar_accepts(text)
    assert len(parse(text).operations) == sum(
        text.count(f"\n*** {kind} File: ") for kind in ("Add", "Delete", "Update")
    )


DIFFERENCES = {
    # where the parser (as Codex) and the grammar part: (text, the parser takes it, the grammar takes it)
    "an update that changes nothing": (UPDATE + END, False, True),
    "a rename alone": (UPDATE + "*** Move to: b\n" + END, False, True),
    "an empty hunk": (UPDATE + "@@\n" + END, False, True),
    "two marks in a row": (UPDATE + "@@ x\n@@\n-x\n" + END, False, True),
    "a path of blanks": (BEGIN + "*** Delete File:  \n" + END, False, True),
    "an empty added file": (ADD + END, True, False),
    "blank lines as context": (UPDATE + "@@\n-x\n\n" + END, True, False),
    "a hunk after the end of the file": (UPDATE + "-x\n*** End of File\n@@\n-x\n" + END, True, False),
    "an end of file before any hunk": (UPDATE + "*** End of File\n-x\n" + END, True, False),
    "indented headers": (ADD + "+x\n *** Add File: m\n+y\n" + END, True, False),
    "white space around it": ("\n" + ADD + "+x\n" + END + "\n", True, False),
    "the end twice": (ADD + "+x\n" + END + END, True, False),
    "CRLF": ((ADD + "+x\n" + END).replace("\n", "\r\n"), True, False),
    "a heredoc": ("<<EOF\n" + ADD + "+x\n" + END + "EOF\n", True, False),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_the_parser_differs_from_the_grammar_only_where_codex_does(name: str) -> None:
    text, taken, derived = DIFFERENCES[name]
    assert (parses(text), grammar_accepts(text)) == (taken, derived)
    assert accepts(text, {"a": "x\n", " ": "x\n"}) == taken


STRICT_LINES = LINES.filter(lambda line: line not in ("", "*** End of File", " *** Add File: m", " *** End Patch"))


@settings(max_examples=150, deadline=None)
@given(st.lists(STRICT_LINES, max_size=6))
def test_outside_the_differences_parser_and_grammar_agree(lines: list[str]) -> None:
    text = BEGIN + "".join(line + "\n" for line in lines) + END
    named = (
        "*** Update File: a\n***",
        "*** Move to: b\n***",
        "@@\n***",
        "@@ x\n***",
        "@@\n@@",
        "@@ x\n@@",
        "*** Add File: n\n***",
        "*** End Patch\n*** End Patch",
    )
    if not any(difference in text for difference in named):
        assert parses(text) == grammar_accepts(text)
