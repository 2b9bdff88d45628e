"""Stop sequences on every pair of formats, whether the upstream knows them or not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentic_proxy.engine.turn import TurnRequest
from support.engines import RecordingSink, provider, running_engine
from support.messages_stream import messages_frames
from support.raw_upstream import LAST, OK, RawUpstream, chunk
from support.readers import read_chat, read_messages
from support.turns import Say
from support.wires import chat_frames, responses_frames
from translators.registry import CLIENTS

SPEAK = {"chat": chat_frames, "messages": messages_frames, "responses": responses_frames}
USER = [{"role": "user", "content": "hi"}]
ASK = {"chat": {"stop": ["END"]}, "messages": {"stop_sequences": ["END"], "max_tokens": 9}}
CASES = [
    (client, wire, stream) for client in ASK for wire in SPEAK for stream in (True, False) if stream or client != wire
]
"""Without a stream two ends of one format pass a whole answer on as it is."""
FIELD = {"chat": "stop", "messages": "stop_sequences", "responses": None}


def request(client: str, *, stream: bool, **asked: Any) -> TurnRequest:
    original = {"model": "m", "messages": USER, "stream": stream, **ASK[client], **asked}
    body, notes = CLIENTS[client].to_hub(original)
    return TurnRequest(client, body, stream, original=original, notes=tuple(notes))


@pytest.mark.parametrize(("client", "wire", "stream"), CASES)
async def test_a_stop_sequence_ends_the_text_or_is_told_to_the_upstream(client: str, wire: str, stream: bool) -> None:
    frames = SPEAK[wire]({"model": "m"}, [Say("one END two")], None)
    asked = request(client, stream=stream)
    sink = RecordingSink() if stream else None
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in frames), LAST)) as upstream,
        running_engine(provider("up", upstream.url, wire)) as engine,
    ):
        response = await engine.run(asked, sink)
    sent = json.loads(upstream.requests[0].body)
    told = FIELD[wire]
    assert {name: sent[name] for name in ("stop", "stop_sequences") if name in sent} == (
        {told: ["END"]} if told else {}
    )
    text, reason, sequence = answered(client, asked.original or {}, response, sink)
    if told:
        assert text == "one END two", "this upstream does not keep to what it was told, and nobody else need"
    else:
        assert (text, reason) == ("one ", {"chat": "stop", "messages": "stop_sequence"}[client])
        assert sequence == ("END" if client == "messages" else None)


TOO_MUCH: dict[str, tuple[str, str, dict[str, Any], list[str]]] = {
    "chat takes four": (
        "messages",
        "chat",
        {"stop_sequences": ["a1", "a2", "a3", "a4", "END"]},
        ["a1", "a2", "a3", "a4"],
    ),
    "messages takes no blanks": ("chat", "messages", {"stop": ["E N", " ", "\n"]}, ["E N"]),
    "nothing is left": ("chat", "messages", {"stop": " "}, []),
}


@pytest.mark.parametrize(("client", "wire", "asked", "told"), TOO_MUCH.values(), ids=TOO_MUCH)
async def test_sequences_that_an_upstream_would_refuse_are_cut_here(
    client: str, wire: str, asked: dict[str, Any], told: list[str]
) -> None:
    frames = SPEAK[wire]({"model": "m"}, [Say("one END two")], None)
    sink = RecordingSink()
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in frames), LAST)) as upstream,
        running_engine(provider("up", upstream.url, wire)) as engine,
    ):
        await engine.run(request(client, stream=True, **asked), sink)
    sent = json.loads(upstream.requests[0].body)
    assert sent.get("stop", sent.get("stop_sequences", [])) == told
    read = (read_chat if client == "chat" else read_messages)(sink.data)
    assert read.text == ("one " if client == "messages" else "one")


def answered(client: str, original: Any, response: Any, sink: RecordingSink | None) -> tuple[str, Any, Any]:
    """Text, reason and sequence as the client sees them."""
    if sink is None:
        whole = json.loads(CLIENTS[client].whole(response, original))
        if client == "chat":
            return whole["choices"][0]["message"]["content"], whole["choices"][0]["finish_reason"], None
        return whole["content"][0]["text"], whole["stop_reason"], whole["stop_sequence"]
    read = (read_chat if client == "chat" else read_messages)(sink.data)
    ends = [json.loads(line[6:]) for line in sink.data.split(b"\n") if b"message_delta" in line and line[:1] == b"d"]
    return read.text, read.ending, ends[-1]["delta"]["stop_sequence"] if ends else None


async def test_what_a_messages_upstream_says_of_its_stop_reaches_a_messages_client_over_the_hub() -> None:
    """A thought that the proxy sealed goes over the hub; so does a turn with a tool of its own."""
    frames = [
        frame.replace(
            b'"stop_reason":"end_turn","stop_sequence":null', b'"stop_reason":"stop_sequence","stop_sequence":"E"'
        )
        for frame in messages_frames({"model": "m"}, [Say("one")], None)
    ]
    assert any(b'"E"' in frame for frame in frames)
    original = {"model": "m", "messages": USER, "stream": True, "max_tokens": 9}
    body, _ = CLIENTS["messages"].to_hub(original)
    sink = RecordingSink()
    async with (
        RawUpstream((OK, *(chunk(frame) for frame in frames), LAST)) as upstream,
        running_engine(provider("up", upstream.url, "messages")) as engine,
    ):
        await engine.run(TurnRequest("messages", body, True, original=None), sink)
    assert (read_messages(sink.data).ending, b'"stop_sequence":"E"' in sink.data) == ("stop_sequence", True)
