"""Which requests go to an upstream of their own format as they came."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from agentic_proxy.engine.turn import Turn, TurnRequest
from support.engines import RecordingSink, provider, running_engine
from support.messages_stream import messages_frames
from support.raw_upstream import LAST, OK, RawUpstream, answer, chunk
from support.readers import read_chat, read_messages
from support.turns import Call, Failed, Say
from support.wires import chat_frames
from translators.failure import Failure
from translators.registry import CLIENTS

USER = [{"role": "user", "content": "hi"}]
SPEAK = {"chat": chat_frames, "messages": messages_frames}


def request(client: str, **fields: Any) -> TurnRequest:
    original = {"model": "m", "max_tokens": 9, "messages": USER, "stream": True, **fields}
    body, notes = CLIENTS[client].to_hub(original)
    return TurnRequest(client, body, original["stream"] is True, original=original, notes=tuple(notes))


def played(wire: str, *items: Any, fault: Any = None) -> tuple[Any, ...]:
    return (OK, *(chunk(frame) for frame in SPEAK[wire]({"model": "m"}, items, fault)), LAST)


async def sent(client: str, wire: str, changes: dict[str, Any], **fields: Any) -> tuple[dict[str, Any], bytes]:
    """The body that went up, and what the client was sent."""
    sink = RecordingSink()
    async with (
        RawUpstream(played(wire, Say("hello"))) as upstream,
        running_engine(provider("up", upstream.url, wire, **changes)) as engine,
    ):
        await engine.run(request(client, **fields), sink)
    return orjson.loads(upstream.requests[0].body), sink.data


@pytest.mark.parametrize("client", ["chat", "messages"])
async def test_unknown_fields_go_up_and_the_frames_come_back_as_they_are(client: str) -> None:
    body, data = await sent(client, client, {}, novel={"a": [1]})
    assert body["novel"] == {"a": [1]}
    assert body["messages"] == USER
    read = (read_chat if client == "chat" else read_messages)(data)
    assert (read.text, read.error) == ("hello", None)


@pytest.mark.parametrize(
    ("client", "wire", "fields"),
    [
        ("chat", "messages", {}),
        ("messages", "chat", {}),
        ("chat", "chat", {"tools": [{"type": "custom", "custom": {"name": "c"}}]}),
    ],
)
async def test_other_pairs_go_over_the_hub(client: str, wire: str, fields: dict[str, Any]) -> None:
    body, data = await sent(client, wire, {}, novel=1, **fields)
    assert "novel" not in body
    assert (read_chat if client == "chat" else read_messages)(data).text == "hello"


async def test_an_answer_without_stream_comes_back_as_it_is() -> None:
    whole = b'{"model":"m","choices":[{"message":{"content":"x"},"finish_reason":"stop"}],"novel":1}'
    async with (
        RawUpstream((answer(200, whole),)) as upstream,
        running_engine(provider("up", upstream.url, "chat")) as engine,
    ):
        asked = request("chat", stream=False)
        response = await engine.run(asked, None)
    assert CLIENTS["chat"].whole(response, asked.original or {}) == whole
    assert orjson.loads(upstream.requests[0].body)["stream"] is False


@pytest.mark.parametrize("client", ["chat", "messages"])
async def test_a_stream_that_nobody_asked_for_is_a_whole_answer_all_the_same(client: str) -> None:
    asked = request(client, stream=False)
    said = played(client, Say("hello"), Call("f", {"a": 1}))
    async with RawUpstream(said) as upstream, running_engine(provider("up", upstream.url, client)) as engine:
        answered = orjson.loads(CLIENTS[client].whole(await engine.run(asked, None), asked.original or {}))
    if client == "chat":
        message = answered["choices"][0]["message"]
        assert (message["content"], message["tool_calls"][0]["function"]["arguments"]) == ("hello", '{"a": 1}')
    else:
        text, call = answered["content"]
        assert (text["text"], call["input"], answered["stop_reason"]) == ("hello", {"a": 1}, "tool_use")


@pytest.mark.parametrize("client", ["chat", "messages"])
async def test_a_broken_call_is_never_completed(client: str) -> None:
    sink = RecordingSink()
    async with (
        RawUpstream(played(client, Call("f", "{broken}"))) as upstream,
        running_engine(provider("up", upstream.url, client)) as engine,
    ):
        await engine.run(request(client), sink)
    read = (read_chat if client == "chat" else read_messages)(sink.data)
    assert read.error is not None
    assert [call["whole"] for call in read.calls] == [False]


async def test_a_failure_behind_the_head_alone_goes_to_the_next_upstream() -> None:
    failing = played("messages", fault=Failed("overloaded_error", "busy"))
    sink = RecordingSink()
    async with RawUpstream(failing) as first, RawUpstream(played("chat", Say("hello"))) as second:
        providers = provider("a", first.url, "messages"), provider("b", second.url, "chat")
        async with running_engine(*providers) as engine:
            turn = Turn(engine, request("messages", model="a/m"), sink)
            turn._targets = [*await engine.models.resolve("a/m"), *await engine.models.resolve("b/m")]
            await turn.run()
    assert read_messages(sink.data).text == "hello"


TWO = [
    {"index": 0, "delta": {"role": "assistant"}, "finish_reason": None},
    {"index": 0, "delta": {"content": "a"}, "finish_reason": None},
    {"index": 1, "delta": {"role": "assistant", "content": "b"}, "finish_reason": None},
    {"index": 0, "delta": {}, "finish_reason": "stop"},
    {"index": 1, "delta": {"content": "c"}, "finish_reason": None},
    {"index": 1, "delta": {}, "finish_reason": "stop"},
]


async def test_several_choices_come_from_an_upstream_that_is_asked_as_it_came() -> None:
    frames = [b"data: " + orjson.dumps({"id": "x", "model": "m", "choices": [each]}) + b"\n\n" for each in TWO]
    sink = RecordingSink()
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in (*frames, b"data: [DONE]\n\n")), LAST)) as upstream,
        running_engine(provider("up", upstream.url, "chat")) as engine,
    ):
        await engine.run(request("chat", n=2), sink)
    assert orjson.loads(upstream.requests[0].body)["n"] == 2
    assert sink.data == b"".join(frames) + b"data: [DONE]\n\n"


async def test_several_choices_of_a_whole_answer_stay_as_they_came() -> None:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        for n, text in enumerate("ab")
    ]
    body = orjson.dumps({"id": "x", "object": "chat.completion", "model": "m", "choices": choices, "usage": None})
    asked = request("chat", n=2, stream=False)
    async with (
        RawUpstream((answer(200, body),)) as upstream,
        running_engine(provider("up", upstream.url, "chat")) as engine,
    ):
        response = await engine.run(asked, None)
    assert CLIENTS["chat"].whole(response, asked.original or {}) == body


@pytest.mark.parametrize("wire", ["responses", "messages"])
async def test_several_choices_cannot_be_translated(wire: str) -> None:
    async with running_engine(provider("up", "http://127.0.0.1:9", wire)) as engine:
        with pytest.raises(Failure) as refused:
            await engine.run(request("chat", n=2), None)
    assert (refused.value.code, refused.value.status, refused.value.param) == ("invalid_request_error", 400, "n")
