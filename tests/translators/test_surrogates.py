"""Lone surrogates: read, joined, replaced."""

from __future__ import annotations

from itertools import pairwise

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.surrogates import SurrogateJoiner, clean, clean_tree, dumps, escaped, loads


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'{"a":"\\ud83d"}', {"a": "\ud83d"}),
        (b'"\\ud83d\\ude00"', "😀"),
        (b"[1]", [1]),
    ],
)
def test_json_with_lone_surrogates_is_read(data: bytes, value: object) -> None:
    assert loads(data) == value


@pytest.mark.parametrize("number", ["0", "-7", str(2**64 - 1), str(2**64), str(-(2**63)), str(-(2**63) - 1), "-1.5e3"])
def test_numbers_beside_them_are_read_as_everywhere(number: str) -> None:
    """So that what was read can be written again."""
    (_, read), plain = loads(b'["\\ud83d", %b]' % number.encode()), orjson.loads(number)
    assert (read, type(read)) == (plain, type(plain))
    assert orjson.loads(orjson.dumps(read)) == read


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[DONE]",
        b'["\\u12"]',
        b'["\\ud83d", NaN]',
        b'["\\ud83d", 1e999]',
        b'["\\ud83d", %b]' % (b"9" * 400),
        b'"\\ud83d\xff"',
        b"[" * 5000 + b'"\\ud83d"',
    ],
)
def test_what_is_not_json_raises_value_error(data: bytes) -> None:
    with pytest.raises(ValueError):
        loads(data)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [("abc", "abc"), ("é😀", "é😀"), ("a\ud83d", "a\ufffd"), ("\ude00a", "\ufffda"), ("\ud83d\ude00", "😀")],
)
def test_clean_joins_pairs_and_replaces_what_stands_alone(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned
    assert clean_tree({text: [text, 1, None]}) == {cleaned: [cleaned, 1, None]}


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("abc", "abc"),
        ("é😀", "é😀"),
        ("a\ud83d", r"a\ud83d"),
        ("\ude00a", r"\ude00a"),
        ("é\ud83d\ude00\ud83d", r"é😀\ud83d"),
    ],
)
def test_in_json_text_what_stands_alone_becomes_its_escape(text: str, written: str) -> None:
    assert escaped(text) == written
    joiner = SurrogateJoiner(in_json=True)
    assert "".join(map(joiner.feed, text)) + joiner.finish() == written


def test_a_half_waits_for_the_next_delta() -> None:
    joiner = SurrogateJoiner()
    assert joiner.feed("a\ud83d") == "a"
    assert joiner
    assert joiner.feed("\ude00b") == "😀b"
    assert not joiner
    assert joiner.feed("\ud83d") == ""
    assert joiner.feed("c\ud83d") == "\ufffdc"
    assert joiner.finish() == "\ufffd"
    assert joiner.finish() == ""


@given(st.text(st.characters(), max_size=20), st.lists(st.integers(0, 40), max_size=6))
def test_text_cut_between_any_utf16_units_is_restored(text: str, cuts: list[int]) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    borders = sorted({0, len(units), *(2 * cut for cut in cuts if 2 * cut < len(units))})
    pieces = [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in pairwise(borders)]
    joiner = SurrogateJoiner()
    assert "".join(map(joiner.feed, pieces)) + joiner.finish() == clean(text)


@pytest.mark.parametrize("value", [{"a": [1, "é"]}, {"a": ["\ud83d", 1.5, None]}, "\ude00"])
def test_what_was_read_can_be_written_and_read_again(value: object) -> None:
    assert loads(dumps(value)) == value
