"""Web search as a function: what its declaration means, what a call asks for, how results are numbered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translators.gateway.own import Result
from translators.gateway.search import Place, Search, Settings, Sources, is_web_search, searches, settings_of
from translators.gateway.search import web_search_tool as made


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("web_search", True), ("web_search_preview", True), ("web_search_2025_08_26", True),
        ("web_search_preview_2025_03_11", True), ("web_search_call", False), ("web_searching", False), ("mcp", False),
        (None, False), (7, False), ("x_search", False),
    ],
)  # fmt: skip
def test_the_names_of_web_search(kind: Any, expected: bool) -> None:
    assert is_web_search(kind) is expected


DECLARED: list[tuple[dict[str, Any], Settings]] = [
    ({}, Settings()),
    ({"search_context_size": "low"}, Settings(count=4, length=400)),
    ({"search_context_size": "high"}, Settings(count=12, length=1600)),
    ({"search_context_size": "huge", "filters": [], "user_location": "here"}, Settings()),
    (
        {"filters": {"allowed_domains": ["https://A.example/x", "*.b.example", "no domain", 7]}},
        Settings(allowed=("a.example", "b.example")),
    ),
    ({"filters": {"blocked_domains": ["c.example"]}}, Settings(blocked=("c.example",))),
    (
        {"user_location": {"type": "approximate", "country": "DE", "city": "Kiel", "region": None}},
        Settings(place=Place("DE", "", "Kiel")),
    ),
]


@pytest.mark.parametrize(("tool", "expected"), DECLARED)
def test_a_declaration_gives_its_settings(tool: dict[str, Any], expected: Settings) -> None:
    assert settings_of({"type": "web_search", **tool}) == expected


def test_the_function_is_the_same_for_every_declaration() -> None:
    assert made() == made()
    assert "[1]" in made().description


CALLS: list[tuple[str, Settings, list[Search]]] = [
    ('{"query": " a  b "}', Settings(), [Search("a b", 8, 800)]),
    ('{"query": "a", "queries": ["b", "a", "", "c", "d", "e", "f"]}', Settings(),
     [Search(each, 8, 800) for each in "abcde"]),
    ('{"queries": "one text"}', Settings(), [Search("one text", 8, 800)]),
    ('{"query": "a", "freshness": "day"}', Settings(), [Search("a", 8, 800, freshness="day")]),
    ('{"query": "a", "freshness": "hour"}', Settings(), [Search("a", 8, 800)]),
    ('{"query": "a", "include_domains": ["x.a.example", "evil.example"]}', Settings(allowed=("a.example",)),
     [Search("a", 8, 800, ("x.a.example",))]),
    ('{"query": "a", "include_domains": ["evil.example"]}', Settings(allowed=("a.example",)),
     [Search("a", 8, 800, ("a.example",))]),
    ('{"query": "a", "exclude_domains": ["d.example"]}', Settings(blocked=("c.example",)),
     [Search("a", 8, 800, (), ("c.example", "d.example"))]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "settings", "expected"), CALLS)
def test_a_call_asks_for_searches_within_what_the_client_allows(
    arguments: str, settings: Settings, expected: list[Search]
) -> None:
    assert searches(arguments, settings) == expected


@pytest.mark.parametrize("arguments", ["{", "[]", "", "{}", '{"query": ""}', '{"query": null}'])
def test_a_call_without_a_query_is_refused_in_words(arguments: str) -> None:
    with pytest.raises(ValueError, match=r"^The arguments "):
        searches(arguments, Settings())


def results(*names: str) -> tuple[Result, ...]:
    return tuple(Result(f"On {name}", f"https://{name}.example/", "text") for name in names)


def test_results_are_numbered_over_all_searches_and_a_page_keeps_its_number() -> None:
    sources = Sources()
    assert not sources
    first = json.loads(sources.told(["q"], results("a", "b")))
    second = json.loads(sources.told(["r"], results("b", "c")))
    assert [each["n"] for each in first["results"]] == [1, 2]
    assert [each["n"] for each in second["results"]] == [2, 3]
    assert [sources.get(number) for number in (1, 3, 4)] == [*results("a"), *results("c"), None]
    assert "square brackets" in first["note"]


def test_nothing_found_says_so() -> None:
    told = json.loads(Sources().told(["q"], ()))
    assert (told["results"], told["note"].split(".")[0]) == ([], "Nothing was found")


def test_an_earlier_turn_s_numbers_go_on() -> None:
    before, after = Sources(), Sources()
    after.remember(before.told(["q"], results("a", "b")))
    for other in (
        "x",
        '{"queries": broken',
        '{"queries":[],"results":7}',
        None,
        7,
        '{"queries":[],"results":[{"n":"x"}]}',
        '{"queries":[],"results":[{"n":true,"title":"t","url":"https://t.example"}]}',
        '{"queries":[],"results":[{"n":0,"title":"t","url":"https://t.example"}]}',
        '{"queries":[],"results":[{"n":1000000000000,"title":"t","url":"https://t.example"}]}',
        '{"queries":[],"results":[{"n":2,"title":"t","url":"javascript:alert(1)"}]}',
    ):
        after.remember(other)
    assert after.get(2) == Result("On b", "https://b.example/", "")
    assert [each["n"] for each in json.loads(after.told(["r"], results("c", "a")))["results"]] == [3, 1]
