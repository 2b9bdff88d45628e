"""How a scripted upstream puts a turn on the wire as Messages events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from support.turns import Call, Custom, Cut, Failed, Incomplete, Json, Say, Silence
from support.wires import USAGE_IN, USAGE_OUT, Playable, Streamed, argument_text, new_id, pieces

STOPS = {"max_output_tokens": "max_tokens", "content_filter": "refusal"}


def frame(event: Json) -> bytes:
    data = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    return f"event: {event['type']}\ndata: {data}\n\n".encode()


def messages_frames(body: Json, items: Playable, fault: Streamed) -> Iterator[bytes]:
    """The SSE frames of one message, ``message_start`` to ``message_stop``; a fault ends them where it says."""
    return map(frame, messages_events(body, items, fault))


def messages_events(body: Json, items: Playable, fault: Streamed) -> Iterator[Json]:
    usage = {"input_tokens": USAGE_IN, "output_tokens": 1}
    message = {"id": new_id("msg"), "type": "message", "role": "assistant", "model": body.get("model"), "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if isinstance(fault, Cut) and fault.after == "created":
        return
    index = 0
    for item in items:
        for start, deltas in _blocks(item):
            yield {"type": "content_block_start", "index": index, "content_block": start}
            yield {"type": "ping"}
            for delta in deltas:
                yield {"type": "content_block_delta", "index": index, "delta": delta}
            if isinstance(fault, Cut) and fault.after == "text" and item is items[-1]:
                return
            yield {"type": "content_block_stop", "index": index}
            index += 1
    stop = "end_turn" if all(isinstance(item, Say) for item in items) else "tool_use"
    match fault:
        case Cut() | Silence():
            return
        case Failed():
            yield {"type": "error", "error": {"type": fault.code, "message": fault.message}}
            return
        case Incomplete():
            stop = STOPS[fault.reason]
        case None:
            pass
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": USAGE_OUT}}
    yield {"type": "message_stop"}


def _blocks(item: Say | Call | Custom) -> Iterator[tuple[Json, list[Json]]]:
    """(start, deltas) of each content block of an item."""
    if isinstance(item, Custom):
        raise LookupError(f"a Messages upstream cannot play the custom call {item.name}")
    if isinstance(item, Call):
        name = f"{item.namespace}__{item.name}" if item.namespace else item.name
        text = argument_text(item)
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces(text))]
        yield {"type": "tool_use", "id": new_id("toolu"), "name": name, "input": {}}, deltas
        return
    if item.reasoning:
        thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(item.reasoning)]
        signed = {"type": "signature_delta", "signature": "scripted-signature"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
    yield {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(item.text)]
