"""A search that the proxy runs, over a socket."""

from __future__ import annotations

import json

import pytest

from support.gateway import ROOMY, SEARCH, brave, round_, search
from support.rest import call
from support.search_server import SearchServer
from support.turns import Say
from support.websocket import connected, final_text, kinds, sent


@pytest.mark.requirement("WS13")
async def test_a_search_shows_its_own_events_hides_the_call_and_ends_in_text() -> None:
    rounds = round_("responses", search("tides")), round_("responses", Say("High tide is at noon [1]."))
    async with (
        SearchServer() as searched,
        connected(*rounds, limits=ROOMY, tools=brave(searched.url)) as (client, server, upstream),
    ):
        events = await client.turn(input="When?", tools=[SEARCH], store=False)
        again = await client.turn(
            input="Sure?", tools=[SEARCH], store=False, previous_response_id=events[-1]["response"]["id"]
        )
        stored = await client.turn(input="And?", tools=[SEARCH], previous_response_id=again[-1]["response"]["id"])
        listed = await call(server, "GET", f"/responses/{stored[-1]['response']['id']}/input_items?order=asc")
        first, second, third = (json.loads(request.body) for request in upstream.requests[1:4])
    found = kinds(events)
    assert [kind for kind in found if "web_search_call" in kind] == [
        "response.web_search_call.in_progress",
        "response.web_search_call.searching",
        "response.web_search_call.completed",
    ]
    assert not any("function_call" in json.dumps(event) for event in events)
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert [item["type"] for item in events[-1]["response"]["output"]] == ["web_search_call", "message"]
    assert final_text(events) == "High tide is at noon [1]."
    assert [each.params["q"] for each in searched.asked] == ["tides"]
    assert [item["type"] for item in first["input"]] == ["message", "function_call", "function_call_output"]
    assert again[-1]["type"] == "response.completed"
    assert second["input"][:3] == first["input"], "an unstored continuation reads the same pair"
    assert third["input"][:5] == second["input"], "so does a stored one"
    shown = ["message", "web_search_call", "message", "message", "message", "message"]
    assert [item["type"] for item in listed.body["data"]] == shown, "what is internal is not listed"
    assert sent(upstream)["stream"] is True
