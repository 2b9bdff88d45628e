"""The bytes that the scripted upstream plays: one event per HTTP chunk, made once for each scenario."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from .workloads import Scenario, Wire

WORDS = ("the", "value", "of", "a", "field", "is", "read", "once", "and", "then", "kept", "(see", "below)")
DELTA = 8
"""Characters of one text delta."""
ARGUMENT_DELTA = 4
"""Characters of one delta of a call's arguments."""
WRITE = 32 * 1024
"""Bytes that one write of an unpaced stream gathers; its chunks stay one event each."""

STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-store\r\n"
    b"transfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"


def cut(text: str, length: int) -> list[str]:
    return [text[start : start + length] for start in range(0, len(text), length)]


def patch_text(kib: int) -> str:
    """A patch in the V4A format with quotes, backslashes and letters beyond ASCII."""
    lines, size, number = ["*** Begin Patch", "*** Update File: src/app/orders.py", "@@ def total(order):"], 0, 0
    while size < kib * 1024:
        line = (
            f"     # line {number} stays as it was",
            f"-    total += price(\"{number}\", currency='eur')",
            f'+    total += price("{number}", currency="€", pattern="\\\\d+")',
        )[number % 3]
        lines.append(line)
        size += len(line) + 1
        number += 1
    return "\n".join([*lines, "*** End Patch"])


def answer_text(scenario: Scenario) -> str:
    """What a client must have received in the end: the text, or the patch."""
    if scenario.kind == "patch":
        return patch_text(scenario.size)
    text = " ".join(WORDS) + " "
    return (text * (scenario.size * DELTA // len(text) + 1))[: scenario.size * DELTA]


def deltas(scenario: Scenario) -> list[str]:
    """The answer as the upstream cuts it; a patch is cut in its JSON form."""
    if scenario.kind == "patch":
        return cut(json.dumps({"input": answer_text(scenario)}, ensure_ascii=False), ARGUMENT_DELTA)
    return cut(answer_text(scenario), DELTA)


def response(model: str, status: str, output: list[dict[str, Any]], usage: dict[str, Any] | None) -> dict[str, Any]:
    return {
        "id": "resp_bench",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": model,
        "output": output,
        "parallel_tool_calls": False,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": usage,
        "user": None,
        "metadata": {},
    }


def responses_usage(count: int) -> dict[str, Any]:
    return {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": count,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 100 + count,
    }


def text_events(pieces: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    place = {"item_id": "msg_bench", "output_index": 0, "content_index": 0}
    message = {"id": "msg_bench", "type": "message", "role": "assistant"}
    part = {"type": "output_text", "annotations": [], "logprobs": []}
    whole = "".join(pieces)
    full_part = {**part, "text": whole}
    item = {**message, "status": "completed", "content": [full_part]}
    opened = {**message, "status": "in_progress", "content": []}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []} for piece in pieces),
        {"type": "response.output_text.done", **place, "text": whole, "logprobs": []},
        {"type": "response.content_part.done", **place, "part": full_part},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    return events, item


def call_events(pieces: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    place = {"item_id": "fc_bench", "output_index": 0}
    call = {"id": "fc_bench", "type": "function_call", "call_id": "call_bench", "name": "apply_patch"}
    whole = "".join(pieces)
    item = {**call, "status": "completed", "arguments": whole}
    opened = {**call, "status": "in_progress", "arguments": ""}
    events: list[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        *({"type": "response.function_call_arguments.delta", **place, "delta": piece} for piece in pieces),
        {"type": "response.function_call_arguments.done", **place, "name": "apply_patch", "arguments": whole},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
    ]
    return events, item


def responses_events(scenario: Scenario) -> list[dict[str, Any]]:
    """The events of a Responses stream, the terminal one last."""
    pieces = deltas(scenario)
    middle, item = (call_events if scenario.kind == "patch" else text_events)(pieces)
    usage = responses_usage(len(pieces))
    started = response(scenario.model, "in_progress", [], None)
    events = [
        {"type": "response.created", "response": started},
        {"type": "response.in_progress", "response": started},
        *middle,
        {"type": "response.completed", "response": response(scenario.model, "completed", [item], usage)},
    ]
    return [{"type": event["type"], "sequence_number": number, **event} for number, event in enumerate(events)]


def chat_events(scenario: Scenario) -> list[dict[str, Any]]:
    """The chunks of a Chat Completions stream of text, with a usage chunk at the end."""
    pieces = deltas(scenario)
    head = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1_700_000_000}
    head["model"] = scenario.model

    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice]}

    usage = {"prompt_tokens": 100, "completion_tokens": len(pieces), "total_tokens": 100 + len(pieces)}
    return [
        chunk({"role": "assistant", "content": ""}),
        *(chunk({"content": piece}) for piece in pieces),
        chunk({}, "stop"),
        {**head, "choices": [], "usage": usage},
    ]


