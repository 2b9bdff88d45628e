"""You.com: how it is asked and read, by its public reference."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Request
from agentic_proxy.tools.web_search.you import YOU, ask, read
from translators.gateway.own import Result
from translators.gateway.search import Place, Search

PLAIN = Search("q", 8, 100)


def test_a_search_is_a_get_with_the_key_in_a_header() -> None:
    assert ask("https://y.example", PLAIN, "k") == Request(
        "https://y.example/v1/search", {"query": "q", "count": "8"}, {"X-API-Key": "k"}
    )


def test_only_one_list_of_domains_goes_up_as_one_value() -> None:
    search = Search("q", 8, 100, ("a.example", "b.example"), ("c.example",), "year", Place("us"))
    assert ask("", search, "k").params == {
        "query": "q", "count": "8", "include_domains": "a.example,b.example", "freshness": "year", "country": "US",
    }  # fmt: skip
    assert ask("", Search("q", 8, 1, exclude=("c.example",)), "k").params["exclude_domains"] == "c.example"


def test_web_comes_before_news_and_snippets_are_a_list() -> None:
    web = [{"url": "https://a.example/", "title": "T", "description": "d", "snippets": ["s1", "s2"],
            "page_age": "2026-11-27T08:00:00"}]  # fmt: skip
    news = [{"url": "https://n.example/", "title": "N", "description": "d"}]
    answer = {"results": {"news": news, "web": web}, "metadata": {"query": "q"}}
    assert read(answer, PLAIN) == [
        Result("T", "https://a.example/", "s1 … s2 … d", "2026-11-27T08:00:00"),
        Result("N", "https://n.example/", "d", ""),
    ]
    assert read({"results": []}, PLAIN) == []
    odd = [{"url": "https://a.example/", "title": "T", "snippets": 5}]
    assert read({"results": {"web": odd}}, PLAIN) == [Result("T", "https://a.example/", "", "")]
    assert sorted(YOU.refusals) == [402, 422]
