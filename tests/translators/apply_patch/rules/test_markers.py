"""The marker lines of a patch (rows 17 to 19, 27)."""

from __future__ import annotations

import json

import pytest

from support.patch_fixes import PATCH, Fix, check, reason_of


def swap(*pairs: str) -> str:
    """The usual patch with parts of it replaced: old, new, old, new."""
    text = PATCH
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


MOVED = PATCH.replace("a.txt\n", "a.txt\n*** Move to: c.txt\n")
MOVED_AFTER: dict[str, str | None] = {"a.txt": None, "c.txt": "one\n2\nthree\n", "n.txt": "x\n\ny\n"}
AT_END = "*** Begin Patch\n*** Update File: a.txt\n@@\n-three\n+3\n*** End of File\n*** End Patch\n"
DELETES = "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch\n"

FIXES = {
    "stars after the envelope": Fix(("markers",), swap("Begin Patch", "Begin Patch ***", "End Patch", "End Patch ***")),
    "dashes": Fix(("markers",), swap("*** Begin", "--- Begin", "*** End", "--- End")),
    "dashes everywhere": Fix(("markers",), PATCH.replace("*** ", "--- ")),
    "lower case": Fix(("markers",), PATCH.replace("Begin Patch", "begin patch").replace("Update File", "update file")),
    "upper case": Fix(("markers",), swap("Begin Patch", "BEGIN PATCH", "End Patch", "END PATCH")),
    "End of Patch": Fix(("markers",), swap("End Patch", "End of Patch")),
    "no blank after the stars": Fix(("markers",), PATCH.replace("*** ", "***")),
    "no blank after the colon": Fix(("markers",), PATCH.replace("File: ", "File:")),
    "no colon": Fix(("markers",), PATCH.replace("File: ", "File ")),
    "no word File": Fix(("markers",), PATCH.replace(" File: ", ": ")),
    "a colon after Begin": Fix(("markers",), swap("Begin Patch", "Begin Patch:")),
    "other verbs": Fix(("markers",), swap("Add File", "Create File", "Update File", "Modify File")),
    "past tense": Fix(("markers",), swap("Add File", "Added File", "Update File", "Updated File")),
    "a move": Fix(("markers",), MOVED.replace("Move to:", "Move To:"), patch=MOVED, after=MOVED_AFTER),
    "a rename": Fix(("markers",), MOVED.replace("Move to:", "Rename to:"), patch=MOVED, after=MOVED_AFTER),
    "the end of the file": Fix(
        ("markers",), AT_END.replace("End of File", "End Of File ***"), patch=AT_END, after={"a.txt": "one\ntwo\n3\n"}
    ),
    "no Begin": Fix(("missing_begin",), PATCH.removeprefix("*** Begin Patch\n")),
    "no End": Fix(("missing_end",), PATCH.removesuffix("*** End Patch\n")),
    "no End and no line break": Fix(("missing_end",), PATCH.removesuffix("\n*** End Patch\n"), patch=PATCH[:-1]),
    "neither": Fix(("missing_begin", "missing_end"), PATCH[16:].removesuffix("*** End Patch\n")),
    "no End after a deletion": Fix(("missing_end",), DELETES[:-14], patch=DELETES, after={"a.txt": None}),
    "no End after the end of the file": Fix(
        ("missing_end",), AT_END[:-14], patch=AT_END, after={"a.txt": "one\ntwo\n3\n"}
    ),
    "quotes": Fix(("paths",), swap("a.txt", '"a.txt"', "n.txt", "'n.txt'")),
    "quotes in quotes": Fix(("paths",), swap("a.txt", "'\"a.txt\"'", "n.txt", '"`n.txt`"')),
    "quotes around another sign": Fix(
        ("paths",),
        swap("n.txt", '"it\'s *n*.txt"'),
        patch=PATCH.replace("n.txt", "it's *n*.txt"),
        after={"a.txt": "one\n2\nthree\n", "it's *n*.txt": "x\n\ny\n"},
    ),
    "backticks and stars": Fix(("paths",), swap("a.txt", "`a.txt`", "n.txt", "n.txt ***")),
    "bold": Fix(("paths",), swap("a.txt", "**a.txt**", "n.txt", "`n.txt` ***")),
    "a move to a quoted path": Fix(("paths",), MOVED.replace("c.txt", '"c.txt"'), patch=MOVED, after=MOVED_AFTER),
    "everything at once": Fix(
        ("markers", "paths", "missing_end"),
        swap("Begin Patch", "begin patch ***", "*** Add", "***Add", "a.txt", "`a.txt`").removesuffix("*** End Patch\n"),
    ),
}


@pytest.mark.parametrize("name", FIXES)
def test_markers_become_what_they_should_be(name: str) -> None:
    check(FIXES[name])


def test_line_ends_stay_as_they_are() -> None:
    drifted = swap("End Patch", "End of Patch", "*** Add", "***Add", "a.txt", '"a.txt"').replace("\n", "\r\n")
    wanted = PATCH.replace("\n", "\r\n")
    check(Fix(("markers", "paths"), drifted, patch=wanted))


REFUSALS = {
    "no End after an empty file": ("*** Begin Patch\n*** Add File: n\n", "last line"),
    "no End after a header": ("*** Begin Patch\n*** Update File: a.txt\n", "last line"),
    "no End after a mark": (PATCH.removesuffix("*** End Patch\n") + "*** Update File: q\n@@\n", "last line"),
    "an End behind the last line": (PATCH.replace("+y\n***", "+y ***"), "last line"),
    "the end of the JSON behind the last line": (PATCH.removesuffix("\n*** End Patch\n") + '"}', "last line"),
    "a tag behind the last line": (PATCH.removesuffix("\n*** End Patch\n") + "</parameter>", "last line"),
    "an added file without plus, then perhaps prose": ("*** Begin Patch\n*** Add File: n\nx\n\nDone.\n", "last line"),
    "an unknown verb": (swap("Update File", "Replace File"), "neither a file header"),
    "two stars": (swap("*** Update", "** Update"), "neither a file header"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_markers_that_may_mean_something_else_are_refused(name: str) -> None:
    text, reason = REFUSALS[name]
    assert reason in reason_of(text)


def test_nothing_is_added_to_a_call_that_was_cut_off() -> None:
    text = PATCH.removesuffix("*** End Patch\n")
    assert "last line" in reason_of(arguments=json.dumps({"input": text}), truncated=True)


def test_a_quote_inside_a_path_is_part_of_it() -> None:
    text = PATCH.replace("n.txt", "it's n.txt")
    assert Fix((), text).result() == text  # type: ignore[union-attr]


def test_a_path_with_endless_blanks_in_it_holds_nobody_up() -> None:
    """Were each blank looked at again from each other one, this would go on for days."""
    text = PATCH.replace("n.txt", "n" + " " * 500_000 + "`x`")
    assert Fix((), text).result() == text  # type: ignore[union-attr]
