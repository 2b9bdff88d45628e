"""SearXNG: how an instance is asked and read, by its own documentation."""

from __future__ import annotations

import pytest

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.web_search.base import Request
from agentic_proxy.tools.web_search.searxng import SEARXNG, ask, read
from translators.gateway.own import Result
from translators.gateway.search import Search

PLAIN = Search("q", 8, 100)


def test_a_search_needs_no_key() -> None:
    assert ask("http://s.example", PLAIN, "") == Request("http://s.example/search", {"q": "q", "format": "json"}, {})
    assert ask("", Search("q", 8, 1, freshness="day"), "").params["time_range"] == "day"
    assert (SEARXNG.base_url, SEARXNG.needs_key) == (None, False)


def test_its_answer_is_read() -> None:
    rows = [{"url": "https://a.example/", "title": "T", "content": "snippet", "engines": ["x"], "publishedDate": None}]
    assert read({"results": rows, "unresponsive_engines": [["z", "timeout"]]}, PLAIN) == [
        Result("T", "https://a.example/", "snippet", "")
    ]
    assert read({"results": [], "unresponsive_engines": []}, PLAIN) == []


def test_silent_engines_are_not_the_same_as_nothing_found() -> None:
    with pytest.raises(ToolError, match=r"None of its search engines answered \(z, y\)"):
        read({"results": [], "unresponsive_engines": [["z", "timeout"], ["y"], 7]}, PLAIN)


def test_a_403_says_how_to_switch_json_on() -> None:
    assert "add json to search.formats" in SEARXNG.refusals[403]
