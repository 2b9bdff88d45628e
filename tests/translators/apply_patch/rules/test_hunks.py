"""The lines inside the sections of a patch (rows 24, 25, 26, 29)."""

from __future__ import annotations

import pytest

from support.patch_fixes import PATCH, Fix, check, reason_of
from translators.apply_patch.repair import Canonical
from translators.apply_patch.rules.hunks import HunkMark, hunk_mark

B, E = "*** Begin Patch\n", "*** End Patch\n"
IN_G = B + "*** Update File: src/b.py\n@@ def g():\n-    return 1\n+    return 2\n" + E
G_AFTER: dict[str, str | None] = {"src/b.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n"}
TWO = (
    B + "*** Update File: src/b.py\n@@\n def f():\n-    return 1\n+    return 0\n"
    "@@ def g():\n-    return 1\n+    return 2\n" + E
)
TWO_AFTER: dict[str, str | None] = {"src/b.py": "def f():\n    return 0\n\n\ndef g():\n    return 2\n"}
NEW = B + "*** Add File: n.py\n+import x\n+\n+if x:\n+    x()\n" + E
NEW_AFTER: dict[str, str | None] = {"n.py": "import x\n\nif x:\n    x()\n"}

FIXES = {
    "line numbers": Fix(("hunk_marks",), PATCH.replace("@@", "@@ -1,2 +1,2 @@")),
    "line numbers that say that a hunk follows at once": Fix(
        ("hunk_marks",),
        B + "*** Update File: a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -3 +3 @@\n-three\n+3\n" + E,
        patch=B + "*** Update File: a.txt\n@@\n one\n-two\n+2\n@@\n-three\n+3\n" + E,
        after={"a.txt": "one\n2\n3\n"},
    ),
    "line numbers without counts": Fix(("hunk_marks",), PATCH.replace("@@", "@@ -1 +1 @@")),
    "old line numbers only": Fix(("hunk_marks",), PATCH.replace("@@", "@@ -1,2 @@")),
    "line numbers without an end": Fix(("hunk_marks",), PATCH.replace("@@", "@@ -1,2 +1,2")),
    "line numbers and the place": Fix(
        ("hunk_marks",), IN_G.replace("@@ def", "@@ -6,1 +6,1 @@ def"), patch=IN_G, after=G_AFTER
    ),
    "the place that was passed": Fix(
        ("hunk_marks",),
        TWO.replace("@@\n", "@@ -1,2 +1,2 @@\n").replace("@@ def g():\n", "@@ -4,3 +4,3 @@ def f():\n \n def g():\n"),
        patch=TWO.replace("@@ def g():\n", "@@\n \n def g():\n"),
        after=TWO_AFTER,
    ),
    "one line number": Fix(("hunk_marks",), PATCH.replace("@@", "@@ line 1 @@")),
    "empty marks": Fix(("hunk_marks",), PATCH.replace("@@", "@@ @@")),
    "dots": Fix(("hunk_marks",), PATCH.replace("@@", "@@ ... @@")),
    "a closed mark": Fix(("hunk_marks",), IN_G.replace("g():\n-", "g(): @@\n-"), patch=IN_G, after=G_AFTER),
    "a mark without its blank": Fix(("hunk_marks",), IN_G.replace("@@ def", "@@def"), patch=IN_G, after=G_AFTER),
    "a mark in an added file": Fix(
        ("hunk_marks",), NEW.replace("+import", "@@ -0,0 +1,4 @@\n+import"), patch=NEW, after=NEW_AFTER
    ),
    "a bare mark in an added file": Fix(
        ("hunk_marks",), NEW.replace("+import", "@@\n+import"), patch=NEW, after=NEW_AFTER
    ),
    "an added file without plus": Fix(("added_lines",), NEW.replace("\n+", "\n"), patch=NEW, after=NEW_AFTER),
    "a blank line without plus": Fix(("added_lines",), NEW.replace("+\n", "\n"), patch=NEW, after=NEW_AFTER),
    "no plus and blank lines at the end": Fix(
        ("added_lines", "trailing_blanks"), NEW.replace("\n+", "\n").replace(E, "\n\n" + E), patch=NEW, after=NEW_AFTER
    ),
    "context without its blank, switched on": Fix(
        ("context_blank",), PATCH.replace(" one\n", "one\n"), enabled={"context_blank": True}
    ),
    "blank lines at the end": Fix(("trailing_blanks",), NEW.replace(E, "\n" + E), patch=NEW, after=NEW_AFTER),
    "blank lines between files, one of which may decide": Fix(
        ("trailing_blanks",),
        PATCH.replace("-two", " two\n-three").replace("*** Add", "\n\n\n*** Add").replace(E, "\n" + E),
        patch=PATCH.replace("-two", " two\n-three").replace("*** Add", "\n*** Add"),
        after={"a.txt": "one\ntwo\n2\n", "n.txt": "x\n\ny\n"},
    ),
    "blank lines behind few others, one of which may decide": Fix(
        ("trailing_blanks",), PATCH.replace("*** Add", "\n\n*** Add"), patch=PATCH.replace("*** Add", "\n*** Add")
    ),
    "a blank line after Begin": Fix(("trailing_blanks",), PATCH.replace(B, B + "\n")),
    "a blank line after a deletion": Fix(
        ("trailing_blanks",),
        B + "*** Delete File: src/b.py\n \n" + E,
        patch=B + "*** Delete File: src/b.py\n" + E,
        after={"src/b.py": None},
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_lines_of_a_section_become_right(name: str) -> None:
    check(FIXES[name])


REFUSALS = {
    "line numbers where lines are only added": (PATCH.replace("@@\n one\n-two\n", "@@ -1,0 +2,1 @@\n"), "only adds"),
    "one line that may stand anywhere": (
        PATCH.replace("@@\n one", "@@ -2 +2 @@").replace("@@ -2 +2 @@\n", "@@ -2 +2 @@\n"),
        "several places",
    ),
    "a second hunk in a place that was passed": (
        TWO.replace("@@\n", "@@ -1,2 +1,2 @@ x\n").replace("@@ def g():", "@@ -6 +6 @@ x"),
        "several places",
    ),
    "a place that is in the hunk": (
        IN_G.replace("@@ def g():\n", "@@ -5,2 +5,2 @@ def g():\n def g():\n"),
        "several places",
    ),
    "only added, with a place": (IN_G.replace("@@ ", "@@ -5,0 +6,1 @@ ").replace("-    return 1\n", ""), "only adds"),
    "no plus, and a line like a header": (
        NEW.replace("\n+", "\n").replace("if x:", "*** delete file: x"),
        "marker or content",
    ),
    "some lines with plus": (NEW.replace("+if", "if"), "does not begin with `+`"),
    "every line begins with a blank": (NEW.replace("\n+", "\n ").replace("\n \n", "\n"), "does not begin with `+`"),
    "a blank line before the first": (
        NEW.replace("\n+", "\n").replace("import", "\nimport"),
        "does not begin with `+`",
    ),
    "context without its blank": (PATCH.replace(" one\n", "one\n"), "begins with none of"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_lines_whose_meaning_is_not_certain_are_refused(name: str) -> None:
    text, reason = REFUSALS[name]
    assert reason in reason_of(text)


LEFT = {
    "one blank line at the end of an update": PATCH.replace("*** Add", "\n*** Add"),
    "blanks that are all that ties an addition": B + "*** Update File: src/b.py\n@@\n+x = 1\n\n\n" + E,
    "a blank context line": B + "*** Update File: src/b.py\n@@\n     return 1\n \n \n" + E,
    "line numbers in content": PATCH.replace("+x\n", "+@@ -1,2 +1,2 @@\n"),
    "a place that begins with a number": IN_G.replace("def g():", "1,2 things"),
}


@pytest.mark.parametrize("name", LEFT)
def test_lines_that_mean_what_they_say_are_left(name: str) -> None:
    outcome = Fix((), LEFT[name]).outcome()
    assert outcome == Canonical(LEFT[name])


def test_a_mark_tells_its_place_and_counts() -> None:
    assert hunk_mark("@@ -1,2 +3,4 @@ def f():") == HunkMark("def f():", 1, (2, 4))
    assert hunk_mark("@@ -0,0 +1 @@") == HunkMark("", 0, (0, 1), True)
    assert hunk_mark("@@") is None
    assert hunk_mark("@@ def f():") is None


def test_a_hunk_mark_with_endless_blanks_holds_nobody_up() -> None:
    """Were each blank looked at again from each other one, this would go on for days."""
    blanks = " " * (1 << 20)
    assert hunk_mark("@@" + blanks + "?") is None
    assert hunk_mark("@@" + blanks + "..." + blanks + "@@ def f():") == HunkMark("def f():")
