from __future__ import annotations

from typing import Any

import pytest

from translators.tools.schema import at_index, at_key, integer_only, views

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
ROOT: dict[str, Any] = {"$defs": {"n": INTEGER, "a/b": NUMBER, "loop": {"$ref": "#/$defs/loop"}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (INTEGER, True),
        (NUMBER, False),
        ({}, False),
        (True, False),
        (None, False),
        ({"type": "string"}, False),
        ({"type": ["integer", "string"]}, True),
        ({"type": ["integer", "number"]}, False),
        ({"anyOf": [INTEGER, {"type": "null"}]}, True),
        ({"oneOf": [INTEGER, NUMBER]}, False),
        ({"anyOf": [INTEGER, {"enum": [1.5]}]}, False),
        ({"allOf": [{"$ref": "#/$defs/n"}], "description": "n"}, True),
        ({"$ref": "#/$defs/n"}, True),
        ({"$ref": "#/$defs/a~1b"}, False),
        ({"$ref": "#/$defs/none"}, False),
        ({"$ref": "#/$defs/loop"}, False),
        ({"$ref": "other.json#/n"}, False),
    ],
)
def test_only_a_schema_that_allows_no_other_number_asks_for_an_integer(schema: Any, expected: bool) -> None:
    assert integer_only(views(schema, ROOT)) is expected


def test_members_are_found_by_name_or_position() -> None:
    thing = {"properties": {"a": INTEGER}, "additionalProperties": NUMBER, "prefixItems": [INTEGER], "items": NUMBER}
    assert at_key([thing], "a", ROOT) == [INTEGER]
    assert at_key([thing], "b", ROOT) == [NUMBER]
    assert at_index([thing], 0, ROOT) == [INTEGER]
    assert at_index([thing], 1, ROOT) == [NUMBER]
    assert at_key([{"additionalProperties": False}], "a", ROOT) == []


def test_what_may_match_a_pattern_is_not_guessed() -> None:
    assert at_key([{"patternProperties": {"^x": NUMBER}, "additionalProperties": INTEGER}], "x1", ROOT) == []


def test_an_absurdly_wide_schema_says_nothing() -> None:
    assert views({"anyOf": [{"type": "integer", "n": n} for n in range(100)]}, ROOT) == []
