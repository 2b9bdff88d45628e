"""Schemas of answers, as pydantic and others write them, in the words of Anthropic's structured outputs."""

from __future__ import annotations

from typing import Any

import pytest

from translators.messages.answer_schema import answer_schema

INNER = {"type": "object", "properties": {"a": {"type": "integer"}}}
CLOSED = {**INNER, "additionalProperties": False}
MAP = {"type": "object", "additionalProperties": {"type": "string"}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (INNER, CLOSED),
        ({**INNER, "additionalProperties": True}, CLOSED),
        (CLOSED, CLOSED),
        ({"type": "object", "additionalProperties": False}, {"type": "object", "additionalProperties": False}),
        ({"$schema": "x", "type": ["object", "null"], "properties": {}, "additionalProperties": False},
         {"type": ["object", "null"], "properties": {}, "additionalProperties": False}),
        ({"type": "integer", "minimum": 0}, {"type": "integer", "description": '{"minimum":0}'}),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}),
        ({"format": "x", "description": "d"}, {"description": 'd\n\n{"format":"x"}'}),
        ({"format": ["x"]}, {"description": '{"format":["x"]}'}),
        ({"type": "array", "items": INNER, "minItems": 1}, {"type": "array", "items": CLOSED, "minItems": 1}),
        ({"type": "array", "minItems": 2}, {"type": "array", "description": '{"minItems":2}'}),
        ({"oneOf": [INNER, {"type": "null"}]}, {"anyOf": [CLOSED, {"type": "null"}]}),
        ({"$ref": "#/$defs/x", "$defs": {"x": INNER}}, {"$ref": "#/$defs/x", "$defs": {"x": CLOSED}}),
        ({"type": "object", "properties": {"minimum": INNER}},
         {"type": "object", "properties": {"minimum": CLOSED}, "additionalProperties": False}),
    ],
)  # fmt: skip
def test_objects_are_closed_and_limits_are_told(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    before = repr(schema)
    assert answer_schema(schema) == expected
    assert repr(schema) == before


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        MAP,
        {**INNER, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": MAP}},
        {"type": "array", "items": True},
        {"anyOf": [INNER, MAP]},
        True,
        None,
    ],
)
def test_what_may_have_any_names_cannot_be_said(schema: Any) -> None:
    assert answer_schema(schema) is None
