"""An own call: nothing while it is written, then its public item, and in between the pair that a model reads."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from translators.events import Deltas, Event, Json, StreamEvent
from translators.gateway.calls import DELTA, OwnCall, failed_list, listed
from translators.gateway.own import OwnTool, Ran, Result
from translators.gateway.search import Sources, web_search_tool

MCP = OwnTool("mcp", "mcp__s__add", "", {}, "s", "add")
ITEM: Json = {"type": "function_call", "id": "fc_7", "call_id": "call_7", "name": "x", "arguments": ""}


@dataclass
class Declared:
    own: OwnTool | None
    flat: str = "flat_name"


def call(own: OwnTool, *pieces: str, item: Json | None = None, status: str = "completed") -> OwnCall:
    made = OwnCall(dict(ITEM), 2, Declared(own))
    shown: list[StreamEvent] = [*made.added(), *made.deltas(Deltas(DELTA, "fc_7", 2, None, list(pieces)))]
    shown += made.event(Event("response.anything", {"item_id": "fc_7"}))
    assert [*shown, *made.finish(item, status)] == []
    return made


def kinds(events: list[StreamEvent]) -> list[str]:
    return [event.kind.removeprefix("response.") for event in events]


def test_a_search_shows_what_it_asks_and_ends_with_its_sources() -> None:
    search = call(web_search_tool(), '{"que', 'ry": "tides"}')
    action = {"type": "search", "query": "tides", "queries": ["tides"]}
    start = search.start()
    assert kinds(start) == ["output_item.added", "web_search_call.in_progress", "web_search_call.searching"]
    opened = {"id": "ws_7", "type": "web_search_call", "status": "in_progress", "action": action}
    assert isinstance(start[0], Event)
    assert start[0].body == {"output_index": 2, "item": opened}
    sources = Sources()
    end = search.end(Ran(results=(Result("T", "https://t.example/", "x"),)), sources)
    assert kinds(end) == ["web_search_call.completed", "output_item.done"]
    done = {
        **opened,
        "status": "completed",
        "action": {**action, "sources": [{"type": "url", "url": "https://t.example/"}]},
    }
    assert search.item == done
    assert isinstance(start[0], Event)
    assert start[0].body["item"] == opened, "the opened item does not change any more"
    first, second = search.pair
    assert first == {
        "type": "function_call", "id": "fc_7", "call_id": "call_7", "name": "flat_name", "status": "completed",
        "arguments": '{"query": "tides"}',
    }  # fmt: skip
    assert (second["type"], second["call_id"], json.loads(second["output"])["results"][0]["n"]) == (
        "function_call_output", "call_7", 1,
    )  # fmt: skip
    assert sources.get(1) is not None


def test_a_failed_search_has_no_event_of_its_own_for_that() -> None:
    search = call(web_search_tool(), "{}")
    search.start()
    assert kinds(search.end(Ran(error="no"), Sources())) == ["web_search_call.completed", "output_item.done"]
    assert (search.item["status"], search.item["action"]["sources"]) == ("failed", [])
    assert json.loads(search.pair[1]["output"]) == {"error": "no"}


def test_an_mcp_call_shows_its_arguments_at_once_and_its_output() -> None:
    made = call(MCP, '{"a": 1}')
    start = made.start()
    assert kinds(start) == [
        "output_item.added", "mcp_call.in_progress", "mcp_call_arguments.delta", "mcp_call_arguments.done",
    ]  # fmt: skip
    bodies = [event.body for event in start[2:] if isinstance(event, Event)]
    assert [body.get("delta") or body.get("arguments") for body in bodies] == ['{"a": 1}'] * 2
    assert kinds(made.end(Ran(output="3"), Sources())) == ["mcp_call.completed", "output_item.done"]
    assert (made.item["arguments"], made.item["output"], made.pair[1]["output"]) == ('{"a": 1}', "3", "3")


def test_a_failed_mcp_call_carries_its_typed_error() -> None:
    made = call(MCP, "{}")
    detail = {"type": "http_error", "code": 0, "message": "m"}
    assert kinds(made.end(Ran(error="m", detail=detail), Sources())) == ["mcp_call.failed", "output_item.done"]
    assert (made.item["status"], made.item["error"], made.item["output"]) == ("failed", detail, None)


@pytest.mark.parametrize(
    ("pieces", "item", "status", "arguments", "complete"),
    [
        (['{"a":1}'], None, "completed", '{"a":1}', True),
        (['{"a":'], {"arguments": '{"a":1}'}, "completed", '{"a":1}', True),
        ([], {"arguments": {"a": 1}}, "completed", '{"a":1}', True),
        ([], None, "completed", "", True),
        (['{"a":'], None, "incomplete", '{"a":', False),
        (['{"a":1}'], {"arguments": '{"a":1}', "status": "incomplete"}, "completed", '{"a":1}', False),
        (['{"a":1}'], {"arguments": '{"a":1}', "status": "completed"}, "incomplete", '{"a":1}', True),
    ],
)
def test_whether_a_call_is_complete(
    pieces: list[str], item: Json | None, status: str, arguments: str, complete: bool
) -> None:
    made = call(MCP, *pieces, item=item, status=status)
    assert (made.arguments, made.complete) == (arguments, complete)


def test_lists_have_their_four_events() -> None:
    tools: list[Json] = [{"name": "add"}]
    good, bad = listed(0, "mcpl_0", "s", tools), failed_list(1, "mcpl_1", "s", "dead")
    assert kinds(good) == [
        "output_item.added", "mcp_list_tools.in_progress", "mcp_list_tools.completed", "output_item.done",
    ]  # fmt: skip
    assert kinds(bad)[2] == "mcp_list_tools.failed"
    opened, done, failed = good[0], good[3], bad[3]
    assert isinstance(opened, Event) and isinstance(done, Event) and isinstance(failed, Event)
    assert (opened.body["item"]["tools"], done.body["item"]["tools"]) == ([], tools)
    assert (failed.body["item"]["error"], "error" in done.body["item"]) == ("dead", False)


def test_a_call_that_is_put_before_the_user_is_a_request_that_no_model_reads() -> None:
    made = call(MCP, '{"a": 1}')
    made.ask("mcpr_9_2")
    item = {"id": "mcpr_9_2", "type": "mcp_approval_request", "server_label": "s", "name": "add",
            "arguments": '{"a": 1}'}  # fmt: skip
    start, end = made.start(), made.end(Ran(), Sources())
    assert (kinds(start), kinds(end)) == (["output_item.added"], ["output_item.done"])
    assert [event.body for event in (*start, *end) if isinstance(event, Event)] == [
        {"output_index": 2, "item": item}
    ] * 2
    assert (made.item, made.id, made.pair) == (item, "mcpr_9_2", [])


def test_an_approved_call_says_what_approved_it() -> None:
    made = OwnCall(dict(ITEM), 2, Declared(MCP))
    made.approve("mcpr_9_2", '{"a": 1}')
    made.start()
    made.end(Ran(output="3"), Sources())
    assert (made.item["approval_request_id"], made.item["arguments"]) == ("mcpr_9_2", '{"a": 1}')
    assert (made.complete, made.pair[0]["arguments"], made.pair[1]["output"]) == (True, '{"a": 1}', "3")
