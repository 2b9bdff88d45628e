"""A marked block goes in and comes out again byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from agentic_proxy.cli.block import BEGIN, END, MADE_FILE, MADE_FOLDER, BlockError, find, with_block, without_block

FILES = [b"", b"a", b"a\n", b"a\n\n", b"a\r\nb\r\n", b"\n", b"\xef\xbb\xbfa", b"# unfinished \xff"]


@pytest.mark.parametrize("content", FILES)
def test_what_goes_in_comes_out_exactly(content: bytes) -> None:
    installed = with_block(content, "x = 1\n")
    assert installed == content + b"\n" + BEGIN + b"x = 1\n" + END
    assert without_block(installed) == content


@given(st.binary(max_size=40), st.binary(max_size=40), st.text(st.characters(codec="utf-8"), max_size=20))
def test_whatever_stands_around_the_block_stays(before: bytes, after: bytes, text: str) -> None:
    assume(not any(marker in part for marker in (BEGIN, END) for part in (before, text.encode(), after)))
    installed = with_block(before, f"{text}\n") + after
    assert without_block(installed) == before + after


@pytest.mark.parametrize(("folder_exists", "line"), [(True, MADE_FILE), (False, MADE_FOLDER)])
def test_a_file_that_the_block_made_goes_with_it(folder_exists: bool, line: bytes) -> None:
    installed = with_block(None, "x = 1\n", folder_exists=folder_exists)
    assert installed == BEGIN + line + b"x = 1\n" + END
    assert without_block(installed) is None
    assert without_block(b"z = 3\n" + installed + b"y = 2\n") == b"z = 3\ny = 2\n"


def test_a_file_that_was_empty_stays_empty() -> None:
    assert without_block(with_block(b"", "x = 1\n")) == b""


@pytest.mark.parametrize("content", [None, *FILES])
def test_a_block_is_renewed_in_its_place(content: bytes | None) -> None:
    first = with_block(content, "x = 1\n")
    renewed = with_block(first + b"more\n", "x = 2\n")
    assert renewed == with_block(content, "x = 2\n") + b"more\n"
    assert without_block(renewed) == (content or b"") + b"more\n"


def test_a_file_without_a_block_is_left_alone() -> None:
    assert (find(b"a"), without_block(b"a")) == (None, b"a")


@pytest.mark.parametrize("content", [BEGIN, END, END + BEGIN, BEGIN + END + BEGIN + END])
def test_damaged_markers_are_refused(content: bytes) -> None:
    for act in (find, without_block, lambda content: with_block(content, "x")):
        with pytest.raises(BlockError, match="markers of agentic-proxy's block in it were changed"):
            act(content)
