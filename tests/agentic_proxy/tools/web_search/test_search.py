"""Searching over HTTP: one session, limits, one short wait, errors in words that hold no key."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentic_proxy.tools.base import ToolError
from agentic_proxy.tools.web_search import search as module
from agentic_proxy.tools.web_search.search import PROVIDERS, Searcher, WebSearch
from support.raw_upstream import RESET, RawUpstream
from support.search_server import Answer, Asked, SearchServer, brave_page
from translators.gateway.own import Ran
from translators.gateway.search import Search, Settings, web_search_tool

SEARCH = Search("q", 8, 100)
PAGE = [{"title": "T", "url": "https://a.example/", "content": "x", "description": "x", "snippets": ["x"]}]
PAGES = {
    "brave": {"web": {"results": PAGE}},
    "tavily": {"results": PAGE},
    "you": {"results": {"web": PAGE}},
    "searxng": {"results": PAGE},
}


async def found(answer: Any, name: str = "brave") -> Any:
    """What a search brings when the provider answers like this: results, or the text of the ToolError."""
    async with SearchServer(answer) as server:
        searcher = Searcher(PROVIDERS[name], f"{server.url}/", "key-of-a-test")
        try:
            return await searcher.search(SEARCH), server.asked
        except ToolError as error:
            return str(error), server.asked
        finally:
            await searcher.close()


@pytest.mark.parametrize("name", PROVIDERS)
async def test_every_provider_is_asked_at_its_own_path_and_read(name: str) -> None:
    results, (asked,) = await found(lambda asked: PAGES[name], name)
    assert [(each.title, each.url, each.text) for each in results] == [("T", "https://a.example/", "x")]
    assert (asked.method, asked.path) == {
        "brave": ("GET", "/res/v1/web/search"), "tavily": ("POST", "/search"), "you": ("GET", "/v1/search"),
        "searxng": ("GET", "/search"),
    }[name]  # fmt: skip


def then(first: Answer) -> Any:
    """That answer first, a good one afterwards."""
    answers = [first]
    return lambda asked: answers.pop() if answers else PAGES["brave"]


@pytest.mark.parametrize(
    ("header", "value"), [("Retry-After", "0"), ("Retry-After", "0.001"), ("X-RateLimit-Reset", "0, 1419704")]
)
async def test_a_short_429_is_waited_for_once(header: str, value: str) -> None:
    results, asked = await found(then(Answer({}, 429, ((header, value),))))
    assert (len(results), len(asked)) == (1, 2)


REFUSED: dict[str, tuple[Answer, str, int]] = {
    "long_429": (Answer({}, 429, (("Retry-After", "3"),)), "allows no more searches for now (HTTP 429).", 1),
    "429_twice": (Answer({}, 429, (("Retry-After", "0"),)), "allows no more searches for now (HTTP 429).", 2),
    "429_that_says_nothing": (Answer({}, 429), "allows no more searches for now (HTTP 429).", 1),
    "429_with_a_digit_that_is_none": (
        Answer({}, 429, (("Retry-After", "\N{SUPERSCRIPT TWO}"),)),
        "allows no more searches for now (HTTP 429).",
        1,
    ),
    "401": (Answer({"echo": "key-of-a-test"}, 401), "did not accept the key (HTTP 401).", 1),
    "422": (Answer({}, 422), "refused the key or the query (HTTP 422).", 1),
    "500": (Answer({}, 500), "had a fault of its own (HTTP 500).", 1),
    "400": (Answer({}, 400), "refused the search (HTTP 400).", 1),
    "redirect": (Answer({}, 302, (("Location", "http://169.254.169.254/"),)), "refused the search (HTTP 302).", 1),
    "html": (Answer(b"<html>"), "answered with something that is not JSON.", 1),
    "list": (Answer([1]), "answered with something that is not JSON.", 1),
}


@pytest.mark.parametrize(("answer", "text", "count"), REFUSED.values(), ids=REFUSED)
async def test_a_refusal_is_told_in_words_that_hold_no_key(answer: Answer, text: str, count: int) -> None:
    told, asked = await found(lambda asked: answer)
    assert (told, len(asked)) == (f"The search provider brave {text}", count)


async def test_an_answer_without_an_end_stops_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER", 1 << 20)
    told, _ = await found(lambda asked: Answer(b"[" + b"1," * (1 << 20)))
    assert told == "The search provider brave sent more than 1 MiB."


async def test_a_provider_that_says_nothing_is_left_after_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    async with SearchServer(held=True) as server:
        searcher = Searcher(PROVIDERS["brave"], server.url, "k")
        with pytest.raises(ToolError, match=r"did not answer within 0\.05 seconds"):
            await searcher.search(SEARCH)
        await searcher.close()


async def test_a_broken_connection_and_a_closed_port_are_told() -> None:
    async with RawUpstream((RESET,)) as broken:
        searcher = Searcher(PROVIDERS["brave"], broken.url, "k")
        with pytest.raises(ToolError, match="brave cannot be reached: "):
            await searcher.search(SEARCH)
        await searcher.close()
    with pytest.raises(ToolError, match=r"brave cannot be reached: connection refused\."):
        await searcher.search(SEARCH)
    await searcher.close()


async def test_an_outbound_proxy_is_asked_for_by_url() -> None:
    asked: list[str] = []

    def proxy(url: str) -> None:
        asked.append(url)

    async with SearchServer() as server:
        searcher = Searcher(PROVIDERS["brave"], server.url, "k", proxy=proxy)
        await searcher.search(SEARCH)
        await searcher.close()
    assert asked == [f"{server.url}/res/v1/web/search"]


async def run(arguments: str, answer: Any = brave_page) -> tuple[Ran, list[Asked]]:
    async with SearchServer(answer) as server:
        searcher = Searcher(PROVIDERS["brave"], server.url, "k")
        ran = await WebSearch(searcher, Settings(count=3)).run(web_search_tool(), arguments)
        await searcher.close()
    return ran, server.asked


async def test_several_queries_of_one_call_are_asked_at_the_same_time_and_a_page_counts_once() -> None:
    ran, asked = await run('{"queries": ["a", "b", "a"]}', lambda asked: brave_page(asked) if asked.params["q"] == "a"
                           else {"web": {"results": [{"title": "A", "url": "https://one.example/a"}]}})  # fmt: skip
    assert sorted(each.params["q"] for each in asked) == ["a", "b"]
    assert [each.url for each in ran.results] == ["https://one.example/a", "https://two.example/a"]
    assert ran.error is None


async def test_what_one_query_found_counts_although_another_failed() -> None:
    ran, _ = await run('{"queries": ["a", "b"]}', lambda asked: brave_page(asked) if asked.params["q"] == "a"
                       else Answer({}, 500))  # fmt: skip
    assert (ran.error, len(ran.results)) == (None, 2)


@pytest.mark.parametrize("arguments", ["", "[]", "{", '{"query": " "}', '{"queries": []}', '{"query": 7}'])
async def test_arguments_without_a_query_ask_nobody(arguments: str) -> None:
    ran, asked = await run(arguments)
    assert ran.error is not None and ran.error.startswith("The arguments ")
    assert asked == []


async def test_a_cancelled_search_leaves_no_request_behind() -> None:
    async with SearchServer(held=True) as server:
        searcher = Searcher(PROVIDERS["brave"], server.url, "k")
        task = asyncio.create_task(searcher.search(SEARCH))
        await server.until(lambda each: each.running == 1)
        task.cancel()
        await server.until(lambda each: each.running == 0)
        await searcher.close()
