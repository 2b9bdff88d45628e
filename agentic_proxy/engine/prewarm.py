"""Prewarm: a request with ``generate: false`` prepares a continuation and asks no upstream.

It is committed first, then answered with exactly ``response.created`` and ``response.completed`` (measured with Codex
CLI 0.171.0, whose first WebSocket message is one). What it brought, instructions included, is what a continuation of
its id starts from.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from agentic_proxy.engine.compaction import without_trigger
from agentic_proxy.engine.persist import identified, persist
from agentic_proxy.engine.rehydrate import rehydrate
from translators.events import Event, StreamEvent
from translators.failure import Failure
from translators.gateway.approvals import RESPONSE as APPROVAL
from translators.items import PublicResponse
from translators.registry import CLIENTS
from translators.usage import usage_of

if TYPE_CHECKING:
    from agentic_proxy.engine.engine import Engine
    from agentic_proxy.engine.turn import TurnRequest


async def prewarm(engine: Engine, request: TurnRequest) -> bytes:
    """Prepare a continuation; returns the encoded events. Raises Failure, then nothing was kept, and the unstored
    response that it would have continued is forgotten, as after any failed continuation."""
    try:
        return await _prewarm(engine, request)
    except Failure:
        if request.local is not None:
            request.local.forget(request.body.get("previous_response_id") or "")
        raise


async def _prewarm(engine: Engine, request: TurnRequest) -> bytes:
    body = request.body
    targets = await engine.models.resolve(body.get("model"))
    if request.opened is not None:
        request.opened.asks(targets[0])  # it counts where the turn that follows will
    past = await rehydrate(body, engine.store, request.local)
    if any(item.get("type") == APPROVAL and item.get("approve") is True for item in past.new):
        text = "An approval cannot be given with generate: false, which runs no calls: send it in the request after it."
        raise Failure("invalid_request_error", text, param="input")
    public = PublicResponse(request.id, int(time.time()), body.get("model") or "", body)
    past = without_trigger(identified(past, public.id))  # nothing is made now, so nothing is compacted
    completed = public.object("completed", [], usage=usage_of(0, 0), completed_at=int(time.time()))
    await persist(engine.store, past, completed, request.local, keep_instructions=True)
    events: list[tuple[int, StreamEvent]] = [
        (0, Event("response.created", {"response": public.snapshot()})),
        (1, Event("response.completed", {"response": completed})),
    ]
    return CLIENTS[request.client].encoder(public, body).encode(events)
