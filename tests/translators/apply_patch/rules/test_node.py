"""What a line of a drifted patch is."""

from __future__ import annotations

import pytest

from translators.apply_patch.rules.node import (
    Header,
    Node,
    carriage,
    header_of,
    is_begin,
    is_end,
    is_fence,
    is_marker,
    looks_like_patch,
    starts_patch,
)

HEADERS = {
    "*** Add File: a b.txt": Header("*** Add File: ", "a b.txt"),
    "***add file:a": Header("*** Add File: ", "a"),
    "*** Create File: a\r": Header("*** Add File: ", "a"),
    "*** Remove: a": Header("*** Delete File: ", "a"),
    "**** Modify File a": Header("*** Update File: ", "a"),
    "*** Move To: b": Header("*** Move to: ", "b"),
    "*** EOF ***": Header("*** End of File", ""),
    "*** Add File: ": None,
    "** Update: bold **": None,
    " *** Add File: a": None,
    "*** Update everything": None,
    "+*** Add File: a": None,
}


@pytest.mark.parametrize("line", HEADERS)
def test_headers_are_known_in_their_spellings_and_only_at_column_0(line: str) -> None:
    assert header_of(line) == HEADERS[line]


@pytest.mark.parametrize("line", ["*** Begin Patch", "***Begin Patch***", "--- begin patch", "*** Begin of Patch:\r"])
def test_a_begin_is_known_in_its_spellings(line: str) -> None:
    assert is_begin(line)
    assert is_end(line.replace("Begin", "End").replace("begin", "end"))
    assert is_marker(line) == line.startswith("*")


@pytest.mark.parametrize("line", [" *** Begin Patch", "+*** Begin Patch", "*** Begin Patch now", "-- Begin Patch"])
def test_what_only_talks_about_a_begin_is_none(line: str) -> None:
    assert not is_begin(line)


def test_a_patch_starts_with_its_envelope_a_header_or_a_diff() -> None:
    lines = ["*** Begin Patch", "*** Add File: a", "--- a", "+++ b", "diff --git a/a b/a", "*** Move to: b", "text"]
    assert [starts_patch(lines, at) for at in range(len(lines))] == [True, True, True, False, True, False, False]


def test_text_that_may_hold_a_patch_is_told_from_other_text() -> None:
    assert looks_like_patch("x\n  *** begin patch")
    assert looks_like_patch("*** Begin Patch\\n*** Add File: a")
    assert not looks_like_patch("I send *** Begin Patch in a moment")


def test_a_reading_keeps_what_led_to_it() -> None:
    node = Node("raw", "x", folder="src", truncated=True, rules=("bom",))
    assert node.then("text", "y") == Node("text", "y", folder="src", truncated=True, rules=("bom",))
    assert (carriage("x\r"), carriage("x")) == ("\r", "")


def test_a_fence_stands_alone_in_its_line() -> None:
    lines = ["```", "  ```diff\r", "~~~", "````c++ ", "``` \r", "+```", "``` one two", "``"]
    assert [is_fence(line) for line in lines] == [True, True, True, True, True, False, False, False]


RUNS = {
    "a begin": ("*** Begin Patch", is_begin),
    "an end": ("*** End Patch", is_end),
    "an end of file": ("*** End of File", header_of),
    "a fence": ("```", is_fence),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_model_that_does_not_stop_writing_blanks_holds_nobody_up(name: str) -> None:
    """Were each blank looked at again from each other one, this would go on for days."""
    line, known = RUNS[name]
    blanks = " " * (1 << 20)
    assert known(line + blanks)
    assert not known(line + blanks + "?")
