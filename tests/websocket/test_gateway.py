"""A search that the proxy runs, over a socket."""

from __future__ import annotations

import json

import pytest

from support.gateway import ROOMY, SEARCH, brave, round_, search
from support.search_server import SearchServer
from support.turns import Say
from support.websocket import connected, final_text, kinds, sent


@pytest.mark.requirement("WS13")
async def test_a_search_shows_its_own_events_hides_the_call_and_ends_in_text() -> None:
    rounds = round_("responses", search("tides")), round_("responses", Say("High tide is at noon [1]."))
    async with (
        SearchServer() as server,
        connected(*rounds, limits=ROOMY, tools=brave(server.url)) as (client, _, upstream),
    ):
        events = await client.turn(input="When?", tools=[SEARCH], store=False)
        again = await client.turn(
            input="Sure?", tools=[SEARCH], store=False, previous_response_id=events[-1]["response"]["id"]
        )
        first, second = (json.loads(request.body) for request in upstream.requests[1:3])
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
    assert [each.params["q"] for each in server.asked] == ["tides"]
    assert [item["type"] for item in first["input"]] == ["message", "function_call", "function_call_output"]
    assert again[-1]["type"] == "response.completed"
    assert second["input"][:3] == first["input"], "an unstored continuation reads the same pair"
    assert sent(upstream)["stream"] is True
