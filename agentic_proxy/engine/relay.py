"""Relay: a turn's request to an upstream of the client's own format, on which bytes stay as they are.

Only where nothing has to be done for it: no tools that the proxy runs, no lessons about the body, no dialect that needs
more than the client knows. Everything else takes the way over the hub.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.engine.lessons import changing
from agentic_proxy.engine.translation import Translation, model_dialect
from agentic_proxy.executors.base import Executor
from agentic_proxy.routing.models import Target
from translators import envelope
from translators.events import Json, Note
from translators.failure import Failure
from translators.reasoning import LIMIT
from translators.refusals import OF_HEADERS, taught
from translators.registry import CLIENTS, UPSTREAMS
from translators.relay import AS_IT_IS, Renaming, plain
from translators.tools.calls import Bridge

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

AS_WRITTEN = Bridge("pass")


def translate(
    turn: Turn, target: Target, executor: Executor, original: Json, lessons: tuple[str, ...]
) -> Translation | None:
    """The request as it came, for this target; None where only the way over the hub serves it. Raises Failure for text
    that cannot be sent."""
    client = turn.request.client
    relay = CLIENTS[client].relay
    rewriting = changing(lesson for lesson in lessons if lesson.partition(":")[0] not in OF_HEADERS)
    if relay is None or client != executor.wire or rewriting or _runs_here(turn):
        return None
    dialect = taught(model_dialect(executor, target), lessons)
    if not (dialect.unknown_fields if client == "messages" else plain(dialect)):
        return None
    notes: list[Note] = []
    body = relay.build(original, target.upstream_model, opener(turn.engine.key, target.provider.name), notes)
    if body is None:
        return None
    turn.engine.note_once(target, notes)
    rules = tuple(dict.fromkeys(note.rule for note in notes))
    renaming = AS_IT_IS if target.upstream_model == original.get("model") else Renaming(turn.model)
    decoder = partial(relay.decoder, renaming=renaming, request=original)
    format_ = replace(UPSTREAMS[client], decoder=decoder)
    return Translation(format_, _dump(body), None, AS_WRITTEN, rules, {}, dialect.betas)


def _runs_here(turn: Turn) -> bool:
    """Whether the proxy itself may have to run a tool of this request. A search it cannot run is the upstream's."""
    return bool(turn.gateway.offer)


def opener(key: bytes, provider: str) -> Callable[[str], Json | None]:
    """What a sealed thought holds if this provider thought it."""

    def opened(seal: str) -> Json | None:
        try:
            payload = orjson.loads(envelope.unseal(key, envelope.REASONING, seal, limit=LIMIT))
            block = orjson.loads(payload["raw"]) if payload.get("p") == provider else None
        except (ValueError, KeyError):
            return None
        return block if isinstance(block, dict) else None

    return opened


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError as error:
        text = "The request holds text that is not valid Unicode (a lone surrogate) or a number out of range."
        raise Failure("invalid_request_error", text) from error
