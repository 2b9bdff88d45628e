"""Searches that the proxy runs for clients of the Chat and Messages formats."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message
from openai.types.chat import ChatCompletion

from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.turn import TurnRequest
from support.breaks import whole as complete
from support.engines import RecordingSink
from support.gateway import gateway, search, searching
from support.messages_stream import messages_frames
from support.raw_upstream import Script
from support.readers import messages_blocks, read_chat, read_messages
from support.search_server import Answer, SearchServer
from support.turns import Call, Item, Json, Say
from support.wires import chat_frames, responses_frames
from translators.failure import Failure
from translators.registry import CLIENTS

FRAMES = {"chat": chat_frames, "responses": responses_frames, "messages": messages_frames}
WIRES = tuple(FRAMES)
TOOL: Json = {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}
USER: Json = {"role": "user", "content": "When is high tide?"}
ANSWER = "High tide is at noon [1], and at night [2]. So be [quick]."


def round_(wire: str, *items: Item) -> Script:
    """What an upstream says in one round."""
    return complete(b"".join(FRAMES[wire]({"model": "m", "stream_options": {"include_usage": True}}, items, None)))


def request(client: str, *, stream: bool, **fields: Any) -> TurnRequest:
    original = {"model": "m", "max_tokens": 900, "messages": [USER], "stream": stream, **fields}
    body, notes = CLIENTS[client].to_hub(original)
    return TurnRequest(client, body, stream, original=original, notes=tuple(notes))


async def streamed(engine: Engine, client: str, **fields: Any) -> bytes:
    sink = RecordingSink()
    await engine.run(request(client, stream=True, **fields), sink)
    return sink.data


async def whole(engine: Engine, client: str, **fields: Any) -> Json:
    asked = request(client, stream=False, **fields)
    made: Json = json.loads(CLIENTS[client].whole(await engine.run(asked, None), asked.original or {}))
    return made


def results(content: Any) -> list[tuple[str, str, str | None]]:
    return [(each["title"], each["url"], each["page_age"]) for each in content]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_messages_client_gets_the_search_its_results_and_a_text_that_cites(wire: str) -> None:
    rounds = round_(wire, search("tides")), round_(wire, Say(ANSWER))
    async with searching(wire, *rounds, *rounds) as (engine, _, server):
        data = await streamed(engine, "messages", tools=[TOOL])
        message = await whole(engine, "messages", tools=[TOOL])
    assert [each.params["q"] for each in server.asked] == ["tides"] * 2
    read = read_messages(data)
    assert (read.text, read.ending, read.calls, read.error) == (ANSWER, "end_turn", [], None)
    use, result, text = messages_blocks(data)
    assert (use["type"], use["name"], use["input"]) == ("server_tool_use", "web_search", {"query": "tides"})
    assert use["id"].startswith("srvtoolu_")
    assert (result["type"], result["tool_use_id"]) == ("web_search_tool_result", use["id"])
    assert results(result["content"]) == [
        ("About tides", "https://one.example/tides", None),
        ("Second", "https://two.example/tides", "1 day"),
    ]
    assert [(each["type"], each["url"], each["title"], each["cited_text"]) for each in text["citations"]] == [
        ("web_search_result_location", "https://one.example/tides", "About tides", "First on tides."),
        ("web_search_result_location", "https://two.example/tides", "Second", "More & more."),
    ]
    assert read.usage is not None
    assert read.usage["server_tool_use"] == {"web_search_requests": 1, "web_fetch_requests": 0}
    Message.model_validate(message)
    assert [each | {"id": 0, "tool_use_id": 0} for each in message["content"]] == [
        each | {"id": 0, "tool_use_id": 0} for each in (use, result, text)
    ]
    assert message["usage"] == read.usage


@pytest.mark.parametrize("wire", WIRES)
async def test_what_a_messages_client_sends_back_is_what_the_model_had_read(wire: str) -> None:
    first = round_(wire, Say("Let me see."), search("tides")), round_(wire, Say("At noon [1]."))
    later = round_(wire, Say("Yes [2]."))
    async with searching(wire, *first, later) as (engine, upstream, _):
        message = await whole(engine, "messages", tools=[TOOL])
        history = [USER, {"role": "assistant", "content": message["content"]}, {"role": "user", "content": "Sure?"}]
        again = await whole(engine, "messages", tools=[TOOL], messages=history)
        sent = [json.loads(each.body) for each in upstream.requests]
    assert told(sent[1], wire) == told(sent[2], wire)
    assert len(told(sent[2], wire)) == 1
    (text,) = again["content"]
    assert [each["url"] for each in text["citations"]] == ["https://two.example/tides"]


def told(body: Json, wire: str) -> list[str]:
    """What the model read of its searches."""
    if wire == "responses":
        return [item["output"] for item in body["input"] if item.get("type") == "function_call_output"]
    if wire == "chat":
        return [each["content"] for each in body["messages"] if each["role"] == "tool"]
    blocks = [block for each in body["messages"] if isinstance(each["content"], list) for block in each["content"]]
    return [block["content"] for block in blocks if block["type"] == "tool_result"]


async def test_a_search_stands_beside_a_call_of_the_messages_client() -> None:
    run = {"name": "run", "input_schema": {"type": "object", "properties": {}}}
    rounds = round_("chat", Say("Now. "), search("a"), Call("run", {"x": 1}))
    async with searching("chat", rounds) as (engine, _, _server):
        data = await streamed(engine, "messages", tools=[TOOL, run])
    assert [block["type"] for block in messages_blocks(data)] == [
        "text", "server_tool_use", "web_search_tool_result", "tool_use",
    ]  # fmt: skip
    assert read_messages(data).ending == "tool_use"


@pytest.mark.parametrize(("status", "code"), [(401, "unavailable"), (429, "too_many_requests"), (500, "unavailable")])
async def test_a_search_that_fails_has_a_code_and_the_answer_goes_on(status: int, code: str) -> None:
    rounds = round_("chat", search("tides")), round_("chat", Say("Sorry."))
    server = SearchServer(lambda asked: Answer({}, status))
    async with searching("chat", *rounds, server=server) as (engine, _, _server):
        message = await whole(engine, "messages", tools=[TOOL])
    Message.model_validate(message)
    assert message["content"][1]["content"] == {"type": "web_search_tool_result_error", "error_code": code}
    assert message["content"][2] == {"type": "text", "text": "Sorry."}
    assert "server_tool_use" not in message["usage"]


async def test_max_uses_is_kept_and_a_forced_choice_holds_for_one_round() -> None:
    rounds = round_("chat", search("a"), search("b")), round_("chat", Say("Enough."))
    async with searching("chat", *rounds) as (engine, upstream, server):
        fields = {"tools": [{**TOOL, "max_uses": 1}], "tool_choice": {"type": "tool", "name": "web_search"}}
        message = await whole(engine, "messages", **fields)
        sent = [json.loads(each.body)["tool_choice"] for each in upstream.requests]
    assert len(server.asked) == 1
    codes = [block["content"] for block in message["content"] if block["type"] == "web_search_tool_result"]
    assert codes[1] == {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    assert sent == [{"type": "function", "function": {"name": "web_search"}}, "auto"]


async def test_domains_of_a_messages_client_hold() -> None:
    rounds = round_("chat", search("a")), round_("chat", Say("Well."))
    async with searching("chat", *rounds) as (engine, _, _server):
        message = await whole(engine, "messages", tools=[{**TOOL, "blocked_domains": ["one.example"]}])
    assert [title for title, _, _ in results(message["content"][1]["content"])] == ["Second"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_chat_client_gets_a_text_with_annotations(wire: str) -> None:
    rounds = round_(wire, search("tides")), round_(wire, Say(ANSWER))
    options: Json = {"web_search_options": {"search_context_size": "low"}}
    async with searching(wire, *rounds, *rounds) as (engine, upstream, server):
        data = await streamed(engine, "chat", **options)
        made = await whole(engine, "chat", **options)
        sent = [json.loads(each.body) for each in upstream.requests]
    assert [each.params["count"] for each in server.asked] == ["4"] * 2
    assert all("web_search_options" not in body for body in sent)
    read = read_chat(data)
    assert (read.text, read.ending, read.calls) == (ANSWER, "stop", [])
    chunks = [json.loads(frame[6:]) for frame in data.split(b"\n\n") if frame.startswith(b"data: {")]
    live = [note for each in chunks for note in each["choices"][0]["delta"].get("annotations", ()) if each["choices"]]
    ChatCompletion.model_validate(made)
    message = made["choices"][0]["message"]
    assert message["annotations"] == live
    cited = [each["url_citation"] for each in live]
    assert [(ANSWER[each["start_index"] : each["end_index"]], each["url"]) for each in cited] == [
        ("[1]", "https://one.example/tides"),
        ("[2]", "https://two.example/tides"),
    ]


@pytest.mark.parametrize(
    ("client", "fields"),
    [("chat", {"web_search_options": {}}), ("messages", {"tools": [TOOL]})],
)
async def test_without_a_provider_the_search_is_left_to_an_upstream_of_the_same_format(
    client: str, fields: Json
) -> None:
    async with gateway(client, round_(client, Say("Noon."))) as (engine, upstream):
        await whole(engine, client, **fields)
        (sent,) = [json.loads(each.body) for each in upstream.requests]
    assert {name: sent[name] for name in fields} == fields


@pytest.mark.parametrize(
    ("client", "fields", "choice"),
    [
        ("chat", {"web_search_options": {}}, None),
        ("messages", {"tools": [TOOL]}, {"type": "tool", "name": "web_search"}),
    ],
)
async def test_without_a_provider_the_search_is_not_offered_to_a_model_behind_another_format(
    client: str, fields: Json, choice: Json | None
) -> None:
    async with gateway("responses", round_("responses", Say("Noon."))) as (engine, upstream):
        await whole(engine, client, **fields)
        if choice is not None:
            with pytest.raises(Failure, match=r"tools\.web_search") as caught:
                await whole(engine, client, **fields, tool_choice=choice)
            assert (caught.value.status, caught.value.param) == (400, "tool_choice")
        (sent,) = [json.loads(each.body) for each in upstream.requests]
    assert "tools" not in sent
