"""The streams of the seed's patch contract: every way in which one with a call of apply_patch ends, on each wire."""

from __future__ import annotations

import json

from support.raw_upstream import LAST, OK, Script, chunk
from support.turns import Json

TEXT = "valid patch"
ARGUMENTS = json.dumps({"input": TEXT, "secret": "RAW_SECRET"})[:-25] + "}"
ITEM: Json = {"type": "function_call", "id": "a", "call_id": "c", "name": "apply_patch", "arguments": ARGUMENTS}
COUNTS: Json = {"input_tokens": 5, "output_tokens": 3, "total_tokens": 8}
DONE = b"data: [DONE]\n\n"


def event(kind: str, **fields: object) -> bytes:
    return b"data: " + json.dumps({"type": kind, **fields}).encode() + b"\n\n"


def terminal(kind: str) -> bytes:
    return event(kind, response={"id": "r", "output": [ITEM], "usage": COUNTS}) + DONE * 2


def delta(finish: str | None = None, **fields: object) -> bytes:
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "r", "choices": [choice]}).encode() + b"\n\n"


def tool_call(**function: str) -> bytes:
    return delta(tool_calls=[{"index": 0, "id": "c", "type": "function", "function": function}])


CREATED = event("response.created", response={"id": "r"})
ADDED = event("response.output_item.added", output_index=0, item={**ITEM, "arguments": ""})
ARGUMENTS_DONE = event("response.function_call_arguments.done", item_id="a", output_index=0, arguments=ARGUMENTS)
ITEM_DONE = event("response.output_item.done", output_index=0, item=ITEM)
CALL = delta(role="assistant") + tool_call(name="apply_patch", arguments=ARGUMENTS)
CHAT_USAGE = b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":3,"total_tokens":8}}\n\n'

FAILS: dict[str, dict[str, bytes]] = {
    "empty": {"responses": b"", "chat": b""},
    "arguments, then the end": {"responses": CREATED + ADDED + ARGUMENTS_DONE, "chat": CALL},
    "item, then the end": {"responses": CREATED + ITEM_DONE, "chat": CALL + delta("tool_calls")},
    "done marker": {"responses": CREATED + ADDED + ARGUMENTS_DONE + DONE, "chat": CALL + DONE},
}
ENDS: dict[str, dict[str, bytes]] = {
    "response.completed": {
        "responses": CREATED + ITEM_DONE + terminal("response.completed"),
        "chat": CALL + delta("tool_calls") + CHAT_USAGE + DONE * 2,
    },
    "response.incomplete": {
        "responses": CREATED + ITEM_DONE + terminal("response.incomplete"),
        "chat": CALL + delta("length") + CHAT_USAGE + DONE * 2,
    },
    "response.done": {"responses": CREATED + ITEM_DONE + terminal("response.done")},
}


def body_of(data: bytes) -> Script:
    return (OK, chunk(data), LAST) if data else (OK, LAST)
