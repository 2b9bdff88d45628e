"""Rehydrate: a request that continues something becomes one with its whole history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import orjson

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.store.base import ConversationWindow, Status, Store, Window
from translators.events import Json
from translators.failure import Failure
from translators.items import conversation_id
from translators.responses.pairs import check_pairs

_UNUSABLE: Final[dict[Status, str]] = {
    "queued": "is still being made: continue it when it has ended.",
    "in_progress": "is still being made: continue it when it has ended.",
    "failed": "failed, so it cannot be continued: continue the one before it.",
    "cancelled": "was cancelled, so it cannot be continued: continue the one before it.",
}


@dataclass(frozen=True, slots=True)
class Past:
    """A request and where it comes from.

    ``body`` is the whole request in client shape, its ``input`` holding ``window`` and then ``new``, the items of this
    turn. ``continues`` is a stored response, ``transient`` one that only this connection remembers; a conversation
    comes with the revision it was read at. ``internal`` holds the places of items of the window that are never shown.
    """

    body: Json
    new: list[Json]
    window: tuple[bytes, ...] = ()
    continues: str | None = None
    transient: str | None = None
    conversation: str | None = None
    revision: int | None = None
    internal: frozenset[int] = frozenset()


def items_of(given: Any) -> list[Json]:
    """A request's ``input`` as items: a string is one user message."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
    return given if isinstance(given, list) else []


async def rehydrate(body: Json, store: Store, local: LocalWindows | None = None) -> Past:
    """Put a request's history before its input; tools and tool_choice are inherited when absent, instructions only
    from a prewarm.

    Raises Failure ``previous_response_not_found`` with ``param`` (the one code on which clients send everything again),
    ``conversation_not_found``, ``item_not_found``, or ``invalid_request_error`` for a call without an output or an
    output without a call.
    """
    new = await _resolved(items_of(body.get("input")), store)
    previous: str | None = body.get("previous_response_id")
    conversation = _conversation(body)
    if previous is None and conversation is None:
        whole = body if new is body.get("input") or isinstance(body.get("input"), str) else {**body, "input": new}
        return Past(whole, new)
    if previous is not None and conversation is not None:
        text = "previous_response_id and conversation cannot be used together: each brings its own history."
        raise Failure("invalid_request_error", text, param="conversation")
    if conversation is not None:
        read = await _conversation_window(conversation, store)
        whole = _continued(body, read.items, new)
        return Past(whole, new, read.items, conversation=conversation, revision=read.revision, internal=read.internal)
    assert previous is not None
    window = local.get(previous) if local is not None else None
    if window is not None:
        whole = _inherited(body, window, new)
        return Past(whole, new, window.items, transient=previous, internal=window.internal)
    window = await store.window(previous)
    if window is None:
        row = await store.response(previous)
        why = _UNUSABLE.get(row.status) if row is not None else None
        text = f"Previous response with id {previous[:80]!r} {why or 'not found.'}"
        raise Failure("previous_response_not_found", text, param="previous_response_id")
    whole = _inherited(body, window, new)
    return Past(whole, new, window.items, continues=previous, internal=window.internal)


def _conversation(body: Json) -> str | None:
    given = conversation_id(body)
    if isinstance(body.get("conversation"), dict) and given is None:
        given = ""
    if given is not None and (not isinstance(given, str) or not given):
        text = "conversation must be an id or an object with one."
        raise Failure("invalid_request_error", text, param="conversation")
    return given


async def _conversation_window(conversation: str, store: Store) -> ConversationWindow:
    read = await store.conversation_window(conversation)
    if read is None:
        text = f"Conversation with id {conversation[:80]!r} not found."
        raise Failure("conversation_not_found", text, param="conversation")
    return read


def _inherited(body: Json, window: Window, new: list[Json]) -> Json:
    whole = _continued(body, window.items, new)
    if body.get("tools") is None and window.tools is not None:
        whole["tools"] = orjson.loads(window.tools)
        if body.get("tool_choice") is None and window.tool_choice is not None:
            whole["tool_choice"] = orjson.loads(window.tool_choice)
    if body.get("instructions") is None and window.instructions is not None:
        whole["instructions"] = orjson.loads(window.instructions)
    return whole


def _continued(body: Json, items: tuple[bytes, ...], new: list[Json]) -> Json:
    history: list[Json] = [*orjson.loads(b"[" + b",".join(items) + b"]"), *new]
    check_pairs(history)
    return {**body, "input": history}


async def _resolved(items: list[Json], store: Store) -> list[Json]:
    """Items with their references replaced by what they refer to."""
    out = items
    for index, item in enumerate(items):
        if item.get("type") != "item_reference" and set(item) != {"id"}:
            continue
        wanted = item.get("id")
        found = await store.item(wanted) if isinstance(wanted, str) else None
        if found is None:
            raise Failure("item_not_found", f"Item with id {str(wanted)[:80]!r} not found.", param=f"input[{index}]")
        out = list(items) if out is items else out
        out[index] = orjson.loads(found)
    return out
