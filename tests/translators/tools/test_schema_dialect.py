"""Function parameters as providers take them."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from support.providers.checks import functions, moonshot_schemas, no_booleans, not_recursive, plain_schemas
from translators.tools.schema_dialect import adapt_parameters

Json = dict[str, Any]
NODE: Json = {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}, "value": {"type": "integer"}}}
RECURSIVE: Json = {"type": "object", "properties": {"node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": NODE}}
SHARED: Json = {
    "type": "object",
    "properties": {
        "a": {"$ref": "#/$defs/Who", "description": "The first."},
        "b": {"type": "array", "items": {"$ref": "#/definitions/Who"}},
    },
    "$defs": {"Who": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
    "definitions": {"Who": {"type": "string"}},
}


def props(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, props()),
        ({}, props()),
        ({"type": "object"}, props()),
        ({"type": "object", "properties": None}, props()),
        ({"type": ["object", "null"]}, props()),
        ({**props(a={}), "required": None, "description": None}, props(a={})),
        ({**props(a={}), "default": None}, {**props(a={}), "default": None}),
        ({"type": "string"}, props()),
        ({"properties": {"a": {}}}, props(a={})),
        (props(a={"type": "string"}), props(a={"type": "string"})),
    ],
)
def test_the_root_is_always_an_object_with_properties(given: Any, wanted: Json) -> None:
    assert adapt_parameters(given, frozenset()) == wanted
    assert adapt_parameters(given, frozenset({"no_meta"})) == wanted


@pytest.mark.parametrize("rules", [frozenset[str](), frozenset({"no_meta"}), frozenset({"moonshot"})])
def test_nobody_but_openai_is_asked_to_seal_an_argument(rules: frozenset[str]) -> None:
    sealed = props(message={"type": "string", "encrypted": True}, encrypted={"type": "boolean"})
    before = copy.deepcopy(sealed)
    assert adapt_parameters(sealed, rules) == props(message={"type": "string"}, encrypted={"type": "boolean"})
    assert sealed == before


CASES: dict[str, tuple[set[str], Json, Json]] = {
    "keywords that are null are none, inside as well": (
        {"any_draft"},
        props(a=None, b={"type": "array", "items": None, "enum": None}, c={"const": None, "default": None}),
        props(a={}, b={"type": "array", "items": {}}, c={"const": None, "default": None}),
    ),
    "references become what they refer to, and what stood beside them stays": (
        {"inline_refs"},
        SHARED,
        props(
            a={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"],
               "description": "The first."},
            b={"type": "array", "items": {"type": "string"}},
        ),
    ),
    "a reference inside its own target ends as anything": (
        {"inline_refs"},
        RECURSIVE,
        props(node={"type": "object", "properties": {"next": {}, "value": {"type": "integer"}}}),
    ),
    "only references that lead back are cut": (
        {"no_recursion"},
        {**SHARED, "$defs": {**SHARED["$defs"], "Node": NODE},
         "properties": {"a": SHARED["properties"]["a"], "n": {"$ref": "#/$defs/Node"}}},
        {
            "type": "object",
            "properties": {
                "a": SHARED["properties"]["a"],
                "n": {"type": "object", "properties": {"next": {}, "value": {"type": "integer"}}},
            },
            "$defs": {**SHARED["$defs"],
                      "Node": {"type": "object", "properties": {"next": {}, "value": {"type": "integer"}}}},
            "definitions": SHARED["definitions"],
        },
    ),
    "a union at the root becomes one object": (
        {"no_root_union"},
        {"anyOf": [
            {"type": "object", "properties": {"a": {"type": "string"}, "c": {}}, "required": ["a", "c"],
             "additionalProperties": False},
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["c"]},
        ], "additionalProperties": False},
        {**props(a={"type": "string"}, c={}, b={"type": "string"}), "required": ["c"]},
    ),
    "all parts of a root allOf are needed": (
        {"no_root_union"},
        {"type": "object", "allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"required": ["b"]}]},
        {**props(a={}), "required": ["a", "b"]},
    ),
    "booleans become schemas, but additionalProperties stays": (
        {"no_bool"},
        {**props(a=True, b={"type": "array", "items": True}), "additionalProperties": False},
        {**props(a={}, b={"type": "array", "items": {}}), "additionalProperties": False},
    ),
    "several types become one type or a union": (
        {"no_type_arrays"},
        props(a={"type": ["string", "null"]}, b={"type": ["string", "integer"]}, c={"type": ["null"]}),
        props(a={"type": "string"}, b={"anyOf": [{"type": "string"}, {"type": "integer"}]}, c={"type": "string"}),
    ),
    "names of the schema itself are left out": (
        {"no_meta"},
        {"$schema": "x", "$id": "y", **props(a={"$comment": "z", "type": "string"})},
        props(a={"type": "string"}),
    ),
    "what is allowed beyond the properties is left out": (
        {"no_additional_properties"},
        {**props(a={**props(), "additionalProperties": {"type": "string"}}), "additionalProperties": False},
        props(a=props()),
    ),
    "a list has one schema for all its items, a limit is a number": (
        {"any_draft"},
        props(
            a={"type": "array", "items": [{"type": "string"}, {"type": "number"}], "additionalItems": False},
            b={"type": "array", "prefixItems": [{"type": "integer"}] * 2, "items": False, "minItems": 2},
            c={"type": "array"},
            d={"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "null"}},
            e={"type": "array", "items": [{"type": "string"}, True]},
            f={"type": "integer", "minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False},
            g={"type": "array", "items": {"type": "string"}},
            items={"type": "string"},
        ),
        props(
            a={"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
            b={"type": "array", "items": {"type": "integer"}, "minItems": 2},
            c={"type": "array", "items": {}},
            d={"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            e={"type": "array", "items": {}},
            f={"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
            g={"type": "array", "items": {"type": "string"}},
            items={"type": "string"},
        ),
    ),
    "a property that is called like a keyword is a property": (
        {"no_additional_properties", "no_meta", "no_bool"},
        props(additionalProperties={"type": "string"}, items={"type": "string"}, anyOf=True),
        props(additionalProperties={"type": "string"}, items={"type": "string"}, anyOf={}),
    ),
    "moonshot: the type goes into the branches, properties get one": (
        {"moonshot"},
        props(
            a={"type": "string", "anyOf": [{"minLength": 1}, {"enum": ["x"]}], "description": "d"},
            b={"oneOf": [{"type": "integer"}, {"const": "x"}]},
            c={"description": "anything"},
            d={"enum": ["x", None, "y", True]},
            e={"type": "array", "items": [{"type": "string"}, True], "additionalItems": False},
            f=True,
        ),
        props(
            a={"anyOf": [{"type": "string", "minLength": 1}, {"type": "string", "enum": ["x"]}], "description": "d"},
            b={"anyOf": [{"type": "integer"}, {"type": "string", "const": "x"}]},
            c={"description": "anything", "type": "object"},
            d={"enum": ["x", "y"], "type": "string"},
            e={"type": "array", "prefixItems": [{"type": "string"}, {}]},
            f={"type": "object"},
        ),
    ),
    "moonshot: references go, allOf becomes one": (
        {"moonshot"},
        {"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/$defs/W"}, {"description": "d"}]}},
         "$defs": {"W": {"type": "string"}}},
        props(a={"type": "string", "description": "d"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rules", "given", "wanted"), CASES.values(), ids=CASES)
def test_rules(rules: set[str], given: Json, wanted: Json) -> None:
    before = copy.deepcopy(given)
    assert adapt_parameters(given, frozenset(rules)) == wanted
    assert given == before


@pytest.mark.parametrize("kind", ["boolean", "number", "array", "object", "string"])
def test_moonshot_guesses_a_missing_type_from_what_is_said(kind: str) -> None:
    said = {
        "boolean": {"enum": [True, False]},
        "number": {"minimum": 0},
        "array": {"items": {"type": "string"}},
        "object": {"properties": {"x": {"type": "string"}}},
        "string": {"pattern": "x"},
    }[kind]
    adapted = adapt_parameters(props(p=said), frozenset({"moonshot"}))
    assert adapted["properties"]["p"]["type"] == kind


VALID: list[tuple[Json, list[Json]]] = [
    (RECURSIVE, [{"node": {"next": {"next": {"value": 1}}}}]),
    (SHARED, [{"a": {"name": "n"}, "b": ["x"]}]),
    ({"oneOf": [props(a={"type": "string"}), {"required": ["b"]}]}, [{"a": "x"}, {"b": 1}]),
    (props(x={"type": ["integer", "null"]}), [{"x": 1}]),
    (props(t={"type": "array", "items": {"anyOf": [{"type": "string"}, True]}}), [{"t": ["x"]}]),
]


@pytest.mark.parametrize(
    "rules",
    [{"moonshot"}, {"any_draft"}, {"no_recursion"}, {"inline_refs", "no_root_union"}, {"no_bool", "no_type_arrays"},
     {"inline_refs", "no_bool", "no_meta", "no_additional_properties", "no_type_arrays"}],
)  # fmt: skip
@pytest.mark.parametrize(("schema", "values"), VALID)
def test_what_was_valid_stays_valid(rules: set[str], schema: Json, values: list[Json]) -> None:
    adapted = adapt_parameters(schema, frozenset(rules))
    Draft202012Validator.check_schema(adapted)
    for value in values:
        Draft202012Validator(adapted).validate(value)


@pytest.mark.parametrize(("schema", "values"), VALID)
def test_strict_hosts_take_the_result(schema: Json, values: list[Json]) -> None:
    def tool(*rules: str) -> Json:
        return {"tools": [{"type": "function", "name": "f", "parameters": adapt_parameters(schema, frozenset(rules))}]}

    assert len(functions(tool())) == 1
    assert moonshot_schemas(tool("moonshot")) is None
    assert not_recursive(tool("no_recursion")) is None
    assert plain_schemas(tool("inline_refs", "no_root_union")) is None
    assert no_booleans(tool("no_bool")) is None


def test_a_schema_that_is_no_json_is_replaced() -> None:
    assert adapt_parameters({"properties": {"a": "\ud800"}}, frozenset({"no_bool"})) == props()
