"""Search results as plain text within limits, whatever a provider sends."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_proxy.tools.web_search.base import items, part, plain, result, rows, with_sites
from translators.gateway.own import Result
from translators.gateway.search import Search

SEARCH = Search("q", 5, 20)


@pytest.mark.parametrize(
    ("given", "limit", "expected"),
    [
        ("plain", 10, "plain"),
        ("a <strong>b</strong>\n\t c", 20, "a b c"),
        ("&lt;b&gt;x&amp;y", 20, "x&y"),
        ("1 < 2 and 3 > 2", 20, "1 < 2 and 3 > 2"),
        ("x" * 30, 5, "xxxx…"),
        (None, 5, ""),
        (7, 5, ""),
    ],
)
def test_text_without_markup_within_a_limit(given: Any, limit: int, expected: str) -> None:
    assert plain(given, limit) == expected


@pytest.mark.parametrize(
    ("url", "host"),
    [("https://a.example/x", "a.example"), (" http://a.example ", "a.example")],
)
def test_a_result_keeps_its_address_and_gets_a_title(url: str, host: str) -> None:
    assert result(SEARCH, None, url, ["one", None, "one", "two"], "2 days") == Result(
        host, url.strip(), "one … two", "2 days"
    )


@pytest.mark.parametrize(
    "url",
    [
        None,
        "",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "/x",
        "http://[",
        "https://a/" + "x" * 3000,
        "https://a/\nb",
        "https://a/\x1b[31m",
    ],
)
def test_what_nobody_could_open_is_no_result(url: Any) -> None:
    assert result(SEARCH, "t", url, ["x"]) is None


def test_an_address_with_blanks_in_it_is_written_as_one() -> None:
    found = result(SEARCH, "T", " https://a/b c?q=d e ", [])
    assert found is not None
    assert found.url == "https://a/b%20c?q=d%20e"


def test_domains_hold_whatever_the_provider_answers() -> None:
    only = Search("q", 5, 20, include=("good.example",), exclude=("bad.good.example",))
    hosts = ["good.example", "www.good.example", "notgood.example", "bad.good.example", "x.bad.good.example"]
    kept = [host for host in hosts if result(only, "t", f"https://{host}/", [])]
    assert kept == ["good.example", "www.good.example"]


def test_domains_become_operators_as_far_as_they_fit() -> None:
    both = Search("q", 5, 20, include=("a.example", "b.example"), exclude=("c.example",))
    assert with_sites(both, 100) == "q site:a.example OR site:b.example -site:c.example"
    assert with_sites(both, 20) == "q -site:c.example"


def test_lists_and_members_of_anything() -> None:
    assert (rows([{"a": 1}, 2, None]), rows("x"), rows(None)) == ([{"a": 1}], [], [])
    assert (items([1, "a"]), items("x"), items(5), items(True)) == ([1, "a"], [], [], [])
    assert (part({"a": 1}, "a"), part([], "a"), part(None, "a")) == (1, None, None)
