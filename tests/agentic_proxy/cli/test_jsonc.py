"""JSON with places, comments and trailing commas."""

from __future__ import annotations

import json

import pytest

from agentic_proxy.cli.jsonc import JsonError, parse


@pytest.mark.parametrize(
    "text",
    [
        *("{}", "[]", "null", "-1.5e3", '"a\\u00e9\\n"', " { } ", '{"a":[1,{"b":null}],"c":true}'),
        '{"a": 1, "a": {"b": 2}}',
        "[" * 200 + "]" * 200,
    ],
)
def test_what_is_json_has_the_value_that_it_has_for_everybody(text: str) -> None:
    node = parse(text)
    assert node.value == json.loads(text)
    assert json.loads(text[node.start : node.end]) == node.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('// a\n{"a": 1, /* b */ "c": [1, 2,], // d\n}\n// e', {"a": 1, "c": [1, 2]}),
        ('\ufeff{"url": "http://x", "b": "/*"}', {"url": "http://x", "b": "/*"}),
        ('{\r\n\t"a":\r\n1}', {"a": 1}),
    ],
)
def test_comments_and_trailing_commas_are_passed_over(text: str, value: object) -> None:
    assert parse(text).value == value


def test_members_are_known_by_their_places() -> None:
    text = '{ "a" : 1 /*,*/ , "b": [2] }'
    members = parse(text).members or {}
    assert {name: text[each.start : each.node.end] for name, each in members.items()} == {
        "a": '"a" : 1',
        "b": '"b": [2]',
    }
    assert [each.comma for each in members.values()] == [text.index(", "), None]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        *(("", 1), ("{", 1), ('{"a"}', 1), ('{"a": }', 1), ("{a: 1}", 1), ("[1 2]", 1), ("{} {}", 1), ("{,}", 1)),
        *(('{\n"a": "b\nc"}', 2), ("tru", 1), ("01", 1), ("'a'", 1), ('"\\x"', 1), ("/* {}", 1), ("{}\n]", 2)),
    ],
)
def test_anything_else_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(JsonError, match=f"^line {line} is not what JSON may have there"):
        parse(text)


def test_a_tower_of_brackets_is_refused_and_breaks_nothing() -> None:
    with pytest.raises(JsonError, match="nested too deeply"):
        parse("[" * 100_000)
