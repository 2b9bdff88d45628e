"""How a scripted upstream puts a turn on the wire: Responses streaming events and Chat Completions chunks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

from support.turns import Call, Custom, Cut, Failed, Incomplete, Json, Say, Silence, declared_tools, resolve

USAGE_IN, USAGE_OUT = 100, 10
Playable = tuple[Say | Call | Custom, ...]
Streamed = Cut | Failed | Incomplete | Silence | None
"""What goes wrong in a stream; None: nothing."""

_ids = itertools.count(1)


def new_id(prefix: str) -> str:
    return f"{prefix}_scripted{next(_ids):06d}"


def pieces(text: str, size: int = 24) -> list[str]:
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def items_of(turn: object, body: Json) -> Playable:
    """The items of a turn, resolved against the tools of the request."""
    items = getattr(turn, "items", turn)
    return tuple(resolve(item, declared_tools(body)) for item in (items if isinstance(items, tuple) else (items,)))


def argument_text(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments)


# ------------------------------------------------------------------------------------------------- Responses


def responses_frames(body: Json, items: Playable, fault: Streamed) -> Iterator[bytes]:
    """The SSE frames of one Responses stream, ``created`` to terminal; a fault ends them where it says."""
    for number, event in enumerate(_responses_events(body, items, fault)):
        data = json.dumps({"type": event["type"], "sequence_number": number, **event}, ensure_ascii=False)
        yield f"event: {event['type']}\ndata: {data}\n\n".encode()


def _response(body: Json, response_id: str, status: str, **changes: object) -> Json:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_790_000_000,
        "status": status,
        "model": body.get("model"),
        "output": [],
        "error": None,
        "incomplete_details": None,
        "usage": None,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "tool_choice": "auto",
        "tools": [],
        "store": False,
        **changes,
    }


def _responses_events(body: Json, items: Playable, fault: Streamed) -> Iterator[Json]:
    response_id = new_id("resp")
    for kind in ("response.created", "response.in_progress"):
        yield {"type": kind, "response": _response(body, response_id, "in_progress")}
    if isinstance(fault, Cut) and fault.after == "created":
        return
    output: list[Json] = []
    for item in items:
        for entry, opening, closing in _responses_items(item, len(output)):
            yield from opening
            if isinstance(fault, Cut) and fault.after == "text" and item is items[-1]:
                return
            yield from closing
            yield {"type": "response.output_item.done", "output_index": len(output), "item": entry}
            output.append(entry)
    usage = {
        "input_tokens": USAGE_IN,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": USAGE_OUT,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": USAGE_IN + USAGE_OUT,
    }
    match fault:
        case Cut() | Silence():
            return
        case Failed():
            error = {"code": fault.code, "message": fault.message}
            failed = _response(body, response_id, "failed", output=output, error=error)
            yield {"type": "response.failed", "response": failed}
        case Incomplete():
            details = {"reason": fault.reason}
            ended = _response(body, response_id, "incomplete", output=output, usage=usage, incomplete_details=details)
            yield {"type": "response.incomplete", "response": ended}
        case None:
            done = _response(body, response_id, "completed", output=output, usage=usage)
            yield {"type": "response.completed", "response": done}


def _responses_items(item: Say | Call | Custom, index: int) -> Iterator[tuple[Json, list[Json], list[Json]]]:
    """(finished item, events that open it and stream it, events that close it) for each output item of one item."""
    if isinstance(item, Say):
        if item.reasoning:
            yield _reasoning(item.reasoning, index)
            index += 1
        yield _message(item.text, index)
    else:
        yield _call(item, index)


def _reasoning(text: str, index: int) -> tuple[Json, list[Json], list[Json]]:
    where = {"item_id": new_id("rs"), "output_index": index, "summary_index": 0}
    empty = {"id": where["item_id"], "type": "reasoning", "summary": []}
    part = {"type": "summary_text", "text": text}
    opening = [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}},
        *({"type": "response.reasoning_summary_text.delta", **where, "delta": piece} for piece in pieces(text)),
    ]
    closing = [
        {"type": "response.reasoning_summary_text.done", **where, "text": text},
        {"type": "response.reasoning_summary_part.done", **where, "part": part},
    ]
    return {**empty, "summary": [part], "encrypted_content": "scripted-reasoning"}, opening, closing


def _message(text: str, index: int) -> tuple[Json, list[Json], list[Json]]:
    where = {"item_id": new_id("msg"), "output_index": index, "content_index": 0}
    empty = {"id": where["item_id"], "type": "message", "role": "assistant", "status": "in_progress", "content": []}
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    opening = [
        {"type": "response.output_item.added", "output_index": index, "item": empty},
        {"type": "response.content_part.added", **where, "part": {**part, "text": ""}},
        *({"type": "response.output_text.delta", **where, "delta": piece, "logprobs": []} for piece in pieces(text)),
    ]
    closing = [
        {"type": "response.output_text.done", **where, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **where, "part": part},
    ]
    return {**empty, "status": "completed", "content": [part]}, opening, closing


def _call(item: Call | Custom, index: int) -> tuple[Json, list[Json], list[Json]]:
    custom = isinstance(item, Custom)
    text = item.input if isinstance(item, Custom) else argument_text(item)
    field, kind = ("input", "custom_tool_call_input") if custom else ("arguments", "function_call_arguments")
    entry = {
        "id": new_id("ctc" if custom else "fc"),
        "type": "custom_tool_call" if custom else "function_call",
        "status": "in_progress",
        "call_id": new_id("call"),
        "name": item.name,
        field: "",
    }
    if item.namespace:
        entry["namespace"] = item.namespace
    where = {"item_id": entry["id"], "output_index": index}
    opening = [
        {"type": "response.output_item.added", "output_index": index, "item": entry},
        *({"type": f"response.{kind}.delta", **where, "delta": piece} for piece in pieces(text)),
    ]
    closing = [{"type": f"response.{kind}.done", **where, field: text}]
    return {**entry, "status": "completed", field: text}, opening, closing


# ------------------------------------------------------------------------------------------------- Chat


def chat_frames(body: Json, items: Playable, fault: Streamed) -> Iterator[bytes]:
    """The SSE frames of one Chat Completions stream, the role chunk to ``[DONE]``; a fault ends them where it says."""
    for chunk in _chat_chunks(body, items, fault):
        data = chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False)
        yield f"data: {data}\n\n".encode()


def _chat_chunks(body: Json, items: Playable, fault: Streamed) -> Iterator[Json | str]:
    head = {
        "id": new_id("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": body.get("model"),
    }

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if isinstance(fault, Cut) and fault.after == "created":
        return
    calls = 0
    for item in items:
        for delta in _chat_deltas(item, calls):
            yield chunk(delta)
        calls += not isinstance(item, Say)
    finish = "tool_calls" if calls else "stop"
    match fault:
        case Cut() | Silence():
            return
        case Failed():
            yield {"error": {"code": fault.code, "message": fault.message, "type": fault.code}}
            return
        case Incomplete():
            finish = "length" if fault.reason == "max_output_tokens" else "content_filter"
        case None:
            pass
    yield chunk({}, finish)
    if (body.get("stream_options") or {}).get("include_usage"):
        usage = {
            "prompt_tokens": USAGE_IN,
            "completion_tokens": USAGE_OUT,
            "total_tokens": USAGE_IN + USAGE_OUT,
        }
        yield {**head, "choices": [], "usage": usage}
    yield "[DONE]"


def _chat_deltas(item: Say | Call | Custom, index: int) -> Iterator[Json]:
    """The deltas of one message or of the tool call with this index."""
    if isinstance(item, Say):
        for piece in pieces(item.reasoning) if item.reasoning else []:
            yield {"reasoning_content": piece}
        for piece in pieces(item.text):
            yield {"content": piece}
        return
    if isinstance(item, Custom):
        raise LookupError(f"a Chat upstream cannot play the custom call {item.name}")
    name = f"{item.namespace}__{item.name}" if item.namespace else item.name
    function: Json = {"name": name, "arguments": ""}
    yield {"tool_calls": [{"index": index, "id": new_id("call"), "type": "function", "function": function}]}
    for piece in pieces(argument_text(item)):
        yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
