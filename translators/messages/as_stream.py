"""A whole message as the stream it would have been, for a client that asked for one on a same-format route: blocks stay
as the upstream made them, signatures and kinds that nobody here knows included.

Claude Code 2.1.197 and the SDKs read texts, thoughts and inputs from deltas.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from translators.events import Json
from translators.messages.blocks import frame
from translators.messages.hub_parts import kind_of
from translators.surrogates import dumps

__all__ = ["as_stream"]


def as_stream(message: Json) -> bytes:
    """The frames, ``message_start`` to ``message_stop``. ``content`` is a list; anything else may have any shape."""
    usage = message.get("usage")
    delta: Json = {"stop_reason": message.get("stop_reason") or "end_turn"}
    delta["stop_sequence"] = message.get("stop_sequence")
    if message.get("stop_details"):
        delta["stop_details"] = message["stop_details"]
    out = [frame("message_start", {"message": {**message, "content": [], "stop_reason": None, "stop_sequence": None}})]
    for index, block in enumerate(message["content"]):
        start, deltas = _parts(block) if isinstance(block, dict) else (block, [])
        out.append(frame("content_block_start", {"index": index, "content_block": start}))
        out += [frame("content_block_delta", {"index": index, "delta": each}) for each in deltas]
        out.append(frame("content_block_stop", {"index": index}))
    out.append(frame("message_delta", {"delta": delta, "usage": usage if isinstance(usage, dict) else {}}))
    out.append(frame("message_stop", {}))
    return b"".join(out)


def _parts(block: Json) -> tuple[Json, list[Json]]:
    """How a block begins, and its deltas."""
    kind = kind_of(block)
    empty: Json = {}
    if kind == "text":
        empty = {"text": "", **({"citations": []} if isinstance(block.get("citations"), list) else {})}
    elif kind == "thinking":
        empty = {"thinking": "", "signature": ""}
    elif kind.endswith("tool_use"):
        empty = {"input": {}}
    return {**block, **empty}, [*_deltas(block, empty)]


def _deltas(block: Json, empty: Json) -> Iterator[Json]:
    for name in empty:
        value: Any = block.get(name)
        if not value:
            continue
        if name == "input":
            yield {"type": "input_json_delta", "partial_json": dumps(value).decode()}
        elif name == "citations":
            yield from ({"type": "citations_delta", "citation": each} for each in value)
        else:
            yield {"type": f"{name}_delta", name: value}
