from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from translators.tools.arguments import ArgumentsError, argument_text, judge_function_arguments

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}


def fields(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


UNCHANGED: list[tuple[str, dict[str, Any] | None]] = [
    ("{}", None),
    ('{"a" : 1 ,\n"b":[ 2 ]}', fields(a=INTEGER)),
    ('{"a": 3.0}', None),
    ('{"a": 3.0}', {}),
    ('{"a": 3.0}', fields(a=NUMBER)),
    ('{"a": 3.0}', fields(a={"type": ["integer", "number"]})),
    ('{"a": 3.0}', fields(a={})),
    ('{"a": 3.0}', fields(a={"anyOf": [INTEGER, NUMBER]})),
    ('{"a": 3.0}', fields(b=INTEGER)),
    ('{"a": 3.5}', fields(a=INTEGER)),
    ('{"a": 3.0000000000000000001}', fields(a=INTEGER)),
    ('{"a": 1e300}', fields(a=INTEGER)),
    ('{"a": 1e-99999999999999999999}', fields(a=INTEGER)),
    ('{"a": "3.0", "b": "true", "c": null}', fields(a=INTEGER, b={"type": "boolean"}, c={"type": "string"})),
    ('{"wrong": [1.0]}', {**fields(a=INTEGER), "required": ["a"], "additionalProperties": False}),
    ('{"a": 1.0}', {"properties": "nonsense", "anyOf": 7, "$ref": "elsewhere.json"}),
    ('{"a": 1.0}', {"$ref": "#"}),
    ('{"a": 1, "a": 2}', None),
    ('{"a": 123456789012345678901234567890}', fields(a=INTEGER)),
]


@pytest.mark.parametrize(("text", "parameters"), UNCHANGED)
def test_an_object_passes_byte_for_byte(text: str, parameters: dict[str, Any] | None) -> None:
    assert judge_function_arguments(text, parameters) is text


DEFS = {"$defs": {"n": INTEGER, "pair": fields(left={"$ref": "#/$defs/n"})}}
CHANGED: list[tuple[str, dict[str, Any] | None, str]] = [
    ("", None, "{}"),
    (" \r\n\t", fields(a=INTEGER), "{}"),
    (r'"{\"a\": 1}"', None, '{"a":1}'),
    (r'"{\"a\": 1.50, \"b\": 123456789012345678901234567890}"', None, '{"a":1.50,"b":123456789012345678901234567890}'),
    (r'"{\"a\": 2.0}"', fields(a=INTEGER), '{"a":2}'),
    ('{"a": 3.0}', fields(a=INTEGER), '{"a":3}'),
    ('{"a": -3.00, "b": 1.10}', fields(a=INTEGER, b=NUMBER), '{"a":-3,"b":1.10}'),
    ('{"a": 3E2}', fields(a=INTEGER), '{"a":300}'),
    ('{"a": 3.0, "é": "\\u00e9"}', fields(a=INTEGER), '{"a":3,"é":"é"}'),
    ('{"a": 3.0}', fields(a={"type": ["integer", "null"]}), '{"a":3}'),
    ('{"a": 3.0}', fields(a={"anyOf": [INTEGER, {"type": "null"}]}), '{"a":3}'),
    ('{"a": {"b": [1.0, 2.5, "x"]}}', fields(a=fields(b={"items": INTEGER})), '{"a":{"b":[1,2.5,"x"]}}'),
    ('{"a": [1.0, 1.0]}', fields(a={"prefixItems": [NUMBER], "items": INTEGER}), '{"a":[1.0,1]}'),
    ('{"a": 1.0}', {"additionalProperties": INTEGER}, '{"a":1}'),
    ('{"a": 1.0}', {**fields(a={"$ref": "#/$defs/n"}), **DEFS}, '{"a":1}'),
    ('{"a": {"left": 1.0}}', {**fields(a={"allOf": [{"$ref": "#/$defs/pair"}]}), **DEFS}, '{"a":{"left":1}}'),
    ('{"a": {"a": 1.0, "n": 2.0}}', {"properties": {"a": {"$ref": "#"}, "n": INTEGER}}, '{"a":{"a":1.0,"n":2}}'),
]


@pytest.mark.parametrize(("text", "parameters", "expected"), CHANGED)
def test_what_loses_nothing_is_coerced(text: str, parameters: dict[str, Any] | None, expected: str) -> None:
    assert judge_function_arguments(text, parameters) == expected


NO_OBJECT = "the arguments are not a JSON object"
NO_JSON = "the arguments are not valid JSON"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("null", NO_OBJECT),
        ("3", NO_OBJECT),
        ('[{"a": 1}]', NO_OBJECT),
        ('"[1]"', NO_OBJECT),
        ('"\\"{}\\""', NO_OBJECT),
        ('""', NO_JSON),
        ('"text SECRET"', NO_JSON),
        ('{"a": 1', NO_JSON),
        ('{"a": 1}}', NO_JSON),
        ("{'a': 1}", NO_JSON),
        ('{"a": NaN}', NO_JSON),
        ('{"a": "\\ud800"}', NO_JSON),
        ("SECRET", NO_JSON),
        (json.dumps('{"a":' * 500 + "1" + "}" * 500), "the arguments are nested too deeply"),
    ],
)
def test_everything_else_is_refused_without_quoting_it(text: str, reason: str) -> None:
    with pytest.raises(ArgumentsError) as caught:
        judge_function_arguments(text, fields(a=INTEGER))
    assert str(caught.value) == reason


def test_depth_alone_never_refuses() -> None:
    recursive = {"properties": {"a": {"$ref": "#"}, "n": INTEGER}}
    text = '{"n": 1.0, "a":' + '{"a":' * 900 + "1.0" + "}" * 901
    assert judge_function_arguments(text, recursive) == text


def test_arguments_that_are_no_text_become_one() -> None:
    assert [argument_text(given) for given in ('{"a": 1}', {"a": 1}, "", None, 7, [1])] == [
        '{"a": 1}', '{"a":1}', "", "", "", "",
    ]  # fmt: skip


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc") | st.text(), inner, max_size=4),
    max_leaves=15,
)
SCHEMAS = st.recursive(
    st.sampled_from([{}, INTEGER, NUMBER, {"type": "string"}, {"type": ["integer", "null"]}, {"$ref": "#"}]),
    lambda inner: st.one_of(
        st.builds(lambda a, b: fields(a=a, b=b), inner, inner),
        st.builds(lambda a: {"items": a}, inner),
        st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner),
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from("abc"), JSON_VALUES), SCHEMAS, st.booleans())
def test_coercion_never_changes_a_value_and_is_done_after_one_pass(
    value: dict[str, Any], schema: dict[str, Any], twice: bool
) -> None:
    text = json.dumps(json.dumps(value)) if twice else json.dumps(value)
    once = judge_function_arguments(text, schema)
    assert json.loads(once) == value
    assert judge_function_arguments(once, schema) == once
