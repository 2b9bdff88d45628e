"""Persist: keep a finished response before its terminal event goes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import orjson

from agentic_proxy.engine.local import LocalWindows
from agentic_proxy.engine.rehydrate import Past
from agentic_proxy.store.base import FinishedTurn, Item, ResponseRow, Store, Window
from translators.events import Json
from translators.failure import Failure
from translators.items import item_id
from translators.surrogates import clean_tree
from translators.tools.redaction import redact_item, redact_tools

NOTHING: Final[Mapping[str, list[Json]]] = MappingProxyType({})


def stores(body: Json) -> bool:
    """Whether a request's response is to be stored: yes, unless the client said no."""
    return body.get("store") is not False


def dump(value: Any) -> bytes:
    """JSON bytes of anything that came from JSON; halves of surrogate pairs, which UTF-8 cannot hold, are replaced."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(clean_tree(value))


def identified(past: Past, response_id: str) -> Past:
    """The same request with an id on each of its own items, made up where the client sent none: the upstream sees an
    item now with the very bytes that a continuation will send."""
    suffix = response_id.rpartition("_")[2]
    new = [_identified(item, f"{suffix}i", index) for index, item in enumerate(past.new)]
    if new == past.new and isinstance(past.body.get("input"), list):
        return past
    before = past.body.get("input")
    window = before[: len(before) - len(new)] if isinstance(before, list) else []
    return replace(past, body={**past.body, "input": [*window, *new]}, new=new)


async def persist(
    store: Store,
    past: Past,
    response: Json,
    local: LocalWindows | None = None,
    *,
    keep_instructions: bool = False,
    background: bool = False,
    internal: Mapping[str, list[Json]] = NOTHING,
) -> bool:
    """Commit a response. Unstored ones are remembered by their connection, if there is one. ``internal`` holds items
    that only a continuation reads, by the id of the output item they stand behind.

    False: the response of a background request was cancelled or deleted meanwhile, and nothing was kept. Raises
    Failure ``store_failed``, ``conversation_locked``, ``conversation_not_found``.
    """

    async def commit(past: Past) -> bool:
        turn = finished(past, response, background=background, keep_instructions=keep_instructions, internal=internal)
        # What began in the background has its input in the store already.
        return await store.commit(replace(turn, input=()) if background else turn)

    if stores(past.body):
        try:
            return await commit(past)
        except Failure as failure:
            if failure.code != "previous_response_not_found":
                raise
            # Deleted meanwhile, or too old: its history stays with this response.
            return await commit(replace(past, transient=past.continues, continues=None))
    if local is not None and response["status"] in ("completed", "incomplete"):
        turn = finished(past, response, keep_instructions=keep_instructions, internal=internal)
        # The child of an unstored response has that one's window in its input already.
        own, before, hidden = [*turn.input, *turn.output], past.window, past.internal
        if past.transient is not None:
            before, hidden = (), frozenset()
        items = (*before, *(item.data for item in own))
        hidden |= {len(before) + place for place, item in enumerate(own) if item.internal}
        row = turn.row
        local.keep(response["id"], Window(items, row.tools, row.tool_choice, row.instructions, hidden))
    return True


def finished(
    past: Past,
    response: Json,
    *,
    background: bool = False,
    keep_instructions: bool = False,
    internal: Mapping[str, list[Json]] = NOTHING,
) -> FinishedTurn:
    """What a turn commits. The child of a response that was not stored brings that one's whole window."""
    body = past.body
    suffix = response["id"].rpartition("_")[2]
    own = [_item(item, f"{suffix}i", index) for index, item in enumerate(past.new)]
    if past.transient is not None:
        before = [
            _stored(data, suffix, index)._replace(internal=index in past.internal)
            for index, data in enumerate(past.window)
        ]
        own = [*before, *own]
    tools, choice = body.get("tools"), body.get("tool_choice")
    row = ResponseRow(
        id=response["id"],
        created_at=response["created_at"],
        status=response["status"],
        model=response["model"],
        data=dump(response),
        continues=past.continues,
        conversation=past.conversation,
        tools=dump(redact_tools(tools)) if isinstance(tools, list) else None,
        tool_choice=dump(choice) if choice is not None else None,
        background=background,
        instructions=dump(body["instructions"]) if keep_instructions and body.get("instructions") else None,
    )
    output: list[Item] = []
    for index, item in enumerate(response["output"]):
        output.append(_item(item, suffix, index))
        output += [_item(each, suffix, index)._replace(internal=True) for each in internal.get(item.get("id", ""), ())]
    return FinishedTurn(row, tuple(own), tuple(output), past.revision)


def _identified(item: Json, suffix: str, index: int) -> Json:
    if isinstance(item.get("id"), str) and item["id"]:
        return item
    return {**item, "id": item_id(str(item.get("type", "message")), suffix, index)}


def _item(item: Json, suffix: str, index: int) -> Item:
    item = redact_item(_identified(item, suffix, index))
    return Item(item["id"], dump(item))


def _stored(data: bytes, suffix: str, index: int) -> Item:
    identity = orjson.loads(data).get("id")
    return Item(identity if isinstance(identity, str) and identity else item_id("item", suffix, index), data)
