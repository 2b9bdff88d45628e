"""Rehydrate: a request that continues a stored response becomes one with its whole history."""

from __future__ import annotations

from typing import Any

from agentic_proxy.store.base import TurnStore
from translators.events import Json
from translators.failure import Failure


def items_of(given: Any) -> list[Json]:
    """A request's ``input`` as items: a string is one user message."""
    if isinstance(given, str):
        return [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": given}]}]
    return given if isinstance(given, list) else []


async def rehydrate(body: Json, store: TurnStore) -> Json:
    """The request with its history in ``input``; tools and tool_choice are inherited when absent, instructions never.

    Raises Failure ``previous_response_not_found`` with ``param``: the one code on which clients send everything again.
    """
    previous_id = body.get("previous_response_id")
    if previous_id is None:
        return body
    previous = await store.get(previous_id)
    if previous is None:
        text = f"Previous response with id {previous_id[:80]!r} not found."
        raise Failure("previous_response_not_found", text, param="previous_response_id")
    whole = {**body, "input": [*previous.history, *items_of(body.get("input"))]}
    if body.get("tools") is None and previous.tools is not None:
        whole["tools"] = previous.tools
        if body.get("tool_choice") is None and previous.tool_choice is not None:
            whole["tool_choice"] = previous.tool_choice
    return whole
