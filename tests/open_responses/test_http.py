"""The HTTP tests of the Open Responses suite (specification 2026-04-24), as tests of our own.

The upstream calls the first declared function, as the suite's does, and says something where none is declared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from support.engines import provider
from support.rest import Reply, call
from support.streams import check_items, check_lifecycle, check_response, check_schema
from support.turns import Call, Json, Say
from support.upstream import Upstream
from support.websocket import Served, serving

WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "description": "Get the current weather for a location",
    "parameters": {"type": "object", "properties": {"location": {"type": "string"}}, "required": ["location"]},
}
PIXEL = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"


class FirstFunction(Upstream):
    """Calls the first declared function, else says hello."""

    async def _model_request(self, request):  # type: ignore[no-untyped-def]
        body = await request.json()
        self._turns = (Call("get_weather", {"location": "Oslo"}),) if body.get("tools") else (Say("Hello there."),)
        return await super()._model_request(request)


@pytest.fixture(params=["responses", "chat"])
async def server(request: pytest.FixtureRequest) -> AsyncIterator[Served]:
    async with FirstFunction() as upstream, serving(provider("up", upstream.url, request.param)) as served:
        yield served


async def create(server: Served, **fields: object) -> Json:
    """A response that meets the specification and is complete."""
    reply = await call(server, "POST", "/responses", {"model": "m", **fields})
    assert reply.status == 200, reply
    check_response(reply.body)
    assert (reply.body["status"], len(reply.body["output"]) > 0) == ("completed", True)
    return reply.body


def message(role: str, content: object, **fields: object) -> Json:
    return {"type": "message", "role": role, "content": content, **fields}


async def test_basic_response(server: Served) -> None:
    response = await create(server, input=[message("user", "Say hello in exactly 3 words.")])
    assert response["output"][0]["content"][0]["text"] == "Hello there."


async def test_assistant_phase(server: Served) -> None:
    history = [message("user", "Hi"), message("assistant", "Thinking", phase="commentary"), message("user", "Go on")]
    await create(server, input=history)


async def test_streaming_response(server: Served) -> None:
    reply: Reply = await call(
        server, "POST", "/responses", {"model": "m", "stream": True, "input": [message("user", "Count")]}
    )
    check_schema(reply.events)
    check_lifecycle([*reply.events, {"type": "[DONE]"}])
    check_items(reply.events)
    assert reply.done
    for event in reply.events:
        if "response" in event:
            check_response(event["response"])
    deltas = [event["delta"] for event in reply.events if event["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "Hello there."


async def test_system_prompt(server: Served) -> None:
    await create(server, input=[message("system", "You are a pirate."), message("user", "Say hello.")])


async def test_tool_calling(server: Served) -> None:
    response = await create(server, input=[message("user", "What's the weather?")], tools=[WEATHER])
    (item,) = (item for item in response["output"] if item["type"] == "function_call")
    assert (item["name"], item["status"]) == ("get_weather", "completed")


async def test_image_input(server: Served) -> None:
    parts = [{"type": "input_text", "text": "What is it?"}, {"type": "input_image", "image_url": PIXEL}]
    await create(server, input=[message("user", parts)])


async def test_multi_turn(server: Served) -> None:
    history = [message("user", "I am Alice."), message("assistant", "Hello Alice!"), message("user", "Who am I?")]
    await create(server, input=history)


async def test_response_output_phase_schema(server: Served) -> None:
    """An output item goes back as input with everything that it had."""
    first = await create(server, input=[message("user", "Hi")])
    replayed = [{**item, "phase": "final_answer"} for item in first["output"]]
    await create(server, input=[message("user", "Hi"), *replayed, message("user", "And?")])


async def test_compact_response(server: Served) -> None:
    history = [message("user", "Create a page."), message("assistant", "Here it is."), message("user", "Thanks")]
    reply = await call(server, "POST", "/responses/compact", {"model": "m", "input": history})
    assert reply.status == 200
    window = reply.body
    assert window.keys() == {"id", "object", "created_at", "output", "usage"}
    assert (window["object"], type(window["created_at"])) == ("response.compaction", int)
    assert all(isinstance(item["content"], list) for item in window["output"] if item["type"] == "message")
    (item,) = (item for item in window["output"] if item["type"] == "compaction")
    assert item["id"] and item["encrypted_content"]
    await create(server, input=[*window["output"], message("user", "Go on")], store=False, tools=[])



async def test_compact_missing_model(server: Served) -> None:
    reply = await call(server, "POST", "/responses/compact", {"input": [message("user", "Hi")]})
    assert reply.error == (400, "invalid_request_error", "model")


async def test_a_queued_response_meets_the_specification(server: Served) -> None:
    reply = await call(server, "POST", "/responses", {"model": "m", "input": "hi", "background": True})
    check_response(reply.body)
    assert reply.body["status"] == "queued"


async def test_a_triggered_compaction_meets_the_specification(server: Served) -> None:
    items = [message("user", "Hi"), {"type": "compaction_trigger"}]
    reply = await call(server, "POST", "/responses", {"model": "m", "stream": True, "input": items})
    check_schema(reply.events)
    check_items(reply.events)
    check_response(reply.events[-1]["response"])
