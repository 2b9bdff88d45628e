"""Searches as blocks of the Messages API, and earlier blocks as what a model reads."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from translators.gateway.search import CITE
from translators.messages.search import Cited, blocks_of, is_search, items_of, searches_in

Json = dict[str, Any]
SOURCES = [{"type": "url", "url": "https://a.example/"}, {"type": "url"}, 7]
NATIVE: Json = {
    "type": "web_search_call",
    "id": "ws-1",
    "status": "completed",
    "action": {"type": "search", "query": "q", "sources": SOURCES},
}
USE: Json = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}


def result(content: Any) -> Json:
    return {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (NATIVE, True),
        ({"type": "web_search_call"}, True),
        ({"type": "web_search_call", "action": {"type": "open_page"}}, False),
        ({"type": "message"}, False),
    ],
)
def test_what_opens_a_page_is_no_search(item: Json, expected: bool) -> None:
    assert is_search(item) is expected


def test_an_upstreams_own_search_has_the_results_that_its_item_names() -> None:
    use, found = blocks_of(NATIVE)
    assert use == {"type": "server_tool_use", "id": "srvtoolu_ws_1", "name": "web_search", "input": {"query": "q"}}
    head = {"type": "web_search_result", "url": "https://a.example/", "title": "https://a.example/"}
    assert found["content"] == [{**head, "encrypted_content": "", "page_age": None}]
    assert blocks_of({"type": "web_search_call", "id": "ws_2"})[1]["content"] == []


@pytest.mark.parametrize(
    ("action", "query"),
    [({"queries": ["a", "b", 3]}, "a; b"), ({"query": "q", "queries": ["a"]}, "q"), ({"queries": None}, "")],
)
def test_several_queries_of_one_search_are_told_as_one(action: Json, query: str) -> None:
    assert blocks_of({**NATIVE, "action": {"type": "search", **action}})[0]["input"] == {"query": query}


def test_one_that_failed_has_a_code() -> None:
    content = blocks_of({**NATIVE, "status": "failed"})[1]["content"]
    assert content == {"type": "web_search_tool_result_error", "error_code": "unavailable"}


def test_only_searches_that_went_well_are_counted() -> None:
    page = {"type": "web_search_call", "status": "completed", "action": {"type": "open_page"}}
    assert searches_in([NATIVE, {**NATIVE, "status": "failed"}, page, {"type": "message"}]) == 1


def test_a_citation_of_a_page_that_nobody_found_here_has_no_text() -> None:
    cited = Cited()
    cited.remember(NATIVE)
    given = {"type": "url_citation", "url": "https://b.example/", "title": "B", "start_index": 0, "end_index": 1}
    assert cited.citation(given) == {
        "type": "web_search_result_location",
        "url": "https://b.example/",
        "title": "B",
        "encrypted_index": "",
        "cited_text": "",
    }
    assert cited.citation({"type": "file_citation"}) is None
    assert cited.citation(None) is None


@pytest.mark.parametrize("packed", ["not ours", "####", "e30=", "WzFd", None, 7])
def test_results_that_another_service_packed_are_told_without_their_text(packed: Any) -> None:
    row = {"type": "web_search_result", "title": "T", "url": "https://t.example/", "encrypted_content": packed}
    call, output = items_of(USE, result([{**row, "page_age": "1 day"}, 7]))
    assert call == {
        "type": "function_call",
        "call_id": "srvtoolu_1",
        "name": "web_search",
        "arguments": '{"query":"q"}',
    }
    assert (output["type"], output["call_id"]) == ("function_call_output", "srvtoolu_1")
    assert orjson.loads(output["output"]) == {
        "queries": ["q"],
        "results": [{"title": "T", "url": "https://t.example/", "date": "1 day", "text": ""}],
        "note": CITE,
    }


@pytest.mark.parametrize(
    ("content", "code"),
    [({"type": "web_search_tool_result_error", "error_code": "unavailable"}, "unavailable"), (None, "None")],
)
def test_a_search_that_failed_earlier_is_told_as_one(content: Any, code: str) -> None:
    call, output = items_of({**USE, "input": None}, result(content))
    assert call["arguments"] == "{}"
    assert orjson.loads(output["output"]) == {"error": f"The search failed ({code})."}
