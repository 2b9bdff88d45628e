"""Requests that go up as they came and hold what this host of the format does not know."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentic_proxy.engine.turn import TurnRequest
from support.breaks import FRAMES
from support.engines import RecordingSink, provider, running_engine
from support.messages_stream import messages_frames
from support.raw_upstream import LAST, OK, RawUpstream, answer, chunk
from support.turns import Say
from translators.chat.parts import NO_OUTPUT
from translators.registry import CLIENTS

Json = dict[str, Any]

DECORATED: Json = {
    "model": "m",
    "stream": True,
    "max_tokens": 9,
    "tools": [
        {
            "name": "f",
            "description": "F",
            "input_schema": {"type": "object", "properties": {}},
            "eager_input_streaming": True,
            "defer_loading": False,
            "input_examples": [{}],
        }
    ],
    "messages": [
        {
            "role": "user",
            "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
        },
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}, "caller": {"type": "direct"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "one"}]},
    ],
}


@pytest.mark.parametrize(
    ("refusal", "as_it_came", "asked"),
    [
        (
            "tools.0.custom.defer_loading: Extra inputs are not permitted",
            False,
            ["effort-2025-11-24", "context-1m-2025-08-07"],
        ),
        ("Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header.", True, ["context-1m-2025-08-07"]),
        ("invalid beta flag", True, []),
    ],
)
async def test_what_a_host_of_messages_does_not_know_is_left_out_when_it_says_so(
    refusal: str, as_it_came: bool, asked: list[str]
) -> None:
    """Public reports of Claude Code in front of Bedrock, Vertex and gateways: every turn was refused."""
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": refusal}}
    answered = (OK, *(chunk(frame) for frame in messages_frames({"model": "m"}, [Say("hi")], None)), LAST)
    body, notes = CLIENTS["messages"].to_hub(DECORATED)
    turn = TurnRequest("messages", body, True, original=DECORATED, notes=tuple(notes))
    turn.betas = ("effort-2025-11-24", "context-1m-2025-08-07")
    sink = RecordingSink()
    async with (
        RawUpstream((answer(400, json.dumps(error).encode()),), answered) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        await engine.run(turn, sink)
    refused, taken = upstream.requests
    assert json.loads(refused.body)["tools"] == DECORATED["tools"]
    sent = json.loads(taken.body)
    (tool,) = sent["tools"]
    if as_it_came:
        assert sent == DECORATED
    else:
        assert tool.keys() == {"name", "description", "input_schema", "cache_control"}
        assert sent["messages"][1]["content"] == [{"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}]
    assert taken.header("anthropic-beta") == ([",".join(asked)] if asked else [])
    assert b'"text":"hi"' in sink.data and b"message_stop" in sink.data


async def test_an_image_that_a_tool_read_stays_seen_where_results_are_texts() -> None:
    """Claude Code in front of LM Studio and Ollama's cloud: reading one image ended the session (public reports)."""
    message = "Only text tool_result blocks are supported when tool_result.content is an array."
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    read = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [image]}
    original = {**DECORATED, "messages": [*DECORATED["messages"][:2], {"role": "user", "content": [read]}]}
    answered = (OK, *(chunk(frame) for frame in messages_frames({"model": "m"}, [Say("hi")], None)), LAST)
    body, notes = CLIENTS["messages"].to_hub(original)
    async with (
        RawUpstream((answer(400, json.dumps(error).encode()),), answered) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        for _ in range(2):
            turn = TurnRequest("messages", body, True, original=original, notes=tuple(notes))
            await engine.run(turn, RecordingSink())
    _, *taken = [json.loads(each.body)["messages"][-1]["content"] for each in upstream.requests]
    assert len(taken) == 2, "from then on it is known"
    for result, *behind in taken:
        assert isinstance(result["content"], str)
        assert image in behind


USE: Json = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
CALL: Json = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
LOST: dict[str, tuple[str, Json, Json]] = {
    "messages": (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
        {"role": "assistant", "content": [USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": NO_OUTPUT}]},
    ),
    "chat": (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "call_1", "content": NO_OUTPUT},
    ),
}


@pytest.mark.parametrize("client", LOST)
async def test_a_history_with_a_call_that_got_no_result_does_not_end_a_session(client: str) -> None:
    """An agent that was interrupted keeps such a history, and each later turn is refused as well (public reports)."""
    message, asked, answered = LOST[client]
    history = [{"role": "user", "content": "hi"}, asked, {"role": "user", "content": "go on"}]
    original: Json = {"model": "m", "stream": True, "max_tokens": 9, "messages": history}
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    frames = FRAMES[client]({"model": "m", "stream_options": {"include_usage": True}}, [Say("hi")], None)
    body, notes = CLIENTS[client].to_hub(original)
    async with (
        RawUpstream((answer(400, json.dumps(error).encode()),), (OK, *map(chunk, frames), LAST)) as upstream,
        running_engine(provider("up", upstream.url, client)) as engine,
    ):
        await engine.run(TurnRequest(client, body, True, original=original, notes=tuple(notes)), RecordingSink())
        learned = engine.lessons.listing(engine.config.providers)
    refused, taken = [json.loads(each.body)["messages"] for each in upstream.requests]
    assert refused == history
    assert taken[2]["role"] == answered["role"]
    assert answered["content"] in (taken[2]["content"], taken[2]["content"][:1])
    assert learned == {}, "it says nothing about the model"
