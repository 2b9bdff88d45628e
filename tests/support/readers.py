"""How a Chat and a Messages client read their streams, strictly: what holds for every stream, however it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass
class Read:
    """What a client got out of a stream."""

    text: str = ""
    thought: str = ""
    calls: list[Json] = field(default_factory=list)
    """In order: ``id``, ``name``, ``arguments`` as text, ``whole``: whether a client would run it."""
    ending: str | None = None
    usage: Json | None = None
    error: Json | None = None
    signatures: list[str] = field(default_factory=list)


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


# ------------------------------------------------------------------------------------------------- Chat


def read_chat(data: bytes) -> Read:
    """A stream of chunks: the role first, one end, ``[DONE]`` exactly after a good one, nothing behind it."""
    frames = [frame for frame in data.split(b"\n\n") if frame and not frame.startswith(b":")]
    assert data.endswith(b"\n\n") and all(frame.startswith(b"data: ") for frame in frames)
    done = frames[-1] == b"data: [DONE]"
    chunks = [json.loads(frame[6:]) for frame in frames[: -1 if done else None]]
    read = Read()
    first = chunks[0]
    assert first.get("error") or first["choices"][0]["delta"]["role"] == "assistant"
    for chunk in chunks:
        assert read.error is None, "nothing follows an error"
        if chunk.get("error"):
            read.error = chunk["error"]
        elif chunk["choices"]:
            assert read.ending is None, "one end"
            _delta(read, chunk["choices"][0])
        else:
            read.usage = chunk["usage"]
    assert done == (read.error is None) == (read.ending is not None)
    for call in read.calls:
        assert read.ending == "tool_calls" or not call["whole"], "no call of a turn that ended otherwise"
    return read


def _delta(read: Read, choice: Json) -> None:
    delta = choice["delta"]
    read.text += delta.get("content") or ""
    read.thought += delta.get("reasoning_content") or delta.get("reasoning") or ""
    for fragment in delta.get("tool_calls") or ():
        inner = fragment.get("function") or fragment.get("custom") or {}
        if fragment["index"] == len(read.calls):
            call = {"id": fragment["id"], "name": inner["name"], "arguments": "", "whole": False}
            read.calls.append(call | {"custom": fragment["type"] == "custom"})
        call = read.calls[fragment["index"]]
        call["arguments"] += inner.get("arguments") or inner.get("input") or ""
        call["whole"] = not call["custom"] and is_object(call["arguments"])
    read.ending = choice.get("finish_reason") or read.ending


# ------------------------------------------------------------------------------------------------- Messages


def read_messages(data: bytes) -> Read:
    """A stream of events: ``message_start`` first, blocks one behind the other, ``message_stop`` or ``error`` last."""
    read = Read()
    events = list(_events(data))
    kinds = [event["type"] for event in events if event["type"] != "ping"]
    assert kinds[0] == "message_start" and kinds.count("message_start") == 1
    assert kinds[-1] in ("message_stop", "error")
    assert kinds.count("message_stop") + kinds.count("error") == 1
    block: Json | None = None
    index = -1
    for event in events:
        match event["type"]:
            case "content_block_start":
                assert block is None, "blocks do not overlap"
                index += 1
                assert event["index"] == index
                block = _opened(read, event["content_block"])
            case "content_block_delta":
                assert block is not None and event["index"] == index
                _grown(read, block, event["delta"])
            case "content_block_stop":
                assert block is not None and event["index"] == index
                if block["type"] == "tool_use":
                    read.calls[-1]["whole"] = True
                block = None
            case "message_delta":
                read.ending = event["delta"]["stop_reason"] or read.ending
                read.usage = event["usage"]
            case "error":
                read.error = event["error"]
            case _:
                pass
    for call in read.calls:
        assert call["whole"] <= (read.error is None and read.ending == "tool_use" and is_object(call["arguments"]))
    return read


def _events(data: bytes) -> Any:
    assert data.endswith(b"\n\n")
    for frame in data.split(b"\n\n")[:-1]:
        name, payload = frame.split(b"\n")
        event = json.loads(payload.removeprefix(b"data: "))
        assert name == b"event: " + event["type"].encode()
        yield event


def _opened(read: Read, block: Json) -> Json:
    if block["type"] == "tool_use":
        assert block["input"] == {}
        read.calls.append({"id": block["id"], "name": block["name"], "arguments": "", "whole": False})
    elif block["type"] == "redacted_thinking":
        read.signatures.append(block["data"])
    return block


def _grown(read: Read, block: Json, delta: Json) -> None:
    match (block["type"], delta["type"]):
        case ("text", "text_delta"):
            read.text += delta["text"]
        case ("thinking", "thinking_delta"):
            read.thought += delta["thinking"]
        case ("thinking", "signature_delta"):
            read.signatures.append(delta["signature"])
        case ("tool_use", "input_json_delta"):
            read.calls[-1]["arguments"] += delta["partial_json"]
        case ("server_tool_use", "input_json_delta") | ("text", "citations_delta"):
            pass  # see messages_blocks
        case pair:
            raise AssertionError(f"a delta of the wrong kind: {pair}")


def messages_blocks(data: bytes) -> list[Json]:
    """The content of a streamed message, put together as a client does."""
    blocks: list[Json] = []
    inputs: dict[int, str] = {}
    for event in _events(data):
        if event["type"] == "content_block_start":
            blocks.append(event["content_block"])
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            match delta["type"]:
                case "text_delta":
                    blocks[-1]["text"] += delta["text"]
                case "citations_delta":
                    blocks[-1].setdefault("citations", []).append(delta["citation"])
                case "input_json_delta":
                    inputs[event["index"]] = inputs.get(event["index"], "") + delta["partial_json"]
    for index, text in inputs.items():
        blocks[index]["input"] = json.loads(text)
    return blocks
