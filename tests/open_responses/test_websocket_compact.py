"""The one WebSocket test of the Open Responses suite that is about compaction (specification 2026-04-24)."""

from __future__ import annotations

import pytest

from support.rest import call
from support.streams import check_items, check_response, check_schema
from support.turns import Say
from support.websocket import connected, final_text, played, sent, texts, user
from translators.responses.compaction import HEADING


@pytest.mark.requirement("OR7")
@pytest.mark.parametrize("wire", ["responses", "chat"])
async def test_websocket_compact_new_chain(wire: str) -> None:
    scripts = (played(Say(text), wire=wire) for text in ("first", "SUMMARY", "second"))
    async with connected(*scripts, wire=wire) as (client, server, upstream):
        first = (await client.turn(input=[user("Hi")], store=False))[-1]["response"]
        history = [user("Hi"), *first["output"], user("More")]
        window = await call(server, "POST", "/responses/compact", {"model": "m", "input": history})
        assert window.status == 200
        # Verbatim, as a new chain.
        events = await client.turn(input=window.body["output"], store=False, tools=[])
        check_schema(events)
        check_items(events)
        check_response(events[-1]["response"])
        assert final_text(events) == "second"
        assert events[-1]["response"]["previous_response_id"] is None
        body = sent(upstream)
        seen = texts(body["messages"] if wire == "chat" else body["input"])
        assert seen[:3] == ["user: Hi", "user: More", f"assistant: {HEADING}SUMMARY"]
