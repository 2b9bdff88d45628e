"""A marked block goes in and comes out again byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentic_proxy.cli.block import BEGIN, END, MADE_FILE, MADE_FOLDER, BlockError, find, with_block, without_block

FILES = [b"", b"a", b"a\n", b"a\n\n", b"a\r", b"a\r\nb\r\n", b"\n", b"\xef\xbb\xbfa", b"# unfinished \xff"]
BLOCK = BEGIN + b"\nx = 1  " + END + b"\n"


@pytest.mark.parametrize("content", FILES)
def test_what_goes_in_comes_out_exactly(content: bytes) -> None:
    installed = with_block(content, "x = 1\n")
    assert installed == content + b"\n" + BLOCK
    assert without_block(installed) == content


@given(st.binary(max_size=40), st.binary(max_size=40), st.text(st.characters(codec="utf-8"), max_size=20))
def test_whatever_stands_around_the_block_stays(before: bytes, after: bytes, text: str) -> None:
    assume(not any(marker in part for marker in (BEGIN, END) for part in (before, text.encode(), after)))
    installed = with_block(before, f"{text}\n") + after
    one_line = before and after and not before.endswith(b"\n") and not after.startswith((b"\n", b"\r\n"))
    assert without_block(installed) == before + (b"\n" if one_line else b"") + after


@pytest.mark.parametrize(("folder_exists", "line"), [(True, MADE_FILE), (False, MADE_FOLDER)])
def test_a_file_that_the_block_made_goes_with_it(folder_exists: bool, line: bytes) -> None:
    installed = with_block(None, "x = 1\n", folder_exists=folder_exists)
    assert installed == BEGIN + b"\n" + line + b"\nx = 1  " + END + b"\n"
    assert without_block(installed) is None
    assert without_block(installed + b"\n") is None
    assert without_block(b"z = 3\n" + installed + b"y = 2\n") == b"z = 3\ny = 2\n"


def test_a_file_that_was_empty_stays_empty() -> None:
    assert without_block(with_block(b"", "x = 1\n")) == b""


@pytest.mark.parametrize("content", [None, *FILES])
def test_a_block_is_renewed_in_its_place(content: bytes | None) -> None:
    first = with_block(content, "x = 1\n")
    renewed = with_block(first + b"\nmore\n", "x = 2\n")
    assert renewed == with_block(content, "x = 2\n") + b"\nmore\n"
    assert without_block(renewed) == (content or b"") + b"\nmore\n"


@pytest.mark.parametrize(
    ("content", "after"),
    [(b"a\nb", b"a\r\nb"), (b"a\n", b"a\r\n"), (b"", b""), (None, None)],
)
def test_a_block_is_known_after_an_editor_turned_all_line_breaks(content: bytes | None, after: bytes | None) -> None:
    turned = with_block(content, "x = 1\n").replace(b"\n", b"\r\n")
    assert without_block(turned) == after
    assert with_block(turned, "x = 2\n").count(BEGIN) == 1


def test_a_block_is_known_where_the_last_line_break_of_the_file_was_taken_away() -> None:
    assert without_block(with_block(b"a\n", "x = 1\n").rstrip()) == b"a\n"


def test_a_file_without_a_block_is_left_alone() -> None:
    assert (find(b"a"), without_block(b"a")) == (None, b"a")


@pytest.mark.parametrize("content", [BEGIN, END, END + BEGIN, BEGIN + END + BEGIN + END])
def test_damaged_markers_are_refused(content: bytes) -> None:
    for act in (find, without_block, lambda content: with_block(content, "x")):
        with pytest.raises(BlockError, match="markers of agentic-proxy's block in it were changed"):
            act(content)
