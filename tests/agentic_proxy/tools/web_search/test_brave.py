"""Brave: how it is asked and read, by its public reference."""

from __future__ import annotations

from agentic_proxy.tools.web_search.base import Request
from agentic_proxy.tools.web_search.brave import BRAVE, ask, read
from translators.gateway.own import Result
from translators.gateway.search import Place, Search

PLAIN = Search("q", 8, 100)
ANSWER = {
    "type": "search",
    "query": {"original": "q", "more_results_available": True},
    "web": {
        "type": "search",
        "results": [
            {"type": "search_result", "title": "T", "url": "https://a.example/", "description": "snippet",
             "age": "2 days ago", "page_age": "2026-11-27T08:00:00", "extra_snippets": ["more"]},
            {"title": "no address"},
        ],
    },
}  # fmt: skip


def test_a_search_is_a_get_with_the_key_in_a_header_and_no_marks() -> None:
    assert ask("https://b.example", PLAIN, "k") == Request(
        "https://b.example/res/v1/web/search",
        {"q": "q", "count": "8", "text_decorations": "false"},
        {"X-Subscription-Token": "k", "Accept": "application/json"},
    )


def test_place_age_and_domains_go_into_its_own_fields() -> None:
    search = Search("q", 99, 100, ("a.example",), ("b.example",), "week", Place("de"))
    assert ask("", search, "k").params == {
        "q": "q site:a.example -site:b.example", "count": "20", "text_decorations": "false", "freshness": "pw",
        "country": "DE",
    }  # fmt: skip


def test_its_answer_is_read_also_when_nothing_was_found() -> None:
    assert read(ANSWER, PLAIN) == [Result("T", "https://a.example/", "snippet … more", "2 days ago")]
    assert read({"type": "search", "query": {}}, PLAIN) == []


def test_a_result_with_a_member_of_another_form_takes_nothing_from_the_others() -> None:
    found = [{"url": f"https://{n}.example/", "title": "T", "extra_snippets": more} for n, more in enumerate((5, True))]
    assert read({"web": {"results": found}}, PLAIN) == [Result("T", f"https://{n}.example/", "", "") for n in range(2)]


def test_a_bad_key_is_a_422() -> None:
    assert BRAVE.refusals[422] == "refused the key or the query"
    assert (BRAVE.base_url, BRAVE.needs_key) == ("https://api.search.brave.com", True)
