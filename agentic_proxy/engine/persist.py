"""Persist: keep a finished response before its terminal event goes out."""

from __future__ import annotations

from agentic_proxy.engine.rehydrate import items_of
from agentic_proxy.store.base import StoredResponse, TurnStore
from translators.events import Json


async def persist(store: TurnStore, request: Json, response: Json) -> None:
    """Store the response unless the client said ``store: false``. ``request`` is the rehydrated one, in client shape.

    Raises Failure ``store_failed``.
    """
    if request.get("store") is False:
        return
    history = (*items_of(request.get("input")), *response["output"])
    await store.save(
        StoredResponse(response["id"], response, history, request.get("tools"), request.get("tool_choice"))
    )
