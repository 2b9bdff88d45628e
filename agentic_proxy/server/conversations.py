"""``/v1/conversations``: lists of items that turns read and append to."""

from __future__ import annotations

import secrets
import time
from typing import Any, TypeVar

import orjson
from aiohttp import web

from agentic_proxy.config.model import Config
from agentic_proxy.engine.engine import Engine
from agentic_proxy.engine.persist import dump
from agentic_proxy.server.errors import json_response
from agentic_proxy.server.limits import parse_object, read_body
from agentic_proxy.server.paths import listed, page, segment
from agentic_proxy.store.base import ConversationRow, Item
from translators.events import Json
from translators.failure import Failure
from translators.items import item_id, shown_item
from translators.responses.to_hub import check_items
from translators.tools.redaction import redact_item

T = TypeVar("T")
ID, ITEM = 2, 4
"""Where the ids stand in the path."""
MAX_ITEMS = 20
"""Items of one request (public API reference)."""
MAX_METADATA, MAX_KEY, MAX_VALUE = 16, 64, 512
"""Keys of metadata, and characters of a key and of a value (public API reference)."""


class Conversations:
    """The handlers. All raise Failure ``conversation_not_found`` (404) for an id that is not known."""

    def __init__(self, config: Config, engine: Engine) -> None:
        self._limit = config.limits.body
        self._engine = engine

    async def create(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST``: a new conversation, with ``items`` and ``metadata`` if the body has them."""
        body = await self._body(request, needed=False)
        metadata, items = metadata_of(body) or {}, items_of(body.get("items"), needed=False)
        row = ConversationRow(f"conv_{secrets.token_hex(16)}", int(time.time()), dump(metadata))
        await self._engine.store.create_conversation(row, stored(items))
        return json_response(shown(row), rid)

    async def show(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET``: the conversation, without its items."""
        return json_response(shown(await self._row(request)), rid)

    async def update(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../{id}``: replace the metadata."""
        metadata = metadata_of(await self._body(request))
        if metadata is None:
            raise Failure("invalid_request_error", "metadata is missing: send an object.", param="metadata")
        conversation = segment(request.raw_path, ID)
        row = await self._engine.store.update_conversation(conversation, dump(metadata))
        return json_response(shown(found(row, conversation)), rid)

    async def delete(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``DELETE``: forget it; responses that were made in it stay."""
        conversation = segment(request.raw_path, ID)
        if not await self._engine.store.delete_conversation(conversation):
            raise unknown(conversation)
        gone = {"id": conversation, "object": "conversation.deleted", "deleted": True}
        return json_response(orjson.dumps(gone), rid)

    async def items(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET .../items``: a page of items."""
        conversation = segment(request.raw_path, ID)
        listing = await self._engine.store.conversation_items(conversation, page(request.raw_path))
        entries = [shown_item(orjson.loads(item.data)) for item in found(listing, conversation).items]
        return json_response(orjson.dumps(listed(entries, more=found(listing, conversation).more)), rid)

    async def add(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``POST .../items``: append items; the answer lists them."""
        items = stored(items_of((await self._body(request)).get("items"), needed=True))
        conversation = segment(request.raw_path, ID)
        if not await self._engine.store.add_items(conversation, items):
            raise unknown(conversation)
        entries = [shown_item(orjson.loads(item.data)) for item in items]
        return json_response(orjson.dumps(listed(entries, more=False)), rid)

    async def item(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``GET .../items/{item_id}``. Raises Failure ``item_not_found``."""
        await self._row(request)
        conversation, wanted = segment(request.raw_path, ID), segment(request.raw_path, ITEM)
        data = await self._engine.store.conversation_item(conversation, wanted)
        if data is None:
            raise unknown_item(wanted)
        return json_response(orjson.dumps(shown_item(orjson.loads(data))), rid)

    async def remove(self, request: web.BaseRequest, rid: str) -> web.StreamResponse:
        """``DELETE .../items/{item_id}``: take it out; the answer is the conversation. Raises Failure
        ``item_not_found``."""
        row, wanted = await self._row(request), segment(request.raw_path, ITEM)
        if not await self._engine.store.remove_item(row.id, wanted):
            raise unknown_item(wanted)
        return json_response(shown(row), rid)

    async def _row(self, request: web.BaseRequest) -> ConversationRow:
        conversation = segment(request.raw_path, ID)
        return found(await self._engine.store.conversation(conversation), conversation)

    async def _body(self, request: web.BaseRequest, *, needed: bool = True) -> Json:
        data = await read_body(request, self._limit)
        return parse_object(data) if data or needed else {}


def unknown(conversation: str) -> Failure:
    """The Failure for a conversation that is not there."""
    text = f"Conversation with id {conversation[:80]!r} not found."
    return Failure("conversation_not_found", text, param="conversation_id")


def unknown_item(item: str) -> Failure:
    """The Failure for an item that is not in its conversation."""
    return Failure("item_not_found", f"Item with id {item[:80]!r} not found in this conversation.", param="item_id")


def found(value: T | None, conversation: str) -> T:
    """The value. Raises Failure ``conversation_not_found`` for None."""
    if value is None:
        raise unknown(conversation)
    return value


def shown(row: ConversationRow) -> bytes:
    """A conversation as JSON."""
    metadata = orjson.Fragment(row.metadata)
    return orjson.dumps(
        {"id": row.id, "object": "conversation", "created_at": row.created_at, "metadata": metadata}
    )


def stored(items: list[Json]) -> list[Item]:
    """Items as they are kept, with ids for those without one."""
    suffix = secrets.token_hex(16)
    made = []
    for index, item in enumerate(items):
        identity = item.get("id")
        if not isinstance(identity, str) or not identity:
            identity = item_id(str(item.get("type", "message")), suffix, index)
        made.append(Item(identity, dump(redact_item({**item, "id": identity}))))
    return made


def items_of(given: Any, *, needed: bool) -> list[Json]:
    """The ``items`` of a body. Raises Failure ``invalid_request_error`` with the place."""
    if given is None and not needed:
        return []
    if not isinstance(given, list) or (needed and not given):
        raise Failure("invalid_request_error", "items must be an array of items.", param="items")
    if len(given) > MAX_ITEMS:
        raise Failure("invalid_request_error", f"items must not hold more than {MAX_ITEMS} items.", param="items")
    check_items("items", given)
    for index, item in enumerate(given):
        place, kind = f"items[{index}]", item.get("type", "message")
        if kind is None or kind == "item_reference" or (kind == "message" and "role" not in item):
            text = f"{place} must be an item: an object with a type, or a message with a role."
            raise Failure("invalid_request_error", text, param=place)
    return given


def metadata_of(body: Json) -> Json | None:
    """The ``metadata`` of a body, None when there is none. Raises Failure ``invalid_request_error``."""
    given = body.get("metadata")
    if given is None:
        return None
    if not isinstance(given, dict) or len(given) > MAX_METADATA:
        text = f"metadata must be an object with at most {MAX_METADATA} keys."
        raise Failure("invalid_request_error", text, param="metadata")
    for key, value in given.items():
        if len(key) > MAX_KEY or not isinstance(value, str) or len(value) > MAX_VALUE:
            text = f"metadata must map keys of at most {MAX_KEY} characters to strings of at most {MAX_VALUE}."
            raise Failure("invalid_request_error", text, param="metadata")
    return given
