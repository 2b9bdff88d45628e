"""Unified diffs instead of patches (row 23)."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.patch_engine import apply_patch
from support.patch_fixes import PATCH, Fix, check, reason_of
from translators.apply_patch.repair import Repaired, repair_text

B, E = "*** Begin Patch\n", "*** End Patch\n"
A = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
A_PATCH = B + "*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n" + E
A_AFTER: dict[str, str | None] = {"a.txt": "one\n2\nthree\n"}
GIT = "diff --git a/a.txt b/a.txt\nindex 4cb29ea..ab2e1d8 100644\n"
NEW = (
    "diff --git a/n.txt b/n.txt\nnew file mode 100644\nindex 0000000..ab2e1d8\n"
    "--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n"
)
GONE = (
    "diff --git a/src/b.py b/src/b.py\ndeleted file mode 100644\nindex ab2e1d8..0000000\n"
    "--- a/src/b.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-def f():\n-    return 1\n"
)
MOVED = "diff --git a/a.txt b/c.txt\nsimilarity index 80%\nrename from a.txt\nrename to c.txt\n" + A.replace(
    "b/a", "b/c"
)
G = "--- a/src/b.py\n+++ b/src/b.py\n@@ -5,2 +5,2 @@ def g():\n-    return 1\n+    return 2\n"

FIXES = {
    "plain": Fix(("unified_diff",), A, patch=A_PATCH, after=A_AFTER),
    "git": Fix(("unified_diff",), GIT + A, patch=A_PATCH, after=A_AFTER),
    "in the envelope": Fix(("unified_diff",), B + A + E, patch=A_PATCH, after=A_AFTER),
    "git in the envelope": Fix(("unified_diff",), B + GIT + A + E, patch=A_PATCH, after=A_AFTER),
    "in a fence, with prose": Fix(
        ("prose", "fence", "unified_diff"), f"Try this:\n```diff\n{A}```\nok?", patch=A_PATCH, after=A_AFTER
    ),
    "prose before it": Fix(("prose", "unified_diff"), "Here is the diff:\n\n" + A, patch=A_PATCH, after=A_AFTER),
    "no prefixes": Fix(("unified_diff",), A.replace(" a/", " ").replace(" b/", " "), patch=A_PATCH, after=A_AFTER),
    "time stamps": Fix(
        ("unified_diff",), A.replace("a.txt\n", "a.txt\t2026-01-01 10:00:00\n"), patch=A_PATCH, after=A_AFTER
    ),
    "no newline at the end": Fix(("unified_diff",), A + "\\ No newline at end of file\n", patch=A_PATCH, after=A_AFTER),
    "wrong counts": Fix(("unified_diff",), A.replace("-1,3 +1,3", "-1,9 +1,4"), patch=A_PATCH, after=A_AFTER),
    "no counts": Fix(("unified_diff",), A.replace("@@ -1,3 +1,3 @@", "@@"), patch=A_PATCH, after=A_AFTER),
    "CRLF": Fix(("unified_diff",), A.replace("\n", "\r\n"), patch=A_PATCH.replace("\n", "\r\n"), after=A_AFTER),
    "the place is kept": Fix(
        ("unified_diff",),
        G,
        patch=B + "*** Update File: src/b.py\n@@ def g():\n-    return 1\n+    return 2\n" + E,
        after={"src/b.py": "def f():\n    return 1\n\n\ndef g():\n    return 2\n"},
    ),
    "a new file": Fix(("unified_diff",), NEW, patch=B + "*** Add File: n.txt\n+x\n+y\n" + E, after={"n.txt": "x\ny\n"}),
    "a file that goes": Fix(
        ("unified_diff",), GONE, patch=B + "*** Delete File: src/b.py\n" + E, after={"src/b.py": None}
    ),
    "a rename": Fix(
        ("unified_diff",),
        MOVED,
        patch=A_PATCH.replace("a.txt\n", "a.txt\n*** Move to: c.txt\n"),
        after={"a.txt": None, "c.txt": "one\n2\nthree\n"},
    ),
    "several files": Fix(
        ("unified_diff",),
        GIT + A + NEW + GONE,
        patch=A_PATCH.removesuffix(E) + "*** Add File: n.txt\n+x\n+y\n*** Delete File: src/b.py\n" + E,
        after={**A_AFTER, "n.txt": "x\ny\n", "src/b.py": None},
    ),
    "no End": Fix(("missing_end", "unified_diff"), B + A, patch=A_PATCH, after=A_AFTER),
    "no newline, in V4A": Fix(
        ("diff_headers",),
        A_PATCH.replace("+2\n", "+2\n\\ No newline at end of file\n"),
        patch=A_PATCH,
        after=A_AFTER,
    ),
    "below a V4A header": Fix(
        ("diff_headers", "hunk_marks"), B + "*** Update File: a.txt\n" + A + E, patch=A_PATCH, after=A_AFTER
    ),
    "git below a V4A header": Fix(
        ("diff_headers", "hunk_marks"), B + "*** Update File: a.txt\n" + GIT + A + E, patch=A_PATCH, after=A_AFTER
    ),
    "below a V4A header with a move": Fix(
        ("diff_headers", "hunk_marks"),
        B + "*** Update File: a.txt\n*** Move to: c.txt\n" + A.replace("b/a", "b/c") + E,
        patch=A_PATCH.replace("a.txt\n", "a.txt\n*** Move to: c.txt\n"),
        after={"a.txt": None, "c.txt": "one\n2\nthree\n"},
    ),
    "below the header of a new file": Fix(
        ("diff_headers", "hunk_marks"),
        B + "*** Add File: n.txt\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1,2 @@\n+x\n+y\n" + E,
        patch=B + "*** Add File: n.txt\n+x\n+y\n" + E,
        after={"n.txt": "x\ny\n"},
    ),
    "below the header of a deletion": Fix(
        ("diff_headers",),
        B + "*** Delete File: src/b.py\n" + GONE.split("0000000\n", 1)[1] + E,
        patch=B + "*** Delete File: src/b.py\n" + E,
        after={"src/b.py": None},
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_a_diff_becomes_a_patch(name: str) -> None:
    check(FIXES[name])


REFUSALS = {
    "a binary file": ("diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n" + A, "binary"),
    "a binary patch": ("diff --git a/i.png b/i.png\nGIT binary patch\nliteral 3\nabc\n" + A, "binary"),
    "a rename alone": ("diff --git a/a b/b\nsimilarity index 100%\nrename from a\nrename to b\n", "only renamed"),
    "a mode alone": ("diff --git a/a b/a\nold mode 100644\nnew mode 100755\n" + GIT + A, "only renamed"),
    "a copy": ("diff --git a/a b/b\ncopy from a\ncopy to b\n" + A, "copied"),
    "names that git's line does not have": (GIT.replace("a.txt", "q.txt") + A, "two file names"),
    "two names and no word of a rename": (A.replace("+++ b/a", "+++ b/c"), "two file names"),
    "a file that goes only in part": (GONE.replace("@@ -1,2 +0,0", "@@ -2,2 +1,0"), "other kind"),
    "a file that goes although lines stay": (GONE.replace("-def", " def").replace("+0,0", "+1,1"), "other kind"),
    "a new file with a gap": (NEW + "@@ -0,0 +9,1 @@\n+z\n", "other kind"),
    "a symbolic link": (NEW.replace("100644", "120000"), "symbolic link"),
    "a submodule": (GIT.replace("100644", "160000") + A, "symbolic link"),
    "another file below a V4A header": (B + "*** Update File: n.txt\n" + A + E, "two file names"),
    "an added line behind the hunk": (A + "\n+ two is 2\n", "not certain"),
    "two names": (A.replace("+++ b/a.txt", "+++ c.txt"), "two file names"),
    "an insertion without context": (
        A.replace("-1,3 +1,3", "-1,0 +2,1").replace(" one\n-two\n", "").replace(" three\n", ""),
        "only adds",
    ),
    "an insertion at the top": ("--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+zero\n", "only adds"),
    "a removed line like a header, counts wrong": (A.replace("-two", "--- two").replace("-1,3", "-1,9"), "not certain"),
    "a context line without its blank": (A.replace(" three", "three"), "neither a header"),
    "a new file that removes": (NEW.replace("+y", "-y"), "other kind"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_diff_that_a_patch_cannot_say_for_certain_is_refused(name: str) -> None:
    text, reason = REFUSALS[name]
    assert reason in reason_of(text)


def test_headers_that_are_content_of_another_file_stay() -> None:
    text = PATCH.replace("@@\n", "@@\n--- a/x\n+++ b/x\n")
    assert Fix((), text).result() == text  # type: ignore[union-attr]


def test_lines_like_headers_are_content_where_the_counts_say_so() -> None:
    diff = A.replace("-1,3 +1,3", "-1,4 +1,4").replace("-two\n+2\n", "--- two\n+++ 2\n-two\n+2\n")
    patch = A_PATCH.replace("-two\n+2\n", "--- two\n+++ 2\n-two\n+2\n")
    assert repair_text(diff) == Repaired(patch, ("unified_diff",))


LINES = st.lists(
    st.sampled_from(["def f(x):", "    return x", "", "  ", "-- sql", "++i", "--- old", "+++ new", "@@ at", "*** x"])
    | st.integers(0, 99).map("    v = {}".format),
    min_size=1,
    max_size=12,
)


@settings(max_examples=40, deadline=None)
@given(old=LINES, new=LINES)
def test_what_git_writes_makes_the_same_file_or_is_refused(old: list[str], new: list[str]) -> None:
    """The whole file is context: no line of it can be taken for another."""
    before, after = "\n".join(old) + "\n", "\n".join(new) + "\n"
    diff = git_diff(before, after)
    if not diff:
        return
    outcome = repair_text(diff)
    assert isinstance(outcome, Repaired), (diff, outcome)
    applied = apply_patch(outcome.text, {"f.py": before})
    assert applied.files == {"f.py": after}, applied.output


def git_diff(before: str, after: str) -> str:
    with tempfile.TemporaryDirectory() as name:
        for side, content in (("a", before), ("b", after)):
            Path(name, side).mkdir()
            Path(name, side, "f.py").write_text(content)
        command = ["git", "diff", "--no-index", "--no-prefix", "-U99", "a/f.py", "b/f.py"]
        return subprocess.run(command, cwd=name, capture_output=True, text=True, check=False).stdout


def test_a_diff_that_was_cut_off_is_refused() -> None:
    assert "not `*** Begin Patch`" in reason_of(arguments=json.dumps({"input": A}), truncated=True)
    assert repair_text(B + A + E, truncated=True) == Repaired(A_PATCH, ("unified_diff",))
