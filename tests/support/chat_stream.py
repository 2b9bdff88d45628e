"""Chat Completions streams for tests: making chunks, and reading decoded events as short outlines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from translators.chat.decode import ChatDecoder
from translators.events import Deltas, Event, StreamEvent
from translators.failure import Failure
from translators.sse import SseDecoder

DONE = b"data: [DONE]\n\n"
LIMIT = 1 << 20
SHORT = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_summary_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
}


def frame(body: Any) -> bytes:
    """One frame holding ``body`` as JSON."""
    return b"data: " + orjson.dumps(body) + b"\n\n"


def chunk(finish: Any = None, *, more: dict[str, Any] | None = None, **delta: Any) -> bytes:
    """A frame with one choice; keyword arguments are the delta, ``more`` are further top-level fields."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return frame({"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **(more or {})})


def call(*, arguments: Any = "", name: str | None = None, **fields: Any) -> dict[str, Any]:
    """One entry of ``tool_calls``."""
    function = {"arguments": arguments, **({"name": name} if name is not None else {})}
    return {**fields, "function": function}


def calls(*entries: dict[str, Any], finish: Any = None) -> bytes:
    """A frame with a ``tool_calls`` delta."""
    return chunk(finish, tool_calls=list(entries))


def decoder(first_index: int = 0, max_arguments: int = LIMIT) -> ChatDecoder:
    return ChatDecoder(suffix="s", first_index=first_index, max_arguments=max_arguments)


def splits(stream: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """The stream whole, one feed per frame, and one per byte."""
    yield "whole", [stream]
    yield "per frame", [part + b"\n\n" for part in stream.split(b"\n\n") if part]
    yield "per byte", [stream[i : i + 1] for i in range(len(stream))]


def run(pieces: list[bytes], chat: ChatDecoder) -> list[StreamEvent]:
    """Decode pieces to the end, as the engine does."""
    sse = SseDecoder(LIMIT)
    events: list[StreamEvent] = []
    for piece in pieces:
        block = sse.feed(piece)
        if block:
            events += chat.feed(block)
    rest = sse.finish()
    if rest:
        events += chat.feed(rest)
    if chat.closed is None and not sse.leftover:
        events += chat.finish()
    return merged(events)


def merged(events: list[StreamEvent]) -> list[StreamEvent]:
    """The events with adjacent deltas of one part in one ``Deltas``, so that the cut of the reads does not show."""
    out: list[StreamEvent] = []
    for event in events:
        last = out[-1] if out else None
        if (
            isinstance(event, Deltas)
            and isinstance(last, Deltas)
            and (last.kind, last.item_id, last.output_index, last.part)
            == (event.kind, event.item_id, event.output_index, event.part)
        ):
            last.texts.extend(event.texts)
        else:
            out.append(event)
    return out


def outline(events: list[StreamEvent]) -> list[tuple[Any, ...]]:
    """Events as short tuples: ("open", n, type, ..), (kind, n, part, text, ..), ("done", n)."""
    lines: list[tuple[Any, ...]] = []
    for event in events:
        if isinstance(event, Deltas):
            part = () if event.part is None else (event.part,)
            lines.append((SHORT[event.kind], event.output_index, *part, *event.texts))
            continue
        assert isinstance(event, Event)
        index = event.body["output_index"]
        item = event.body.get("item")
        if item is None:
            lines.append(("done", index))
        elif item["type"] == "function_call":
            lines.append(("open", index, "call", item["call_id"], item["name"]))
        else:
            lines.append(("open", index, item["type"]))
    return lines


def failure_of(pieces: list[bytes]) -> str:
    """The code of the Failure that decoding these pieces raises."""
    try:
        run(pieces, decoder())
    except Failure as failure:
        return failure.code
    return ""
