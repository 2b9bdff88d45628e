"""Compacting on its own: ``POST /v1/responses/compact`` answers with a shorter window and no reply.

The window is the newest user messages and a sealed summary; a client sends it back as it is, or continues its id. With
``compaction: native`` a Responses upstream is asked at its own endpoint, and its state goes through whole.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson

from agentic_proxy.engine.attempts import refused
from agentic_proxy.engine.compaction import check, is_native, summarise, without_last_trigger
from agentic_proxy.engine.persist import dump, finished, identified
from agentic_proxy.engine.rehydrate import Past, items_of
from agentic_proxy.routing.candidates import expand
from agentic_proxy.routing.models import Target
from translators.close import Close
from translators.events import Json
from translators.failure import Failure
from translators.items import item_id
from translators.responses.compaction import compaction_item, retained
from translators.usage import responses_usage, usage_of

if TYPE_CHECKING:
    from agentic_proxy.engine.turn import Turn

LEFT_OUT = ("stream", "store", "include", "tool_choice", "parallel_tool_calls", "tools")
"""What an upstream's compaction endpoint does not know of a model request (public API reference)."""


async def compact(turn: Turn) -> Json:
    """The compaction object, stored unless the client said no. Raises Failure; then nothing was kept."""
    targets = await turn.prepare()
    if turn.gateway.approves:
        text = "An approval cannot be given in a request to compact, which runs no calls: send it as a response first."
        raise Failure("invalid_request_error", text, param="input")
    items = without_last_trigger(items_of(turn.body.get("input")))
    if not items:
        text = "There is nothing to compact: send input or previous_response_id."
        raise Failure("invalid_request_error", text, param="input")
    if is_native(turn, targets):
        answer = await _native(turn, targets[0])
    else:
        summary = await summarise(turn, items)
        item = compaction_item(turn.engine.key, item_id("compaction", turn.suffix, 0), summary)
        answer = {"output": [*retained(items, turn.suffix), item], "usage": turn.account.usage or usage_of(0, 0)}
    response: Json = {
        **answer, "id": turn.id, "object": "response.compaction", "created_at": turn.created_at
    }  # fmt: skip
    if turn.stored:
        await _store(turn, response)
    return response


async def _store(turn: Turn, response: Json) -> None:
    """Keep the window as that of a response of its own: nothing before it is needed any more."""
    window = identified(Past({**turn.body, "input": response["output"]}, response["output"]), turn.id).new
    row = {**response, "status": "completed", "model": turn.model, "output": window}
    kept = finished(Past(turn.body, []), row)
    await turn.engine.store.commit(replace(kept, row=replace(kept.row, data=dump(response))))


async def _native(turn: Turn, target: Target) -> Json:
    """What the upstream's own endpoint answers. Raises Failure, ``upstream_invalid_response`` for an answer without
    state."""
    engine = turn.engine
    executor = engine.executor(target, turn.request.client)
    candidate = expand([target])[0]
    turn.account.start(target, candidate.key)
    request = orjson.loads(turn.translate(target, executor).body)
    body = {name: value for name, value in request.items() if name not in LEFT_OUT}
    try:
        async with asyncio.timeout(engine.config.timeouts.first_byte):
            response = await executor.open(orjson.dumps(body), candidate.credential, below="/compact")
            try:
                if response.status != 200:
                    raise await refused(response, executor.where)
                data = await response.read(engine.config.limits.retained)
            finally:
                response.close()
        answer = _state(data, executor.where)
        turn.account.closed(Close("completed", usage=responses_usage(answer.get("usage"))), [], again=False)
        return answer
    except TimeoutError:
        text = f"{executor.where} did not answer the request to compact in time."
        raise turn.account.failed(Failure("upstream_timeout", text)) from None
    except Failure as failure:
        raise turn.account.failed(failure) from failure.__cause__
    except asyncio.CancelledError:
        turn.account.failed(Failure("client_gone", "The client closed the connection."))
        raise


def _state(data: bytes, where: str) -> Json:
    try:
        answer = orjson.loads(data)
    except orjson.JSONDecodeError:
        answer = None
    output = answer.get("output") if isinstance(answer, dict) else None
    if not isinstance(output, list) or not all(isinstance(item, dict) for item in output):
        raise Failure("upstream_invalid_response", f"{where} answered the request to compact with something else.")
    check(output)
    return dict(answer)
