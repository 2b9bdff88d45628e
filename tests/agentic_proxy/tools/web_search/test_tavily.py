"""Tavily: how it is asked and read, by its public reference."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Request
from agentic_proxy.tools.web_search.tavily import TAVILY, ask, read
from translators.gateway.own import Result
from translators.gateway.search import Place, Search

PLAIN = Search("q", 8, 100)


def test_a_search_is_a_post_with_a_bearer_key() -> None:
    assert ask("https://t.example", PLAIN, "tvly-k") == Request(
        "https://t.example/search",
        {},
        {"Authorization": "Bearer tvly-k"},
        {"query": "q", "max_results": 8, "search_depth": "basic"},
    )


def test_place_age_and_domains_go_into_its_own_fields() -> None:
    search = Search("q", 30, 100, ("a.example",), ("b.example",), "month", Place("DE"))
    assert ask("", search, "k").json == {
        "query": "q", "max_results": 20, "search_depth": "basic", "include_domains": ["a.example"],
        "exclude_domains": ["b.example"], "time_range": "month", "country": "germany",
    }  # fmt: skip
    assert "country" not in (ask("", Search("q", 1, 1, place=Place("XX")), "k").json or {})


def test_its_answer_is_read() -> None:
    rows = [{"title": "T", "url": "https://a.example/", "content": "text", "score": 0.91, "raw_content": None,
             "published_date": "Fri, 27 Nov 2026 08:00:00 GMT"}, {"url": 7}]  # fmt: skip
    assert read({"query": "q", "answer": None, "results": rows}, PLAIN) == [
        Result("T", "https://a.example/", "text", "Fri, 27 Nov 2026 08:00:00 GMT")
    ]


def test_its_own_statuses_mean_used_up_limits() -> None:
    assert sorted(TAVILY.refusals) == [432, 433]
