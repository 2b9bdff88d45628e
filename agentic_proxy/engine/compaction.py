"""Compaction: the history of a turn becomes a summary that the model writes and the proxy seals.

It happens where the client asks for it with a trigger as its last item, before a round whose estimated input passes the
threshold of ``context_management``, and on ``POST /v1/responses/compact``. What the store holds of the history never
changes: the sealed item stands behind it, and whoever reads on from there reads the summary. With ``compaction:
native`` an upstream that speaks the Responses API does all this itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentic_proxy.engine.rehydrate import Past, items_of
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.events import Json
from translators.failure import Failure
from translators.registry import UPSTREAMS
from translators.responses.compaction import (
    KEEP,
    TRIGGER,
    compaction_item,
    continued,
    expand,
    is_triggered,
    newest,
    summary_of,
    summary_request,
    threshold,
)
from translators.responses.tokens import estimate, of_items

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn


def asked(turn: Turn) -> bool:
    """Whether the request ends with a trigger."""
    return is_triggered(turn.request.body.get("input"))


def is_native(turn: Turn, targets: list[Target]) -> bool:
    """Whether the upstream is to compact itself: so configured, and it speaks the Responses API."""
    engine = turn.engine
    if engine.config.compaction != "native":
        return False
    return UPSTREAMS[engine.executor(targets[0], turn.request.client).wire].native_tools


def without_trigger(past: Past) -> Past:
    """The same request as it is remembered: a trigger is no part of a conversation."""
    return replace(past, new=past.new[:-1]) if past.new and past.new[-1].get("type") == TRIGGER else past


def without_last_trigger(items: list[Json]) -> list[Json]:
    """The items that a trigger asks to compact."""
    return items[:-1] if is_triggered(items) else items


async def run(turn: Turn) -> Close:
    """Answer a trigger: one summary, one sealed item and nothing else but the calls that were approved with it. Raises
    Failure."""
    async with turn.gateway as gateway:
        if gateway.approves:
            await gateway.discover(turn)
            await gateway.resume(turn)
    items = without_last_trigger(items_of(turn.body.get("input")))
    summary = await summarise(turn, items)
    item = compaction_item(turn.engine.key, turn.pipeline.next_item_id("compaction"), summary)
    await turn.write(turn.pipeline.insert(item, held=True))
    return Close("completed")


async def before_round(turn: Turn, targets: list[Target]) -> None:
    """Compact the history of the next round when its estimate passes the client's threshold. Raises Failure.

    Not again when most of that is what a compaction leaves: it would not become shorter.
    """
    limit = threshold(turn.request.body)
    if limit is None or asked(turn) or is_native(turn, targets):
        return
    body = turn.body
    items = items_of(body.get("input"))
    size, left = _sizes(body, items, turn.engine.key)
    if size <= max(limit, left * 3 // 2):
        return
    summary = await summarise(turn, items)
    keep = min(KEEP, limit // 2)
    item = compaction_item(turn.engine.key, turn.pipeline.next_item_id("compaction"), summary, keep)
    turn.rewrite(continued(items, item))
    await turn.write(turn.pipeline.insert(item))


def _sizes(body: Json, items: list[Json], key: bytes) -> tuple[int, int]:
    """Estimated tokens of the whole request as an upstream sees it, and of what a compaction left of it before."""
    seen, _ = expand(items, key, foreign=True)
    size = estimate({**body, "input": seen})
    place = newest(items)
    return size, of_items(seen[: len(seen) - (len(items) - 1 - place)]) if place is not None else 0


async def summarise(turn: Turn, items: list[Json]) -> str:
    """The model's summary of a history, by one request of its own. Raises Failure."""
    if not items:
        text = "There is nothing to compact: the input has no items and continues nothing."
        raise Failure("invalid_request_error", text, param="input")
    try:
        response = await turn.ask(summary_request(turn.body, items))
    except Failure as failure:
        failure.message = f"The history could not be compacted. {failure.message}"
        raise
    summary = summary_of(response)
    if not summary:
        text = "The history could not be compacted: the model answered the request for a summary without any text."
        raise Failure("upstream_empty", text)
    return summary


def check(output: list[Json]) -> None:
    """Raises Failure ``upstream_invalid_response`` unless an upstream's own compaction brought its state."""
    for item in output:
        if item.get("type") == "compaction" and _is_state(item.get("encrypted_content")):
            return
    text = "The upstream was asked to compact the history and answered without a compaction item."
    raise Failure("upstream_invalid_response", text)


def _is_state(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
