"""Same-format routes against the way over the hub: bytes stay as they are, and a client reads the same out of them.

A stream is written in some host's hand: its spacing, its order of keys, fields of its own, comments, line ends, faults
in the middle. However it is cut, what the client gets is JSON, and text, calls, the end and the failure are those of
the decoder over the hub.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.readers import Read, read_chat, read_messages
from support.streams import Played, frames_of, play
from translators.chat.relay import ChatRelay
from translators.messages.relay import MessagesRelay
from translators.registry import CLIENTS
from translators.relay import Renaming
from translators.surrogates import clean
from translators.tools.calls import Bridge

Json = dict[str, Any]
quick = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])

ASKED: Json = {"stream": True, "stream_options": {"include_usage": True}, "thinking": {"type": "enabled"}}
TEXTS = [
    "a",
    " word",
    "早安",
    "🌅",
    'say "x"',
    "back\\slash",
    "\\",
    "line\nend",
    '"finish_reason":"stop"',
    '","',
    "x" * 90,
]
HALVES = ["\ud83d", "\ude00"]
ARGUMENTS = ["{}", '{"a":1}', '{"a": "x\\ny", "model": "q"}', '{"a":[1,{"b":2}]}', "{bad"]
VALUE = re.compile(rb'":\s*')
FAULTS = {
    "chat": [
        b'data: {"error":{"message":"boom","code":"server_error"}}\n\n',
        b'data: {"object":"error","message":"m","code":500}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"error"}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"x\\q"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"x\xff"}}]}\n\n',
        *(b"data: " + odd + b"\n\n" for odd in (b"{broken", b"<html>", b"[]", b"5", b'{"a":1},{"b":2}', b"[DONE]")),
    ],
    "messages": [
        b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}\n\n',
        b'event: error\ndata: {"code":500,"message":"m"}\n\n',
        *(
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":' + odd + b"\n\n"
            for odd in (b'{"type":"text_delta","text":"x\\q"}}', b'{"type":"text_delta","text":"x\xff"}}', b"{}},{}")
        ),
        *(b"data: " + odd + b"\n\n" for odd in (b"{broken", b"<html>", b"[1]", b"5")),
    ],
}


@dataclass(frozen=True)
class Hand:
    """How a host writes."""

    separators: tuple[str, str]
    escapes: bool
    ordered: bool
    line_end: bytes
    name: bytes
    extra: Json
    varies: bool
    usage: str

    def write(self, body: Json, number: int, name: bytes = b"") -> bytes:
        body = {**self.extra, **body, **({"obfuscation": "x" * (number % 5)} if self.varies else {})}
        if not self.ordered:
            body = dict(reversed(body.items()))
        text = json.dumps(body, ensure_ascii=self.escapes, separators=self.separators)
        for half in HALVES:  # only escaped is half a character JSON in UTF-8
            text = text.replace(half, f"\\u{ord(half):04x}")
        return b"%bdata: %b\n\n" % (name or self.name, text.encode())


HANDS = st.builds(
    Hand,
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : "), (",", ":\t")]),
    escapes=st.booleans(),
    ordered=st.booleans(),
    line_end=st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]),
    name=st.sampled_from([b"", b"", b": note\n", b"id: 7\n"]),
    extra=st.sampled_from([{}, {"error": None}, {"service_tier": "x", "created": 1}]),
    varies=st.booleans(),
    usage=st.sampled_from(["none", "null", "last", "every"]),
)
PIECES = st.lists(st.sampled_from([*([text] for text in TEXTS), HALVES, [""]]), max_size=5).map(
    lambda drawn: [piece for pieces in drawn for piece in pieces]
)
PARTS = st.lists(
    st.tuples(st.sampled_from(["text", "thought"]), PIECES) | st.tuples(st.just("call"), st.sampled_from(ARGUMENTS)),
    max_size=4,
)


def fragments(arguments: str) -> list[str]:
    """Some calls come whole and some in three."""
    size = len(arguments) // 3
    return [arguments[:size], arguments[size : 2 * size], arguments[2 * size :]] if size > 1 else [arguments]


def chat_chunks(hand: Hand, parts: Any, reason: str, *, head: bool, last_words: bool) -> list[bytes]:
    written: list[bytes] = []

    def chunk(delta: Json, ends: str | None = None) -> None:
        usage: Json = {"usage": None} if hand.usage == "null" else {}
        if hand.usage == "every":
            usage = {"usage": {"prompt_tokens": 3, "completion_tokens": len(written)}}
        choice = {"index": 0, "delta": delta, "finish_reason": ends}
        written.append(hand.write({"model": "m", "choices": [choice], **usage}, len(written)))

    if head:
        chunk({"role": "assistant", "content": ""})
    calls = 0
    for kind, given_ in parts:
        if kind == "call":
            first, *more = fragments(given_)
            call = {"index": calls, "id": f"c{calls}", "type": "function"}
            chunk({"tool_calls": [{**call, "function": {"name": f"f{calls}", "arguments": first}}]})
            for piece in more:
                chunk({"tool_calls": [{"index": calls, "function": {"arguments": piece}}]})
            calls += 1
        for piece in given_ if kind != "call" else ():
            chunk({"content" if kind == "text" else "reasoning_content": piece})
    chunk({"content": "last"} if last_words else {}, "tool_calls" if calls else reason)
    if hand.usage in ("last", "every"):
        usage = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}
        written.append(hand.write({"model": "m", "choices": [], "usage": usage}, 0))
    return [*written, b"data: [DONE]\n\n"]


def messages_events(hand: Hand, parts: Any, reason: str, *, head: bool, last_words: bool) -> list[bytes]:
    written: list[bytes] = []

    def event(kind: str, body: Json) -> None:
        name = b"event: %b\n" % kind.encode()
        written.append(hand.write({"type": kind, **body}, len(written), name))

    usage = {"input_tokens": 5, "output_tokens": 1}
    event("message_start", {"message": {"role": "assistant", "content": [], "model": "m", "usage": usage}})
    if head:
        event("ping", {})
    if last_words:
        parts = [*parts, ("text", ["last"])]
    for index, (kind, given_) in enumerate(parts):
        start: Json = {"type": "text", "text": ""}
        field, deltas = "text", given_
        if kind == "thought":
            start, field = {"type": "thinking", "thinking": "", "signature": ""}, "thinking"
        elif kind == "call":
            start = {"type": "tool_use", "id": f"c{index}", "name": f"f{index}", "input": {}}
            field, deltas = "partial_json", fragments(given_)
        event("content_block_start", {"index": index, "content_block": start})
        for piece in deltas:
            delta = {"type": "input_json_delta" if kind == "call" else f"{field}_delta", field: piece}
            event("content_block_delta", {"index": index, "delta": delta})
        event("content_block_stop", {"index": index})
    called = any(kind == "call" for kind, _ in parts)
    stop = "tool_use" if called else {"stop": "end_turn", "length": "max_tokens"}[reason]
    event("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 9}})
    event("message_stop", {})
    return written


@dataclass(frozen=True)
class Format:
    write: Callable[..., list[bytes]]
    relay: Callable[..., Any]
    read: Callable[[bytes], Read]


FORMATS = {
    "chat": Format(chat_chunks, ChatRelay, read_chat),
    "messages": Format(messages_events, MessagesRelay, read_messages),
}


def cut(body: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(body), *(place % (len(body) + 1) for place in places)})
    return [body[start:end] for start, end in pairwise(edges)]


def played(name: str, chunks: list[bytes], *, relayed: bool) -> Played:
    relay = partial(FORMATS[name].relay, renaming=Renaming("house/model"), request=ASKED)
    decoder = relay if relayed else None
    return play(chunks, client=name, upstream=name, bridged=False, bridge=Bridge("pass"), decoder=decoder, asked=ASKED)


def understood(name: str, played_: Played) -> Any:
    """What a client makes of it."""
    lines = played_.data.split(b"\n")
    read = FORMATS[name].read(b"\n".join(line for line in lines if not line.startswith((b"id:", b": note"))))
    failure = played_.failure.code if played_.failure else None
    if failure is not None:
        return failure
    calls = [(call["name"], json.loads(call["arguments"] or "{}")) for call in read.calls]
    # Over the hub a blank line stands between two thoughts.
    thought = clean(read.thought).replace("\n\n", "").replace("\n", "")
    return clean(read.text), thought, calls, read.ending, played_.usage


@pytest.mark.parametrize("name", FORMATS)
@quick
@given(
    hand=HANDS,
    parts=PARTS,
    reason=st.sampled_from(["stop", "length"]),
    head=st.booleans(),
    last_words=st.booleans(),
    lost=st.integers(0, 60),
    fault=st.integers(0, 60),
    places=st.lists(st.integers(0, 9000), max_size=6),
)
def test_a_relayed_stream_says_what_it_says_over_the_hub_however_it_is_cut(
    name: str, hand: Hand, parts: Any, reason: str, head: bool, last_words: bool, lost: int, fault: int, places: Any
) -> None:
    frames = FORMATS[name].write(hand, parts, reason, head=head, last_words=last_words)
    if fault < len(FAULTS[name]):
        frames.insert((places[0] % len(frames) if places else 0) + 1, FAULTS[name][fault])
    if lost < 10:
        frames = frames[: -1 - lost] or frames[:1]
    body = b"".join(frames).replace(b"\n", hand.line_end)
    expected = understood(name, played(name, frames_of(body), relayed=False))
    streams = [[body], cut(body, places), frames_of(body), [body[n : n + 1] for n in range(len(body))]]
    for chunks in streams if len(body) < 3000 else streams[:3]:
        assert understood(name, played(name, chunks, relayed=True)) == expected


VALUES = st.sampled_from(
    [
        b"null",
        b"true",
        b"-1",
        b"1e400",
        b"99999999999999999999",
        b'""',
        b'"x"',
        b"[]",
        b"{}",
        b"[1]",
        b'["\\ud83d"]',
        b'"\\ud83d"',
    ]
)
BYTES = st.sampled_from([b'"', b"\\", b"{", b"}", b",", b"\xff", b"\x00", b"\n", b"\n\n", b""])


@pytest.mark.parametrize("name", FORMATS)
@quick
@given(
    hand=HANDS,
    parts=PARTS,
    changed=st.lists(st.tuples(st.integers(0, 200), VALUES), max_size=3),
    broken=st.lists(st.tuples(st.integers(0, 9000), BYTES), max_size=2),
    places=st.lists(st.integers(0, 9000), max_size=6),
)
def test_whatever_an_upstream_sends_clients_get_json(
    name: str, hand: Hand, parts: Any, changed: Any, broken: Any, places: Any
) -> None:
    body = b"".join(FORMATS[name].write(hand, parts, "stop", head=True, last_words=True))
    for mark, value in changed:
        marks = [place.end() for place in VALUE.finditer(body)]
        start = marks[mark % len(marks)] if marks else 0
        end = min((place for sign in (b",", b"}") if (place := body.find(sign, start)) >= 0), default=len(body))
        body = body[:start] + value + body[end:]
    for place, piece in broken:
        where = place % (len(body) + 1)
        body = body[:where] + piece + body[where + 1 :]
    relayed = [played(name, chunks, relayed=True) for chunks in ([body], cut(body, places), frames_of(body))]
    over_the_hub = [play(cut(body, places), client=client, upstream=name) for client in CLIENTS]
    for each in (*relayed, *over_the_hub):
        for frame in each.data.split(b"\n\n"):
            data = b"\n".join(line[6:] for line in frame.split(b"\n") if line.startswith(b"data: "))
            assert data in (b"", b"[DONE]") or isinstance(json.loads(data), dict)