def messages_events(scenario: Scenario) -> list[dict[str, Any]]:
    """The events of a Messages stream of text."""
    pieces = deltas(scenario)
    usage = {"input_tokens": 100, "output_tokens": 1}
    block = {"index": 0}
    return [
        {"type": "message_start", "message": {**message(scenario, []), "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", **block, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        *({"type": "content_block_delta", **block, "delta": {"type": "text_delta", "text": piece}} for piece in pieces),
        {"type": "content_block_stop", **block},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": len(pieces)},
        },
        {"type": "message_stop"},
    ]


def message(scenario: Scenario, pieces: list[str]) -> dict[str, Any]:
    """A Messages answer."""
    content = [{"type": "text", "text": "".join(pieces)}] if pieces else []
    head = {"id": "msg_bench", "type": "message", "role": "assistant", "model": scenario.model, "content": content}
    usage = {"input_tokens": 100, "output_tokens": len(pieces)}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}


def completion(scenario: Scenario, pieces: list[str]) -> dict[str, Any]:
    """A Chat Completions answer."""
    said = {"role": "assistant", "content": "".join(pieces)}
    return {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": scenario.model,
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": len(pieces), "total_tokens": 100 + len(pieces)},
    }


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def frames(scenario: Scenario, wire: Wire) -> list[bytes]:
    """The frames of an SSE stream, one an event."""
    if wire == "chat":
        return [*(f"data: {dumps(event)}\n\n".encode() for event in chat_events(scenario)), b"data: [DONE]\n\n"]
    events = responses_events(scenario) if wire == "responses" else messages_events(scenario)
    return [f"event: {event['type']}\ndata: {dumps(event)}\n\n".encode() for event in events]


def event_count(scenario: Scenario, wire: Wire) -> int:
    """How many events the upstream sends."""
    return len(frames(scenario, wire))


def gathered(chunks: list[bytes]) -> Iterator[bytes]:
    buffer: list[bytes] = []
    size = 0
    for chunk in chunks:
        buffer.append(chunk)
        size += len(chunk)
        if size > WRITE:
            yield b"".join(buffer)
            buffer, size = [], 0
    yield b"".join([*buffer, LAST_CHUNK])


def stream_writes(scenario: Scenario, wire: Wire) -> list[bytes]:
    """What is written for a streamed answer: one event a write when paced, else as much as makes the upstream cheap.

    The first write holds the head and the first event.
    """
    first, *rest = [b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames(scenario, wire)]
    writes = [*rest[:-1], rest[-1] + LAST_CHUNK] if scenario.every_ms else list(gathered(rest))
    return [STREAM_HEAD + first, *writes]


def json_answer(value: object) -> bytes:
    """A whole HTTP answer."""
    body = dumps(value).encode()
    return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


_WHOLE: Final[dict[Wire, Callable[[Scenario], dict[str, Any]]]] = {
    "responses": lambda scenario: responses_events(scenario)[-1]["response"],
    "chat": lambda scenario: completion(scenario, deltas(scenario)),
    "messages": lambda scenario: message(scenario, deltas(scenario)),
}


def short_answer(scenario: Scenario, wire: Wire) -> bytes:
    """The answer to a request without ``stream``."""
    return json_answer(_WHOLE[wire](scenario))
