"""Values: several JSON texts in one parse, each of them by itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.values import values

GOOD = [b"{}", b'{"a":[1,{"b":null}]}', b'"x"', b"0", b" [1, 2] ", b"null"]
PIECES = [b"{", b"}", b"[", b"]", b'"', b",", b":", b"1", b"{}", b'"a"', b'"a":', b"\\", b" "]


def test_each_text_is_one_value() -> None:
    assert values(GOOD) == [{}, {"a": [1, {"b": None}]}, "x", 0, [1, 2], None]
    assert [values([text]) for text in GOOD] == [[value] for value in values(GOOD) or ()]


@pytest.mark.parametrize(
    "texts",
    [
        [b"1,2"],
        [b"1", b"2,3"],
        [b"[1", b"2]"],
        [b"[1", b"2],3"],
        [b'{"a":[1', b'2]},{"b":1}'],
        [b'"x', b'y"'],
        [b""],
        [b"1", b""],
        [b"1]", b"[2"],
        [b"{broken", b"{}"],
        [b'"\\ud83d"'],
        [b'"\xff"'],
    ],
)
def test_what_is_whole_only_together_is_none(texts: list[bytes]) -> None:
    assert values(texts) is None


@given(st.lists(st.lists(st.sampled_from(PIECES), max_size=6).map(b"".join), min_size=1, max_size=4))
def test_texts_are_taken_together_exactly_where_each_is_taken_alone(texts: list[bytes]) -> None:
    alone = [values([text]) for text in texts]
    together = values(texts)
    assert together == (None if None in alone else [each[0] for each in alone if each])
