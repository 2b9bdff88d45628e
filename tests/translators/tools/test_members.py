"""The values of an object, as they are written."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.tools.members import members


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{}", {}),
        (" { } \n", {}),
        ('{"a":1}', {"a": "1"}),
        ('\t{ "a" : 1.10 , "b":12345678901234567890123 }', {"a": "1.10", "b": "12345678901234567890123"}),
        ('{"a":{"b": [1, 2]},"c":"x\\"}"}', {"a": '{"b": [1, 2]}', "c": '"x\\"}"'}),
        ('{"\\u0061":"\\ud83d"}', {"a": '"\\ud83d"'}),
        ('{"a":1,"a":1}', {"a": "1"}),
        ('{"a":"x\ny"}', {"a": '"x\ny"'}),
    ],
)
def test_values_come_as_they_stand(text: str, found: dict[str, str]) -> None:
    assert members(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "[]", "1", '"a"', "{", '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a":1}}', '{"a":1} x',
        "{,}", '{"a" 1}', "{1:2}", '{"a":1 "b":2}', '{"a":1,"a":2}', "{a:1}", '{"a":' + "[" * 100_000,
    ],
)  # fmt: skip
def test_anything_else_is_no_object(text: str) -> None:
    assert members(text) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), st.sampled_from([None, 1]), st.booleans())
def test_every_object_is_the_sum_of_its_members(value: dict[str, Any], indent: int | None, plain: bool) -> None:
    found = members(json.dumps(value, indent=indent, ensure_ascii=plain))
    assert found is not None
    assert {key: json.loads(raw) for key, raw in found.items()} == value
